// V4: two passes over x, the exponentials staged in dynamic shared memory.
//
// Parallel: over rows, one block a row, and over columns, one thread every 256th (group of four).
// Change:   from V3, each exponential is kept in shared memory: x is read twice instead of three
//           times and no e^x is computed twice. Only the pass for the maximum still uses float4.
// Launch:   grid rows, block 256 (any multiple of 32, at most 1024), dynamic shared 4 * cols bytes.
// Input:    float32, rows one after another, any alignment; 4 * cols bytes and the static scratch
//           must fit the shared memory of a block (48 KB, more after the opt-in). A row with a NaN
//           or a +inf, or of -inf only, comes out NaN throughout (fmaxf drops a NaN, the sum brings
//           it back).
// Traffic:  reads of x: 2, writes of y: 1.
// Stops at: long rows: the more shared memory a block takes, the fewer blocks an SM holds, and past
//           the limit none.

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

// The largest of four.
__device__ float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }

extern "C" __global__ void softmax_v4(const float* x, float* y, int rows, int cols) {
    extern __shared__ float staged[];  // cols floats: the row's exponentials
    __shared__ float scratch[32];  // one float a warp, used by max and then by sum
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    // The row is head scalars up to a 16-byte boundary of x, quads float4s, and a tail of 0..3.
    const int head = min(cols, (int)((16 - (size_t)x_row % 16) % 16 / 4));
    const int quads = (cols - head) / 4;
    const float4* x_quads = reinterpret_cast<const float4*>(x_row + head);
    // Head and tail together are at most 6 columns, one a thread; edge < cols says who has one.
    const int edge = tid < head ? tid : tid + 4 * quads;

    // Pass 1: the maximum. A thread without a column contributes -inf.
    float local_max = edge < cols ? x_row[edge] : neg_inf();
    for (int quad = tid; quad < quads; quad += blockDim.x) {
        local_max = fmaxf(local_max, max4(x_quads[quad]));
    }
    const float row_max = block_max(local_max, scratch);
    __syncthreads();  // separates block_max's last read of scratch from block_sum's first write

    // Pass 2: the sum of the exponentials, staged. A thread without a column contributes 0.
    float local_sum = 0.0f;
    for (int col = tid; col < cols; col += blockDim.x) {
        const float e = expf(x_row[col] - row_max);
        staged[col] = e;
        local_sum += e;
    }
    const float row_sum = block_sum(local_sum, scratch);

    // Write: normalise. A thread reads back only what it staged itself, so no barrier is needed.
    for (int col = tid; col < cols; col += blockDim.x) y_row[col] = staged[col] / row_sum;
}
