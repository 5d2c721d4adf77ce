// Wrong: each pair is added in FP16 before it is converted.

#include <cuda_fp16.h>

extern "C" __global__ void half_sum(const __half* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x * blockDim.x + threadIdx.x;  // 64-bit: row * cols cannot wrap

    if (row < rows) {  // the last block may have more threads than rows are left
        const __half* x_row = x + row * cols;
        float row_sum = 0.0f;
        const __half2* x_pairs = reinterpret_cast<const __half2*>(x_row);
        for (int pair = 0; pair < cols / 2; ++pair) {
            const __half2 v = x_pairs[pair];
            row_sum += __half2float(__hadd(__low2half(v), __high2half(v)));
        }
        y[row] = row_sum;
    }
}
