// Values run from 0 to 16, and there are 16 bins.
// expect: out of bounds, line 8
// launch: grid 2, block 64
// args: x int[128] below 17; bins int[16] zero

extern "C" __global__ void kernel(const int* x, int* bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&bins[x[i]], 1);
}
