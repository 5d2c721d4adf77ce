// V1: one block a row, tree reductions in shared memory.
//
// Parallel: over rows, one block a row, and over columns, one thread every 256th column.
// Change:   from V0, 256 threads share a row: 256 times the threads to hide latency with, and the
//           lanes of a warp read neighbouring columns, 4 sectors a load instead of 32.
// Launch:   grid rows, block 256 (a power of two, at most 256: the tree halves it every round),
//           dynamic shared 0 bytes.
// Input:    float32, rows one after another, any alignment. A row with a NaN or a +inf, or of -inf
//           only, comes out NaN throughout (fmaxf drops a NaN, the sum brings it back).
// Traffic:  reads of x: 3, writes of y: 1.
// Stops at: 8 rounds with a barrier each in both reductions, and half the threads idle after the
//           first; at 4096 columns a thread has only 16 elements to set against that.

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

extern "C" __global__ void softmax_v1(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[256];  // one float a thread, used by max and then by sum
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    // Pass 1: the maximum. A thread without a column contributes -inf.
    float local_max = neg_inf();
    for (int col = tid; col < cols; col += blockDim.x) local_max = fmaxf(local_max, x_row[col]);
    const float row_max = block_max(local_max, scratch);
    __syncthreads();  // separates block_max's last read of scratch from block_sum's first write

    // Pass 2: the sum of the exponentials. A thread without a column contributes 0.
    float local_sum = 0.0f;
    for (int col = tid; col < cols; col += blockDim.x) local_sum += expf(x_row[col] - row_max);
    const float row_sum = block_sum(local_sum, scratch);

    // Pass 3: normalise. Each exponential is computed again: there is nowhere to keep it.
    for (int col = tid; col < cols; col += blockDim.x) {
        y_row[col] = expf(x_row[col] - row_max) / row_sum;
    }
}
