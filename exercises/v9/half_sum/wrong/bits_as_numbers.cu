// Wrong: the bits of a __half are taken for an integer.

#include <cuda_fp16.h>

extern "C" __global__ void half_sum(const __half* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x * blockDim.x + threadIdx.x;  // 64-bit: row * cols cannot wrap

    if (row < rows) {  // the last block may have more threads than rows are left
        const __half* x_row = x + row * cols;
        float row_sum = 0.0f;
        const unsigned short* bits = reinterpret_cast<const unsigned short*>(x_row);
        for (int col = 0; col < cols; ++col) row_sum += bits[col];
        y[row] = row_sum;
    }
}
