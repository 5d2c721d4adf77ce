// A helper function returns early for some threads, and waits for all of them.
// expect: divergent barrier, line 10
// launch: grid 1, block 64
// args: x float[40] normal; y float[64] zero; n int 40

__device__ float mirrored(const float* x, int n, float* slots) {
    const int tid = threadIdx.x;
    if (tid >= n) return 0.0f;
    slots[tid] = x[tid];
    __syncthreads();
    return slots[n - 1 - tid];
}

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float slots[64];
    const float value = mirrored(x, n, slots);
    y[threadIdx.x] = value + 1.0f;
    y[threadIdx.x] *= 2.0f;
}
