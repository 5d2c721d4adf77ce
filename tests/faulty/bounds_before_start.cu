// Thread 0 reads the element before the first.
// expect: out of bounds, line 8
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int i = threadIdx.x;
    const float left = x[i - 1];
    y[i] = left;
}
