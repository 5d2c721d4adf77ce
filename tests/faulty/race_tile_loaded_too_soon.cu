// The second barrier of a tiled product is missing: the next tile lands while others still
// multiply.
// expect: race between warps, lines 13 14
// launch: grid 1x1, block 16x16
// args: a float[16,64] normal; b float[64,16] normal; c float[16,16] zero; k int 64

extern "C" __global__ void kernel(const float* a, const float* b, float* c, int k) {
    __shared__ float left[16][16];
    __shared__ float right[16][16];
    const int col = threadIdx.x, row = threadIdx.y;
    float sum = 0.0f;
    for (int tile = 0; tile < k; tile += 16) {
        left[row][col] = a[row * k + tile + col];
        right[row][col] = b[(tile + row) * 16 + col];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[row][i] * right[i][col];
    }
    c[row * 16 + col] = sum;
}
