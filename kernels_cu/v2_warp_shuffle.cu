// V2: one block a row, two-level reductions with warp shuffles.
//
// Parallel: over rows, one block a row, and over columns, one thread every 256th column.
// Change:   from V1, a warp reduces in registers, lane to lane, with no barrier and no shared
//           memory; each leaves one partial, and warp 0 reduces those: 2 barriers instead of 9.
// Launch:   grid rows, block 256 (any multiple of 32, at most 1024), dynamic shared 0 bytes.
// Input:    float32, rows one after another, any alignment. A row with a NaN or a +inf, or of -inf
//           only, comes out NaN throughout (fmaxf drops a NaN, the sum brings it back).
// Traffic:  reads of x: 3, writes of y: 1.
// Stops at: a load instruction for every 4 bytes a thread wants; the reductions are no longer what
//           takes the time.

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

// The maximum of value over the warp; only lane 0's result is complete. All 32 lanes must call it.
__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    return value;
}

// The sum of value over the warp; only lane 0's result is complete. All 32 lanes must call it.
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    return value;
}

// The maximum of value over the block, returned to every thread. scratch: one float a warp.
__device__ float block_max(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    value = warp_max(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();  // separates every warp's write of its partial from warp 0's reads
    if (warp == 0) {
        value = warp_max(lane < warps ? scratch[lane] : neg_inf());
        if (lane == 0) scratch[0] = value;
    }
    __syncthreads();  // separates lane 0's write of the result from everybody's read of it
    return scratch[0];
}

// The sum of value over the block, returned to every thread. scratch: one float a warp.
__device__ float block_sum(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    value = warp_sum(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();  // separates every warp's write of its partial from warp 0's reads
    if (warp == 0) {
        value = warp_sum(lane < warps ? scratch[lane] : 0.0f);
        if (lane == 0) scratch[0] = value;
    }
    __syncthreads();  // separates lane 0's write of the result from everybody's read of it
    return scratch[0];
}

extern "C" __global__ void softmax_v2(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[32];  // one float a warp, used by max and then by sum
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
