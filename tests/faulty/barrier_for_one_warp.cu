// Warp 0 waits at a barrier that warp 1 does not come to; it meets it at its own next one.
// expect: divergent barrier, line 11
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    slots[tid] = x[tid];
    if (tid < 32) {
        __syncthreads();
        slots[tid] += slots[tid + 32];
    }
    __syncthreads();
    y[tid] = slots[tid % 32];
}
