// A branch on a value that came out of a lane which never had one.
// expect: uninitialised, line 12
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero; n int 20
// gpu: silent, initcheck knows memory and no registers

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    float value;
    if (i < n) value = x[i];
    value = __shfl_down_sync(0xffffffff, value, 4);
    if (value > 0.0f) {
        y[i] = 1.0f;
        __syncwarp(__activemask());
        y[i] += 1.0f;
    }
}
