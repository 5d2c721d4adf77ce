// Right numbers, too slow: the second pass loads float by float, as V4 does.

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

// e^(v - row_max), element by element.
__device__ float4 exp4(float4 v, float row_max) {
    return make_float4(expf(v.x - row_max), expf(v.y - row_max), expf(v.z - row_max),
                       expf(v.w - row_max));
}

// v / row_sum to y[0..3]: one 16-byte store where y's address allows it, four 4-byte stores else.
__device__ void store4(float* y, float4 v, float row_sum, bool aligned) {
    v = make_float4(v.x / row_sum, v.y / row_sum, v.z / row_sum, v.w / row_sum);
    if (aligned) *reinterpret_cast<float4*>(y) = v;
    else y[0] = v.x, y[1] = v.y, y[2] = v.z, y[3] = v.w;
}

extern "C" __global__ void softmax_v4(const float* x, float* y, int rows, int cols) {
    extern __shared__ float4 staged[];  // the exponentials of the quads
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int lane = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    // The row is head scalars up to a 16-byte boundary of x, quads float4s, and a tail of 0..3.
    const int head = min(cols, (int)((16 - (size_t)x_row % 16) % 16 / 4));
    const int quads = (cols - head) / 4;
    const float4* x_quads = reinterpret_cast<const float4*>(x_row + head);
    const bool y_aligned = (size_t)(y_row + head) % 16 == 0;  // same misalignment as x_row?
    const int edge = lane < head ? lane : lane + 4 * quads;  // of head or tail, if edge < cols

    float local_max = edge < cols ? x_row[edge] : neg_inf();
    for (int quad = lane; quad < quads; quad += 32) {
        const float4 v = x_quads[quad];
        local_max = fmaxf(local_max, fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)));
    }
    const float row_max = warp_max(local_max);

    const float edge_exp = edge < cols ? expf(x_row[edge] - row_max) : 0.0f;

    float* kept = reinterpret_cast<float*>(staged);
    float local_sum = edge_exp;
    for (int col = lane; col < 4 * quads; col += 32) {
        kept[col] = expf(x_row[head + col] - row_max);
        local_sum += kept[col];
    }
    const float row_sum = warp_sum(local_sum);
    __syncwarp();  // the lane that stores a quad has not staged all of it itself
    for (int quad = lane; quad < quads; quad += 32) {
        store4(y_row + head + 4 * quad, staged[quad], row_sum, y_aligned);
    }
    if (edge < cols) y_row[edge] = edge_exp / row_sum;
}
