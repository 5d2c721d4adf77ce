// Some lanes have no value, and no lane that has one reads from them.
// expect: clean
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero; n int 20

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    float value;
    if (i < n) value = x[i];
    const float left = __shfl_up_sync(0xffffffff, value, 1);
    if (i < n) y[i] = i > 0 ? value - left : value;
}
