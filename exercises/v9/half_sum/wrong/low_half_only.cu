// Wrong: every pair is loaded, but only its first number is added.

#include <cuda_fp16.h>

extern "C" __global__ void half_sum(const __half* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x * blockDim.x + threadIdx.x;  // 64-bit: row * cols cannot wrap

    if (row < rows) {  // the last block may have more threads than rows are left
        const __half* x_row = x + row * cols;
        float row_sum = 0.0f;
        const __half2* x_pairs = reinterpret_cast<const __half2*>(x_row);
        for (int pair = 0; pair < cols / 2; ++pair) {
            row_sum += __low2float(x_pairs[pair]);
        }
        y[row] = row_sum;
    }
}
