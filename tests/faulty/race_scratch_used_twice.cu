// The second use of scratch overwrites the first result while some threads have yet to read it.
// expect: race between warps, line 12
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float scratch[2];
    const int tid = threadIdx.x;
    if (tid % 32 == 0) scratch[tid / 32] = x[tid];
    __syncthreads();
    const float first = scratch[0] + scratch[1];
    if (tid % 32 == 0) scratch[tid / 32] = 2.0f * x[tid];
    __syncthreads();
    y[tid] = first + scratch[0] + scratch[1];
}
