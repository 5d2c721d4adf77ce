// A padded tile; the edges leave slots unwritten that nobody reads.
// expect: clean
// launch: grid 2x2, block 32x8
// args: x float[50,40] normal; y float[40,50] zero; rows int 50; cols int 40

extern "C" __global__ void kernel(const float* x, float* y, int rows, int cols) {
    __shared__ float tile[32][33];
    const int left = blockIdx.x * 32, top = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8) {
        if (top + j < rows && left + threadIdx.x < cols) {
            tile[j][threadIdx.x] = x[(top + j) * cols + left + threadIdx.x];
        }
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) {
        if (left + j < cols && top + threadIdx.x < rows) {
            y[(left + j) * rows + top + threadIdx.x] = tile[threadIdx.x][j];
        }
    }
}
