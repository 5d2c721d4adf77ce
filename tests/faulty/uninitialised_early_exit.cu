// Threads from 40 on return before they have written the slots that thread 39 and others read.
// expect: uninitialised, line 12
// launch: grid 1, block 64
// args: x float[40] normal; y float[64] zero; n int 40

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    if (tid >= n) return;
    slots[tid] = x[tid];
    __syncthreads();
    y[tid] = slots[(tid + 8) % 64];
}
