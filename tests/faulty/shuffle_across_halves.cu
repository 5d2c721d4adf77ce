// The mask is that of a half warp, the partner is in the other half.
// expect: shuffle from an inactive lane, line 9
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int lane = threadIdx.x;
    const unsigned half = lane < 16 ? 0x0000ffff : 0xffff0000;
    y[lane] = __shfl_xor_sync(half, x[lane], 16);
}
