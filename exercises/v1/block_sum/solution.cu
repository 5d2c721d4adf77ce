// The sum of each row: one block a row, a tree in shared memory.
// Launch: grid rows, block 256 (a power of two, at most 256). y has one element a row.

// The sum of value over the block, returned to every thread. scratch: blockDim.x floats.
__device__ float block_sum(float value, float* scratch) {
    const int tid = threadIdx.x;
    scratch[tid] = value;
    // YOUR CODE: about 5 lines.
    __syncthreads();  // separates the write of scratch[tid] from a neighbour's read of it below
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) scratch[tid] += scratch[tid + stride];
        __syncthreads();  // separates this round's writes from the next round's reads
    }
    return scratch[0];
}

extern "C" __global__ void block_sum_kernel(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[256];  // one float a thread
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;

    // A thread without a column contributes 0, the neutral element of the sum.
    float local_sum = 0.0f;
    for (int col = tid; col < cols; col += blockDim.x) local_sum += x_row[col];
    const float row_sum = block_sum(local_sum, scratch);

    // The last thread writes: it must have the sum as well.
    if (tid == blockDim.x - 1) y[row] = row_sum;
}
