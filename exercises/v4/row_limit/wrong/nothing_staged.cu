// Right numbers, too slow: every exponential is computed again.

// Bytes of shared memory that a block may have here, static and dynamic; a real card has 48 KB.
constexpr int LIMIT = 1152;

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

// The maximum of value over the warp, in every lane. All 32 lanes must call it.
__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}

// The sum of value over the warp, in every lane. All 32 lanes must call it.
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

// The maximum of value over the block, in every thread. scratch: 32 floats, one a warp in use.
__device__ float block_max(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    value = warp_max(value);
    if (lane == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();  // separates every warp's write of its partial from the reads below
    value = warp_max(lane < blockDim.x / 32 ? scratch[lane] : neg_inf());
    __syncthreads();  // separates these reads from what scratch is used for next
    return value;
}

// The sum of value over the block, in every thread. scratch: 32 floats, one a warp in use.
__device__ float block_sum(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    value = warp_sum(value);
    if (lane == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();  // separates every warp's write of its partial from the reads below
    return warp_sum(lane < blockDim.x / 32 ? scratch[lane] : 0.0f);
}

extern "C" __global__ void softmax_limit(const float* x, float* y, int rows, int cols) {
    extern __shared__ float staged[];  // what is left of LIMIT, or cols floats if that is less
    __shared__ float scratch[32];
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    float local_max = neg_inf();
    for (int col = tid; col < cols; col += blockDim.x) local_max = fmaxf(local_max, x_row[col]);
    const float row_max = block_max(local_max, scratch);

    float local_sum = 0.0f;
    const int kept = 0;
    for (int col = tid; col < cols; col += blockDim.x) {
        const float e = expf(x_row[col] - row_max);
        if (col < kept) staged[col] = e;
        local_sum += e;
    }
    const float row_sum = block_sum(local_sum, scratch);
    for (int col = tid; col < cols; col += blockDim.x) {
        y_row[col] = (col < kept ? staged[col] : expf(x_row[col] - row_max)) / row_sum;
    }
}
