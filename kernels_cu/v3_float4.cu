// V3: float4 loads and stores.
//
// Parallel: over rows, one block a row, and over columns, one thread every 256th group of four.
// Change:   from V2, a thread moves 16 bytes an instruction: a quarter of the loads, stores and
//           loop steps for the same bytes. A float4 must sit on a 16-byte boundary, and when
//           cols % 4 != 0 most rows start off one: scalar head, float4 body, scalar tail.
// Launch:   grid rows, block 256 (any multiple of 32, at most 1024), dynamic shared 0 bytes.
// Input:    float32, rows one after another, any alignment of x and of y. A row with a NaN or a
//           +inf, or of -inf only, comes out NaN throughout (fmaxf drops a NaN, the sum brings it
//           back).
// Traffic:  reads of x: 3, writes of y: 1.
// Stops at: three trips over the row where one would do: the exponentials are computed twice, and
//           y's stores fall back to 4 bytes where x and y are misaligned differently.

// -inf, the neutral element of max (NVRTC has no INFINITY macro).
__device__ float neg_inf() { return __int_as_float(0xff800000); }

// The maximum of value over the warp; only lane 0's result is complete. All 32 lanes must call it.
__device__ float warp_max(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = fmaxf(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    return value;
}

// The sum of value over the warp; only lane 0's result is complete. All 32 lanes must call it.
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffff, value, offset);
    }
    return value;
}

// The maximum of value over the block, returned to every thread. scratch: one float a warp.
__device__ float block_max(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    value = warp_max(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();  // separates every warp's write of its partial from warp 0's reads
    if (warp == 0) {
        value = warp_max(lane < warps ? scratch[lane] : neg_inf());
        if (lane == 0) scratch[0] = value;
    }
    __syncthreads();  // separates lane 0's write of the result from everybody's read of it
    return scratch[0];
}

// The sum of value over the block, returned to every thread. scratch: one float a warp.
__device__ float block_sum(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    value = warp_sum(value);
    if (lane == 0) scratch[warp] = value;
    __syncthreads();  // separates every warp's write of its partial from warp 0's reads
    if (warp == 0) {
        value = warp_sum(lane < warps ? scratch[lane] : 0.0f);
        if (lane == 0) scratch[0] = value;
    }
    __syncthreads();  // separates lane 0's write of the result from everybody's read of it
    return scratch[0];
}

// The largest of four.
__device__ float max4(float4 v) { return fmaxf(fmaxf(v.x, v.y), fmaxf(v.z, v.w)); }

// e^(v - row_max), element by element.
__device__ float4 exp4(float4 v, float row_max) {
    return make_float4(expf(v.x - row_max), expf(v.y - row_max), expf(v.z - row_max),
                       expf(v.w - row_max));
}

// v / row_sum, element by element.
__device__ float4 div4(float4 v, float row_sum) {
    return make_float4(v.x / row_sum, v.y / row_sum, v.z / row_sum, v.w / row_sum);
}

// v to y[0..3]: one 16-byte store where y's address allows it, four 4-byte stores else.
__device__ void store4(float* y, float4 v, bool aligned) {
    if (aligned) {
        *reinterpret_cast<float4*>(y) = v;
    } else {
        y[0] = v.x;
        y[1] = v.y;
        y[2] = v.z;
        y[3] = v.w;
    }
}

extern "C" __global__ void softmax_v3(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[32];  // one float a warp, used by max and then by sum
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;

    // The row is head scalars up to a 16-byte boundary of x, quads float4s, and a tail of 0..3.
    const int head = min(cols, (int)((16 - (size_t)x_row % 16) % 16 / 4));
    const int quads = (cols - head) / 4;
    const float4* x_quads = reinterpret_cast<const float4*>(x_row + head);
    const bool y_aligned = (size_t)(y_row + head) % 16 == 0;  // same misalignment as x_row?
    // Head and tail together are at most 6 columns, one a thread; edge < cols says who has one.
    const int edge = tid < head ? tid : tid + 4 * quads;

    // Pass 1: the maximum. A thread without a column contributes -inf.
    float local_max = edge < cols ? x_row[edge] : neg_inf();
    for (int quad = tid; quad < quads; quad += blockDim.x) {
        local_max = fmaxf(local_max, max4(x_quads[quad]));
    }
    const float row_max = block_max(local_max, scratch);
    __syncthreads();  // separates block_max's last read of scratch from block_sum's first write

    // Pass 2: the sum of the exponentials. A thread without a column contributes 0.
    float local_sum = edge < cols ? expf(x_row[edge] - row_max) : 0.0f;
    for (int quad = tid; quad < quads; quad += blockDim.x) {
        const float4 e = exp4(x_quads[quad], row_max);
        local_sum += (e.x + e.y) + (e.z + e.w);
    }
    const float row_sum = block_sum(local_sum, scratch);

    // Pass 3: normalise. Each exponential is computed again: there is nowhere to keep it.
    if (edge < cols) y_row[edge] = expf(x_row[edge] - row_max) / row_sum;
    for (int quad = tid; quad < quads; quad += blockDim.x) {
        const float4 e = exp4(x_quads[quad], row_max);
        store4(y_row + head + 4 * quad, div4(e, row_sum), y_aligned);
    }
}
