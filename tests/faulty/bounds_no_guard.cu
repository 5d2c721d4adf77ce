// The last block is not full, and nobody asks whether i < n.
// expect: out of bounds, line 8
// launch: grid 2, block 64
// args: x float[100] normal; y float[100] zero; n int 100

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = 2.0f * x[i];
}
