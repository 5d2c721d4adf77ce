// Threads behind the end have returned, and the reduction reads from them.
// expect: shuffle from an inactive lane, line 11
// launch: grid 1, block 64
// args: x float[40] normal; y float[2] zero; n int 40

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int tid = threadIdx.x;
    if (tid >= n) return;
    float sum = x[tid];
    for (int k = 16; k > 0; k /= 2) {
        sum += __shfl_down_sync(0xffffffff, sum, k);
    }
    if (tid % 32 == 0) y[tid / 32] = sum;
}
