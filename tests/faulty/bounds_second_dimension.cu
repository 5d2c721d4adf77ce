// The guard checks the column and forgets the row.
// expect: out of bounds, line 10
// launch: grid 2x2, block 16x16
// args: x float[20,32] normal; y float[20,32] zero; rows int 20; cols int 32

extern "C" __global__ void kernel(const float* x, float* y, int rows, int cols) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col < cols) {
        y[row * cols + col] = x[row * cols + col];
    }
}
