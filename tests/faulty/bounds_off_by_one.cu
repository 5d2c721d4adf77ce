// The last thread reads its right neighbour, which does not exist.
// expect: out of bounds, line 9
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero; n int 128

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i + 1] - x[i];
    }
}
