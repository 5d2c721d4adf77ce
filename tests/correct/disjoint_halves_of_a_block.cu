// Two warps at work in two parts of one array, with no barrier needed.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x, i = blockIdx.x * 64 + tid;
    slots[tid] = x[i];
    __syncwarp();
    y[i] = slots[tid ^ 31];
}
