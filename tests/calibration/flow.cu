// A branch that `lanes` of the warp's 32 take: two loops, too long to become predicated code.

extern "C" __global__ void two_way(const float* x, float* y, int lanes, int rounds) {
    const int lane = threadIdx.x;
    float value = x[lane];
    if (lane < lanes) {
#pragma unroll 1
        for (int k = 0; k < rounds; k++) value = value * 0.5f + x[32 * k + lane];
        y[lane] = value;
    } else {
#pragma unroll 1
        for (int k = 0; k < rounds; k++) value = value * 0.25f - x[32 * k + 31 - lane];
        y[lane] = -value;
    }
}

// The same with sides so short that the assembler predicates them.
extern "C" __global__ void predicated(const float* x, float* y, int lanes) {
    const int lane = threadIdx.x;
    __shared__ float s[32];
    s[lane] = x[lane];
    __syncthreads();  // separates the write of s[lane] from the read of its mirror image
    float value = 1.0f;
    if (lane < lanes) value = s[31 - lane];
    y[lane] = value;
}

// Shuffles, votes and barriers of two warps.
extern "C" __global__ void meetings(const float* x, float* y) {
    __shared__ float s[2];
    float value = x[threadIdx.x];
    for (int step = 16; step; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = value;
    __syncthreads();  // separates each warp's write of its sum from the other's read
    const int positive = __popc(__ballot_sync(0xffffffffu, x[threadIdx.x] > 0.0f));
    y[threadIdx.x] = s[0] + s[1] + positive;
}
