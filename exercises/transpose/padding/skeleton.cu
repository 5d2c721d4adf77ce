// y = x transposed, by tiles of 32 x 32 in shared memory.
//
// Parallel: over tiles, one block a tile, and over its rows, 8 warps, each every 8th.
// Launch:   grid ceil(rows / 32) * ceil(cols / 32), block 256, dynamic shared 0 bytes.
// Input:    float32, rows one after another; y has cols rows of rows columns.

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
    const int tiles = (cols + 31) / 32;  // in a row of tiles
    const size_t first_row = blockIdx.x / tiles * 32;  // of the tile; 64-bit, as products may wrap
    const size_t first_col = blockIdx.x % tiles * 32;
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;

    // YOUR CODE: about 10 lines.
    // First the tile from x, then the tile to y; neighbouring lanes have neighbouring addresses.
}
