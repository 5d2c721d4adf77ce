// __threadfence_block() orders memory for the own block only.
// expect: race between blocks, line 10
// launch: grid 8, block 32
// args: x float[256] normal; parts float[8] zero; count unsigned[1] zero; y float[1] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(const float* x, float* parts, unsigned* count, float* y) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = x[blockIdx.x * 32];
        __threadfence_block();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float total = 0.0f;
        for (int b = 0; b < gridDim.x; ++b) total += parts[b];
        y[0] = total;
    }
}
