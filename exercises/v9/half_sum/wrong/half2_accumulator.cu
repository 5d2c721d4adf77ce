// Wrong: two sums in FP16 instead of one; each sticks at 2048.

#include <cuda_fp16.h>

extern "C" __global__ void half_sum(const __half* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x * blockDim.x + threadIdx.x;  // 64-bit: row * cols cannot wrap

    if (row < rows) {  // the last block may have more threads than rows are left
        const __half* x_row = x + row * cols;
        float row_sum = 0.0f;
        const __half2* x_pairs = reinterpret_cast<const __half2*>(x_row);
        __half2 totals = __float2half2_rn(0.0f);
        for (int pair = 0; pair < cols / 2; ++pair) {
            totals = __hadd2(totals, x_pairs[pair]);
        }
        row_sum = __low2float(totals) + __high2float(totals);
        y[row] = row_sum;
    }
}
