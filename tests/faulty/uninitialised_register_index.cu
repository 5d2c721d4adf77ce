// Lanes without an index of their own hand theirs to a neighbour, who uses it.
// expect: uninitialised, line 12
// launch: grid 1, block 32
// args: x float[64] normal; at int[32] arange; y float[32] zero; n int 20
// gpu: silent, initcheck knows memory and no registers

extern "C" __global__ void kernel(const float* x, const int* at, float* y, int n) {
    const int i = threadIdx.x;
    int index;
    if (i < n) index = at[i];
    index = __shfl_xor_sync(0xffffffff, index, 16);
    y[i] = x[index];
}
