// __syncthreads() stops one block; the others have not written their part of y.
// expect: race between blocks, line 10
// launch: grid 4, block 32
// args: x float[128] normal; y float[128] zero; z float[128] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(const float* x, float* y, float* z) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = gridDim.x * blockDim.x;
    y[i] = 2.0f * x[i];
    __syncthreads();
    z[i] = y[n - 1 - i];
}
