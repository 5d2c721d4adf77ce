// Each block publishes its part with a fence, the last one to count adds them up.
// expect: clean
// launch: grid 8, block 32
// args: x float[256] normal; parts float[8] zero; count unsigned[1] zero; y float[1] zero

extern "C" __global__ void kernel(const float* x, float* parts, unsigned* count, float* y) {
    __shared__ bool last;
    float sum = x[blockIdx.x * 32 + threadIdx.x];
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        float total = threadIdx.x < gridDim.x ? parts[threadIdx.x] : 0.0f;
        for (int k = 16; k > 0; k /= 2) total += __shfl_down_sync(0xffffffff, total, k);
        if (threadIdx.x == 0) {
            y[0] = total;
            *count = 0;
        }
    }
}
