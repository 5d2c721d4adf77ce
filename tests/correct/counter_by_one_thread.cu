// Set by one thread, counted by all, read by all: a barrier between each.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y int[128] zero

extern "C" __global__ void kernel(const float* x, int* y) {
    __shared__ int counter;
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (threadIdx.x == 0) counter = 0;
    __syncthreads();
    if (x[i] > 0.0f) atomicAdd(&counter, 1);
    __syncthreads();
    y[i] = counter;
}
