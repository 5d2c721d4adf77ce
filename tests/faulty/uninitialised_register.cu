// A variable that only some threads set, and all of them store.
// expect: uninitialised, line 11
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero; n int 20
// gpu: silent, initcheck knows memory and no registers

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    float value;
    if (i < n) value = x[i];
    y[i] = value;
}
