// A barrier first, then one thread's fence covers what the whole block wrote.
// expect: clean
// launch: grid 5, block 64
// args: x float[320] normal; parts float[320] zero; count unsigned[1] zero; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* parts, unsigned* count, float* y) {
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    parts[i] = 2.0f * x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last) {
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) total += parts[b * blockDim.x + threadIdx.x];
        y[threadIdx.x] = total;
    }
}
