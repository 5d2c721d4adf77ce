// 0xffff names 16 lanes; 32 call.
// Softmax, one warp a row: no shared memory and no barrier.
// Launch: grid ceil(rows / 4), block 128 (four warps).

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

// The maximum of value over the warp, returned to every lane. All 32 lanes must call it.
__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    return __shfl_sync(0xffffffff, value, 0);  // lane 0 has the whole of it, and hands it on
}

// The sum of value over the warp, returned to every lane. All 32 lanes must call it.
__device__ float warp_sum(float value) {
    // YOUR CODE: about 3 lines.
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffff, value, offset);
    }
    return value;
}

extern "C" __global__ void warp_softmax(const float* x, float* y, int rows, int cols) {
    const int lane = threadIdx.x % 32;
    const size_t row = (size_t)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;

    if (row < rows) {  // the same for all lanes of a warp
        const float* x_row = x + row * cols;
        float* y_row = y + row * cols;

        float local_max = neg_inf();
        for (int col = lane; col < cols; col += 32) local_max = fmaxf(local_max, x_row[col]);
        const float row_max = warp_max(local_max);

        float local_sum = 0.0f;
        for (int col = lane; col < cols; col += 32) local_sum += expf(x_row[col] - row_max);
        const float row_sum = warp_sum(local_sum);

        for (int col = lane; col < cols; col += 32) {
            y_row[col] = expf(x_row[col] - row_max) / row_sum;
        }
    }
}
