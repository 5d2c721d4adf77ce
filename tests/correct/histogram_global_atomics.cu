// Blocks meet in atomics only.
// expect: clean
// launch: grid 4, block 64
// args: x int[256] below 8; bins int[8] zero

extern "C" __global__ void kernel(const int* x, int* bins) {
    atomicAdd(&bins[x[blockIdx.x * blockDim.x + threadIdx.x]], 1);
}
