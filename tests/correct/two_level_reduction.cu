// Shuffles within warps, one slot a warp, scratch used twice with a barrier between.
// expect: clean
// launch: grid 3, block 96
// args: x float[288] normal; y float[288] zero

__device__ float warp_sum(float v) {
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(0xffffffff, v, k);
    return v;
}

__device__ float block_sum(float v, float* scratch) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    v = warp_sum(v);
    if (lane == 0) scratch[warp] = v;
    __syncthreads();
    if (warp == 0) {
        v = warp_sum(lane < blockDim.x / 32 ? scratch[lane] : 0.0f);
        if (lane == 0) scratch[0] = v;
    }
    __syncthreads();
    return scratch[0];
}

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float scratch[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float sum = block_sum(x[i], scratch);
    __syncthreads();
    const float squares = block_sum(x[i] * x[i], scratch);
    y[i] = x[i] * sum / squares;
}
