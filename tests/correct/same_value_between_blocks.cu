// The same across blocks, in global memory.
// expect: clean
// launch: grid 4, block 32
// args: x float[128] normal; y int[1] zero
// note: same-value race

extern "C" __global__ void kernel(const float* x, int* y) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 0.0f) y[0] = 1;
}
