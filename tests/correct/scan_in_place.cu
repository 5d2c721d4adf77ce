// One buffer and two barriers a round: all read, then all write.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float sums[64];
    const int tid = threadIdx.x;
    sums[tid] = x[blockIdx.x * 64 + tid];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        const float left = tid >= step ? sums[tid - step] : 0.0f;
        __syncthreads();
        sums[tid] += left;
        __syncthreads();
    }
    y[blockIdx.x * 64 + tid] = sums[tid];
}
