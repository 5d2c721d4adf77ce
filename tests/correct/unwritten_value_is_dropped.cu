// Loaded for every thread, used only where it was written.
// expect: clean
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero; n int 40

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    if (tid < n) slots[tid] = x[tid];
    __syncthreads();
    volatile float* all = slots;
    const float other = all[tid ^ 1];
    y[tid] = (tid ^ 1) < n ? other : 0.0f;
}
