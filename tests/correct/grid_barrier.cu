// A barrier of the whole grid by hand, as a cooperative launch has it.
// expect: clean
// launch: grid 4, block 32
// args: x float[128] normal; y float[128] zero; z float[128] zero; arrived unsigned[1] zero

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
        __threadfence();
    }
    __syncthreads();
    z[i] = y[n - 1 - i];
}
