// Two barriers a tile.
// expect: clean
// launch: grid 2x2, block 16x16
// args: a float[32,48] normal; b float[48,32] normal; c float[32,32] zero; k int 48

extern "C" __global__ void kernel(const float* a, const float* b, float* c, int k) {
    __shared__ float left[16][16];
    __shared__ float right[16][17];
    const int col = threadIdx.x, row = threadIdx.y;
    const int x = blockIdx.x * 16 + col, y = blockIdx.y * 16 + row;
    const int width = gridDim.x * 16;
    float sum = 0.0f;
    for (int tile = 0; tile < k; tile += 16) {
        left[row][col] = a[y * k + tile + col];
        right[row][col] = b[(tile + row) * width + x];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[row][i] * right[i][col];
        __syncthreads();
    }
    c[y * width + x] = sum;
}
