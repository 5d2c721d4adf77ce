// Lanes of one warp wait at two different barriers.
// expect: divergent barrier, lines 11 15
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    if (x[tid] > 0.0f) {
        slots[tid] = x[tid];
        __syncthreads();
        y[tid] = slots[tid] + 1.0f;
    } else {
        slots[tid] = -x[tid];
        __syncthreads();
        y[tid] = slots[tid] * 2.0f;
    }
}
