// Thread 0 fences before the other threads of its block have written: a barrier is missing.
// expect: race between blocks, line 10
// launch: grid 4, block 64
// args: x float[256] normal; parts float[256] zero; count unsigned[1] zero; y float[1] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(const float* x, float* parts, unsigned* count, float* y) {
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    parts[i] = 2.0f * x[i];
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.0f;
        for (int k = 0; k < 256; ++k) total += parts[k];
        y[0] = total;
    }
}
