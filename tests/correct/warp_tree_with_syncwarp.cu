// Warp-synchronous code as it should be: read, wait, write, wait.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[4] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float scratch[64];
    const int tid = threadIdx.x, lane = tid % 32;
    float value = x[blockIdx.x * 64 + tid];
    scratch[tid] = value;
    __syncwarp();
    for (int stride = 16; stride > 0; stride /= 2) {
        if (lane < stride) value += scratch[tid + stride];
        __syncwarp();
        if (lane < stride) scratch[tid] = value;
        __syncwarp();
    }
    if (lane == 0) y[blockIdx.x * 2 + tid / 32] = value;
}
