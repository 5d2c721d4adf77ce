// Slots from n on are never written; whoever would read them takes a zero instead.
// expect: clean
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero; n int 40

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    if (tid < n) slots[tid] = x[tid];
    __syncthreads();
    const int other = (tid + 20) % 64;
    y[tid] = other < n ? slots[other] : 0.0f;
}
