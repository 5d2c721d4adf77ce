// Lanes 16 to 31 execute a shuffle whose mask leaves them out.
// expect: outside the member mask, line 8
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int lane = threadIdx.x;
    y[lane] = __shfl_xor_sync(0x0000ffff, x[lane], 1);
}
