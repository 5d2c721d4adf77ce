// A double behind an odd number of floats in shared memory.
// expect: misaligned, line 9
// launch: grid 1, block 32
// args: y double[32] zero

extern "C" __global__ void kernel(double* y) {
    __shared__ __align__(16) float pool[72];
    double* wide = reinterpret_cast<double*>(pool + 3);
    wide[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = wide[threadIdx.x ^ 1];
}
