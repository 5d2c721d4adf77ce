// A shared bool, written by one thread, with a barrier on either side.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ bool positive;
    const int i = blockIdx.x * 64 + threadIdx.x;
    for (int k = 0; k < 3; ++k) {
        if (threadIdx.x == k) positive = x[i] > 0.0f;
        __syncthreads();
        y[i] += positive ? x[i] : -x[i];
        __syncthreads();
    }
}
