// All who find something write the same 1; a milder thing than a race.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y int[2] zero
// note: same-value race

extern "C" __global__ void kernel(const float* x, int* y) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (x[blockIdx.x * blockDim.x + threadIdx.x] > 1.0f) found = 1;
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = found;
}
