// Wrong: head and body, no tail.

// The sum of value over the warp, in every lane. All 32 lanes must call it.
__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_xor_sync(0xffffffff, value, offset);
    }
    return value;
}

// The sum of value over the block, in every thread. scratch: one float a warp.
__device__ float block_sum(float value, float* scratch) {
    const int lane = threadIdx.x % 32;
    const int warps = blockDim.x / 32;
    value = warp_sum(value);
    if (lane == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();  // separates every warp's write of its partial from the reads below
    return warp_sum(lane < warps ? scratch[lane] : 0.0f);
}

extern "C" __global__ void row_sum_float4(const float* x, float* y, int rows, int cols) {
    __shared__ float scratch[32];  // one float a warp
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;

    float local_sum = 0.0f;  // of the columns that are this thread's
    const int head = min(cols, (int)((16 - (size_t)x_row % 16) % 16 / 4));
    const int quads = (cols - head) / 4;
    const float4* x_quads = reinterpret_cast<const float4*>(x_row + head);
    for (int quad = tid; quad < quads; quad += blockDim.x) {
        const float4 v = x_quads[quad];
        local_sum += (v.x + v.y) + (v.z + v.w);
    }
    if (tid < head) local_sum += x_row[tid];

    const float row_sum = block_sum(local_sum, scratch);
    if (tid == 0) y[row] = row_sum;
}
