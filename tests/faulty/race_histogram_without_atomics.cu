// Threads add one to the same bin, and some of the additions are lost.
// expect: race between warps, line 11
// launch: grid 1, block 128
// args: x int[128] below 8; bins int[8] zero

extern "C" __global__ void kernel(const int* x, int* bins) {
    __shared__ int local[8];
    const int tid = threadIdx.x;
    if (tid < 8) local[tid] = 0;
    __syncthreads();
    local[x[tid]] += 1;
    __syncthreads();
    if (tid < 8) bins[tid] = local[tid];
}
