// Written at even places, read at all.
// expect: uninitialised, line 11
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    slots[2 * tid] = x[tid];
    __syncthreads();
    y[tid] = slots[tid];
}
