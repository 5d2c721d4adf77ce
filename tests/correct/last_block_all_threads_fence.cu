// Every thread fences its own write before the barrier; thread 0 counts for all.
// expect: clean
// launch: grid 5, block 64
// args: x float[320] normal; parts float[320] zero; count unsigned[1] zero; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* parts, unsigned* count, float* y) {
    __shared__ bool last;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    parts[i] = 2.0f * x[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(count, 1u) == gridDim.x - 1;
    __syncthreads();
    if (last) {
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) total += parts[b * blockDim.x + threadIdx.x];
        y[threadIdx.x] = total;
    }
}
