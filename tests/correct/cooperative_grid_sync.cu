// grid.sync() of cooperative groups.
// expect: clean
// launch: grid 4, block 32, cooperative
// args: x float[128] normal; y float[128] zero; z float[128] zero

#include <cooperative_groups.h>

extern "C" __global__ void kernel(const float* x, float* y, float* z) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = gridDim.x * blockDim.x;
    y[i] = 2.0f * x[i];
    cooperative_groups::this_grid().sync();
    z[i] = y[n - 1 - i];
}
