// Right, but the loads are a row of x apart: no tile, lanes along y.

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    const int tiles = (cols + 31) / 32;  // in a row of tiles
    const size_t first_row = blockIdx.x / tiles * 32;  // of the tile; 64-bit, as products may wrap
    const size_t first_col = blockIdx.x % tiles * 32;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    for (int i = warp; i < 32; i += 8) {
        const size_t row = first_row + lane, col = first_col + i;
        if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
    }
}
