// Every thread overwrites a place that its neighbour still reads.
// expect: race between warps, line 12
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[64];
    const int tid = threadIdx.x;
    tile[tid] = x[tid];
    __syncthreads();
    const float left = tid > 0 ? tile[tid - 1] : 0.0f;
    tile[tid] = 0.5f * (left + x[tid]);
    __syncthreads();
    y[tid] = tile[tid];
}
