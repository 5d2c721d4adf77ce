// Nobody sets the counter to zero before the block counts with it.
// expect: uninitialised, line 9
// launch: grid 2, block 64
// args: x float[128] normal; y int[2] zero

extern "C" __global__ void kernel(const float* x, int* y) {
    __shared__ int counter;
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 0.0f) {
        atomicAdd(&counter, 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = counter;
}
