// Wrong: m starts at the smallest positive float, which is above every negative row.

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

extern "C" __global__ void online(const float* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x * blockDim.x + threadIdx.x;  // 64-bit: row * cols cannot wrap

    if (row < rows) {  // the last block may have more threads than rows are left
        const float* x_row = x + row * cols;
        float m = 1.17549435e-38f;  // the maximum of the columns so far
        float d = 0.0f;  // the sum of their e^(x - m)
        for (int col = 0; col < cols; ++col) {
            const float value = x_row[col];
            const float larger = fmaxf(m, value);
            d = d * expf(m - larger) + expf(value - larger);
            m = larger;
        }
        y[2 * row] = m;
        y[2 * row + 1] = d;
    }
}
