// Wrong: -inf - -inf is NaN.

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

extern "C" __global__ void masked_softmax(const float* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int lane = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    float local_max = neg_inf();
    for (int col = lane; col < cols; col += 32) local_max = fmaxf(local_max, x_row[col]);
    const float row_max = warp_max(local_max);  // fmaxf drops a NaN

    const float shift = row_max;
    float local_sum = 0.0f;
    for (int col = lane; col < cols; col += 32) local_sum += expf(x_row[col] - shift);
    const float row_sum = warp_sum(local_sum);
    for (int col = lane; col < cols; col += 32) y_row[col] = expf(x_row[col] - shift) / row_sum;
}
