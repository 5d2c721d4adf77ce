// The barrier stands before the write instead of after it.
// expect: race between warps, line 11
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[64];
    const int tid = threadIdx.x;
    const float value = x[tid];
    __syncthreads();
    tile[tid] = value;
    y[tid] = tile[(tid + 32) % 64];
}
