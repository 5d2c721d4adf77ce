// Warp 0 prepares, everybody meets, warp 1 uses it.
// expect: clean
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[32];
    const int tid = threadIdx.x;
    if (tid < 32) {
        slots[tid] = x[tid] * 2.0f;
        __syncwarp();
        slots[tid] += slots[tid] * 0.5f;
    }
    __syncthreads();
    y[tid] = tid < 32 ? x[tid] : slots[63 - tid];
}
