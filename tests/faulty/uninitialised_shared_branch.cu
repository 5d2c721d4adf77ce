// A limit in shared memory decides a branch, and nobody sets it when nothing is found.
// expect: uninitialised, line 11
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ int limit;
    const int tid = threadIdx.x;
    if (x[tid] > 1000.0f) limit = tid;
    __syncthreads();
    for (int k = 0; k < limit; ++k) {
        y[tid] += x[k];
    }
}
