// Lanes of a warp no longer run in step: each round needs a __syncwarp().
// expect: race inside a warp, line 12
// launch: grid 2, block 32
// args: x float[64] normal; y float[2] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float scratch[32];
    const int lane = threadIdx.x;
    scratch[lane] = x[blockIdx.x * 32 + lane];
    __syncwarp();
    for (int stride = 16; stride > 0; stride /= 2) {
        if (lane < stride) scratch[lane] += scratch[lane + stride];
    }
    if (lane == 0) y[blockIdx.x] = scratch[0];
}
