// Shuffles of width 8, 16 and 32 stay inside their segment.
// expect: clean
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int tid = threadIdx.x;
    float v = x[tid];
    v += __shfl_down_sync(0xffffffff, v, 4, 8);
    v += __shfl_up_sync(0xffffffff, v, 3, 16);
    v += __shfl_sync(0xffffffff, v, 5, 16);
    v += __shfl_xor_sync(0xffffffff, v, 16);
    y[tid] = v;
}
