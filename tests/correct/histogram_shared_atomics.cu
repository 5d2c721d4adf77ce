// Atomics on shared bins, then atomics on global ones.
// expect: clean
// launch: grid 3, block 64
// args: x int[192] below 8; bins int[8] zero

extern "C" __global__ void kernel(const int* x, int* bins) {
    __shared__ int local[8];
    const int tid = threadIdx.x;
    if (tid < 8) local[tid] = 0;
    __syncthreads();
    atomicAdd(&local[x[blockIdx.x * blockDim.x + tid]], 1);
    __syncthreads();
    if (tid < 8) atomicAdd(&bins[tid], local[tid]);
}
