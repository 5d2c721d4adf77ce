// Softmax of short rows: one block a row, one thread a column.
// Launch: grid rows, block 256 (a power of two). Input: at most blockDim.x columns.

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

// The maximum of value over the block, returned to every thread. scratch: blockDim.x floats.
__device__ float block_max(float value, float* scratch) {
    const int tid = threadIdx.x;
    scratch[tid] = value;
    __syncthreads();  // separates the write of scratch[tid] from a neighbour's read of it below
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) scratch[tid] = fmaxf(scratch[tid], scratch[tid + stride]);
        __syncthreads();  // separates this round's writes from the next round's reads
    }
    return scratch[0];
}

// The sum of value over the block, returned to every thread. scratch: blockDim.x floats.
__device__ float block_sum(float value, float* scratch) {
    const int tid = threadIdx.x;
    scratch[tid] = value;
    __syncthreads();  // separates the write of scratch[tid] from a neighbour's read of it below
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) scratch[tid] += scratch[tid + stride];
        __syncthreads();  // separates this round's writes from the next round's reads
    }
    return scratch[0];
}

extern "C" __global__ void softmax_short(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[256];  // one float a thread, used by max and then by sum
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    // Thread tid has column tid; from cols on, threads have none, and still belong to the block.
    // YOUR CODE: about 6 lines.
}
