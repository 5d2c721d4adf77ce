// A merely low number in the place of -inf.
// Each row's maximum in every element of that row: one block a row, a two-level reduction.
// Launch: grid rows, block 512 (any multiple of 32, at most 1024).

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

// The maximum of value over the warp; only lane 0's result is complete. All 32 lanes must call it.
__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    return value;
}

// The maximum of value over the block, returned to every thread. scratch: one float a warp.
__device__ float block_max(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    // YOUR CODE: about 8 lines.
    value = warp_max(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();  // separates every warp's write of its partial from warp 0's reads
    if (warp == 0) {
        value = warp_max(lane < warps ? scratch[lane] : -1e4f);
        if (lane == 0) scratch[0] = value;
    }
    __syncthreads();  // separates lane 0's write of the result from everybody's read of it
    return scratch[0];
}

extern "C" __global__ void two_level_kernel(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[32];   // one float a warp
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    float local_max = neg_inf();
    for (int col = tid; col < cols; col += blockDim.x) local_max = fmaxf(local_max, x_row[col]);
    const float row_max = block_max(local_max, scratch);

    for (int col = tid; col < cols; col += blockDim.x) y_row[col] = row_max;
}
