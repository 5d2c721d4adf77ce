// Right, but every thread merges and writes.

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

extern "C" __global__ void merge(const float* x, float* y, int rows, int cols) {
    __shared__ float partial_m[4];  // the maximum of each warp's slice
    __shared__ float partial_d[4];  // and the sum of e^(x - that maximum)
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const int warp = tid / 32;
    const float* x_row = x + row * cols;

    // The slice of this warp; in a short row some have none, and leave m = -inf and d = 0.
    const int first = (cols + 3) / 4 * warp;
    const int end = min(cols, (cols + 3) / 4 * (warp + 1));
    float local_max = neg_inf();
    for (int col = first + tid % 32; col < end; col += 32) local_max = fmaxf(local_max, x_row[col]);
    const float slice_m = warp_max(local_max);
    float local_sum = 0.0f;
    for (int col = first + tid % 32; col < end; col += 32) {
        if (x_row[col] != neg_inf()) local_sum += expf(x_row[col] - slice_m);
    }
    const float slice_d = warp_sum(local_sum);
    if (tid % 32 == 0) {
        partial_m[warp] = slice_m;
        partial_d[warp] = slice_d;
    }

    __syncthreads();  // separates every warp's write of its partial from the reads below
    float m = neg_inf(), d = 0.0f;
    for (int part = 0; part < 4; ++part) m = fmaxf(m, partial_m[part]);
    for (int part = 0; part < 4; ++part) {
        if (partial_d[part] > 0.0f) d += partial_d[part] * expf(partial_m[part] - m);
    }
    y[2 * row] = m;
    y[2 * row + 1] = d;
}
