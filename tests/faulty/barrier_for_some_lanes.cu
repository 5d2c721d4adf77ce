// The barrier stands inside a condition that splits a warp.
// expect: divergent barrier, line 11
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    slots[tid] = x[tid];
    if (tid < 20) {
        __syncthreads();
        y[tid] = slots[63 - tid];
    }
    y[tid] += 1.0f;
}
