// The tile has a place for each thread and none for the last one's right neighbour.
// expect: out of bounds, line 11
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[64];
    const int tid = threadIdx.x;
    tile[tid] = x[tid];
    __syncthreads();
    y[tid] = tile[tid] + tile[tid + 1];
}
