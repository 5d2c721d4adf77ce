// Thread 0 waits for all blocks, and the others do not wait for thread 0.
// expect: race between blocks, line 10
// launch: grid 4, block 64
// args: x float[256] normal; y float[256] zero; z float[256] zero; arrived unsigned[1] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(const float* x, float* y, float* z, unsigned* arrived) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = gridDim.x * blockDim.x;
    y[i] = 2.0f * x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < gridDim.x) {
        }
    }
    z[i] = y[n - 1 - i];
}
