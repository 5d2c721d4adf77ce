// A grid-stride loop over any length.
// expect: clean
// launch: grid 3, block 32
// args: x float[500] normal; y float[500] zero; n int 500

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        y[i] = x[i] * x[i];
    }
}
