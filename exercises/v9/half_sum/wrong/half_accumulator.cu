// Wrong: the sum is kept in FP16; adding ones, it sticks at 2048.

#include <cuda_fp16.h>

extern "C" __global__ void half_sum(const __half* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x * blockDim.x + threadIdx.x;  // 64-bit: row * cols cannot wrap

    if (row < rows) {  // the last block may have more threads than rows are left
        const __half* x_row = x + row * cols;
        float row_sum = 0.0f;
        __half total = __float2half(0.0f);
        const __half2* x_pairs = reinterpret_cast<const __half2*>(x_row);
        for (int pair = 0; pair < cols / 2; ++pair) {
            total = __hadd(total, __low2half(x_pairs[pair]));
            total = __hadd(total, __high2half(x_pairs[pair]));
        }
        row_sum = __half2float(total);
        y[row] = row_sum;
    }
}
