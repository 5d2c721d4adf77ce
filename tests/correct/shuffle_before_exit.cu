// Threads behind the end contribute nothing, and leave only after the reduction.
// expect: clean
// launch: grid 1, block 64
// args: x float[64] normal; y float[40] zero; n int 40

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int tid = threadIdx.x;
    float sum = tid < n ? x[tid] : 0.0f;
    for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffff, sum, k);
    if (tid >= n) return;
    y[tid] = sum;
}
