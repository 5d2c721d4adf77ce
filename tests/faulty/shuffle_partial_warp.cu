// The second warp of a block of 48 has 16 lanes; the other 16 do not exist.
// expect: shuffle from an inactive lane, line 8
// launch: grid 1, block 48
// args: x float[48] normal; y float[48] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int tid = threadIdx.x;
    y[tid] = x[tid] + __shfl_down_sync(0xffffffff, x[tid], 16);
}
