// A warp of 16 lanes shuffles with the mask of those it has.
// expect: clean
// launch: grid 1, block 48
// args: x float[48] normal; y float[2] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int tid = threadIdx.x;
    const unsigned mask = __ballot_sync(0xffffffff, 1);
    const int half = __popc(mask) / 2;
    float v = x[tid];
    for (int k = half; k > 0; k /= 2) v += __shfl_xor_sync(mask, v, k);
    if (tid % 32 == 0) y[tid / 32] = v;
}
