// Threads go round the loop twice or once, and a barrier is inside.
// expect: divergent barrier, lines 12 14
// launch: grid 1, block 64
// args: x float[100] normal; y float[64] zero; n int 100

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    float sum = 0.0f;
    for (int i = tid; i < n; i += blockDim.x) {
        slots[tid] = x[i];
        __syncthreads();
        sum += slots[tid ^ 1];
        __syncthreads();
    }
    y[tid] = sum;
    y[tid] *= 2.0f;
}
