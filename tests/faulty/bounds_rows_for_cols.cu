// The stride between rows is cols, not rows.
// expect: out of bounds, line 9
// launch: grid 40, block 32
// args: x float[40,24] normal; y float[40,24] zero; rows int 40; cols int 24

extern "C" __global__ void kernel(const float* x, float* y, int rows, int cols) {
    const int row = blockIdx.x;
    for (int col = threadIdx.x; col < cols; col += blockDim.x) {
        y[row * rows + col] = x[row * cols + col];
    }
}
