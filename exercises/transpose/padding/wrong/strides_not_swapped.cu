// Wrong: a row of y has rows elements, not cols.

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    const int tiles = (cols + 31) / 32;  // in a row of tiles
    const size_t first_row = blockIdx.x / tiles * 32;  // of the tile; 64-bit, as products may wrap
    const size_t first_col = blockIdx.x % tiles * 32;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    __shared__ float tile[32][33];
    for (int i = warp; i < 32; i += 8) {
        const size_t row = first_row + i, col = first_col + lane;
        if (row < rows && col < cols) tile[i][lane] = x[row * cols + col];
    }
    __syncthreads();  // separates the writes of the tile from other warps' reads
    for (int i = warp; i < 32; i += 8) {
        const size_t row = first_row + lane, col = first_col + i;
        if (row < rows && col < cols) y[col * cols + row] = tile[lane][i];
    }
}
