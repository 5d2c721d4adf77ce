// The edge of a tile stays empty, and is written out with the rest.
// expect: uninitialised, line 14
// launch: grid 1, block 32x8
// args: x float[30,30] normal; y float[32,32] zero; n int 30

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float tile[32][33];
    const int col = threadIdx.x;
    for (int row = threadIdx.y; row < 32; row += 8) {
        if (row < n && col < n) tile[row][col] = x[row * n + col];
    }
    __syncthreads();
    for (int row = threadIdx.y; row < 32; row += 8) {
        y[row * 32 + col] = tile[col][row];
    }
}
