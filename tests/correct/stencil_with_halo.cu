// A tile with one neighbour on each side, loaded by the threads at its ends.
// expect: clean
// launch: grid 4, block 32
// args: x float[128] normal; y float[128] zero; n int 128

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float tile[34];
    const int tid = threadIdx.x, i = blockIdx.x * 32 + tid;
    tile[tid + 1] = x[i];
    if (tid == 0) tile[0] = i > 0 ? x[i - 1] : 0.0f;
    if (tid == 31) tile[33] = i + 1 < n ? x[i + 1] : 0.0f;
    __syncthreads();
    y[i] = tile[tid] + tile[tid + 1] + tile[tid + 2];
}
