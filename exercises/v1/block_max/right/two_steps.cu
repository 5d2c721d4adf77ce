// Thread t of the first 32 joins t, t + 32, …; thread 0 joins what these 32 leave.
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
    float value = neg_inf();
    for (int col = tid; col < cols; col += blockDim.x) value = fmaxf(value, x_row[col]);
    scratch[tid] = value;
    __syncthreads();  // separates every thread's write from the reads of the first 32
    if (tid < 32) {
        for (int other = tid + 32; other < blockDim.x; other += 32) {
            value = fmaxf(value, scratch[other]);
        }
        scratch[tid] = value;
    }
    __syncthreads();  // separates the writes of the first 32 from thread 0's reads
    if (tid == 0) {
        for (int other = 1; other < 32; ++other) value = fmaxf(value, scratch[other]);
        scratch[0] = value;
    }

    if (tid == 0) y[row] = scratch[0];
}
