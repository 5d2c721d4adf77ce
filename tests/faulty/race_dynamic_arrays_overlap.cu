// The second dynamic array begins one slot too early.
// expect: race between warps, lines 11 12
// launch: grid 1, block 64, shared 512
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    extern __shared__ float pool[];
    float* first = pool;
    float* second = pool + 63;
    const int tid = threadIdx.x;
    first[tid] = x[tid];
    second[tid] = 2.0f * x[tid];
    __syncthreads();
    y[tid] = first[tid] + second[tid];
}
