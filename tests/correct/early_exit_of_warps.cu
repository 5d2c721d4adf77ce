// Whole warps leave early.
// expect: clean
// launch: grid 1, block 128
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    if (tid >= 64) return;
    slots[tid] = x[tid];
    __syncthreads();
    y[tid] = slots[63 - tid];
}
