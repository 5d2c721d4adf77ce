// The author says so, and not even a note is left.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y int[2] zero

extern "C" __global__ void kernel(const float* x, int* y) {
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 0.0f) {
        y[blockIdx.x] = 1;  // race: intended, every thread writes 1
    }
}
