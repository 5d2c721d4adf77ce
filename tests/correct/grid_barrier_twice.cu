// Two phases, each ended by a barrier of the grid, with the same array written in both.
// expect: clean
// launch: grid 4, block 32
// args: x float[128] normal; y float[128] zero; z float[128] zero; arrived unsigned[1] zero

__device__ void all_blocks(unsigned* arrived, unsigned wanted) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while (*(volatile unsigned*)arrived < wanted) {
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void kernel(const float* x, float* y, float* z, unsigned* arrived) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = gridDim.x * blockDim.x;
    y[i] = 2.0f * x[i];
    all_blocks(arrived, gridDim.x);
    const float mirrored = y[n - 1 - i];
    all_blocks(arrived, 2 * gridDim.x);
    y[i] = mirrored;
    all_blocks(arrived, 3 * gridDim.x);
    z[i] = y[(i + 32) % n];
}
