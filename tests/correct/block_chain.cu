// Each block waits for its predecessor's flag, adds, and raises its own: fence on both sides.
// expect: clean
// launch: grid 6, block 32
// args: x float[192] normal; parts float[6] zero; flags int[6] zero; y float[192] zero

extern "C" __global__ void kernel(const float* x, float* parts, int* flags, float* y) {
    __shared__ float before;
    const int i = blockIdx.x * 32 + threadIdx.x;
    float sum = x[i];
    for (int k = 1; k < 32; k *= 2) {
        const float left = __shfl_up_sync(0xffffffff, sum, k);
        if (threadIdx.x >= k) sum += left;
    }
    if (threadIdx.x == 31) {
        float carried = 0.0f;
        if (blockIdx.x > 0) {
            while (atomicAdd(&flags[blockIdx.x - 1], 0) == 0) {
            }
            __threadfence();
            carried = parts[blockIdx.x - 1];
        }
        parts[blockIdx.x] = carried + sum;
        __threadfence();
        atomicExch(&flags[blockIdx.x], 1);
        before = carried;
    }
    __syncthreads();
    y[i] = before + sum;
}
