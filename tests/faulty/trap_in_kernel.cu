// The kernel gives up on what it takes for bad input.
// expect: trap, line 7
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    if (x[threadIdx.x] < 0.0f) __trap();
    y[threadIdx.x] = sqrtf(x[threadIdx.x]);
}
