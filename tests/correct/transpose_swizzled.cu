// An XOR in place of the padding.
// expect: clean
// launch: grid 1x1, block 32x32
// args: x float[32,32] normal; y float[32,32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[32][32];
    const int col = threadIdx.x, row = threadIdx.y;
    tile[row][col ^ row] = x[row * 32 + col];
    __syncthreads();
    y[row * 32 + col] = tile[col][row ^ col];
}
