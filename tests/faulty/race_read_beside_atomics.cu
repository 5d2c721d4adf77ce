// The total is read while other warps still add to it.
// expect: race between warps, line 10
// launch: grid 1, block 64
// args: x int[64] below 2; y int[64] zero

extern "C" __global__ void kernel(const int* x, int* y) {
    __shared__ int counter;
    if (threadIdx.x == 0) counter = 0;
    __syncthreads();
    atomicAdd(&counter, x[threadIdx.x]);
    y[threadIdx.x] = counter;
}
