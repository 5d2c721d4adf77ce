// A plain store sets the counter to zero while other warps already count.
// expect: race between warps, line 8
// launch: grid 1, block 64
// args: x int[64] below 2; y int[1] zero

extern "C" __global__ void kernel(const int* x, int* y) {
    __shared__ int counter;
    if (threadIdx.x == 0) counter = 0;
    atomicAdd(&counter, x[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) y[0] = counter;
}
