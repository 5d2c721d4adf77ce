// Threads behind the end return before the barrier, and nobody reads their slots.
// expect: clean
// launch: grid 2, block 64
// args: x float[80] normal; y float[80] zero; n int 80

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + tid;
    if (i >= n) return;
    slots[tid] = x[i];
    __syncthreads();
    y[i] = slots[tid ^ 1];
}
