// Probe: four ways to reduce a row over one block, each for max and for sum.
//
// Parallel: one block a row, one thread every blockDim.x-th column.
// Change:   only how the threads' values are joined differs. halving: V1's tree in shared memory,
//           the stride halved each round. doubling: the stride doubled instead, so that the threads
//           at work reach for cells further and further apart. down: V2's two levels of shuffles.
//           xor: each lane trades with its mirror image, so that every lane ends with the result
//           and nobody has to hand it out.
// Launch:   grid 1, block of 32 to 1024 threads: a power of two for halving and doubling, a
//           multiple of 32 for down and xor; dynamic shared 0 bytes.
// Input:    float32, at least 1 column, any alignment. out: one float a thread, what it ends with.
// Traffic:  reads of x: 1.
// Stops at: a block: the row is not split over several.

struct Max {
    // -inf, the neutral element of max (NVRTC has no INFINITY macro).
    static __device__ float neutral() { return __int_as_float(0xff800000); }
    static __device__ float join(float a, float b) { return fmaxf(a, b); }
};

struct Sum {
    static __device__ float neutral() { return 0.0f; }
    static __device__ float join(float a, float b) { return a + b; }
};

// What a thread makes of its own columns; without a column, the neutral element.
template <class Op> __device__ float own_columns(const float* x, int cols) {
    float value = Op::neutral();
    for (int col = threadIdx.x; col < cols; col += blockDim.x) value = Op::join(value, x[col]);
    return value;
}

template <class Op> __device__ void halving(const float* x, float* out, int cols) {
    __shared__ float scratch[1024];  // one float a thread
    const int tid = threadIdx.x;
    scratch[tid] = own_columns<Op>(x, cols);
    __syncthreads();  // separates the write of scratch[tid] from a neighbour's read of it below
    for (int stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (tid < stride) scratch[tid] = Op::join(scratch[tid], scratch[tid + stride]);
        __syncthreads();  // separates this round's writes from the next round's reads
    }
    out[tid] = scratch[0];
}

template <class Op> __device__ void doubling(const float* x, float* out, int cols) {
    __shared__ float scratch[1024];  // one float a thread
    const int tid = threadIdx.x;
    scratch[tid] = own_columns<Op>(x, cols);
    __syncthreads();  // separates the write of scratch[tid] from a neighbour's read of it below
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        const int cell = 2 * stride * tid;
        if (cell < blockDim.x) scratch[cell] = Op::join(scratch[cell], scratch[cell + stride]);
        __syncthreads();  // separates this round's writes from the next round's reads
    }
    out[tid] = scratch[0];
}

// Reduced over the warp; only lane 0's result is complete. All 32 lanes must call it.
template <class Op> __device__ float warp_down(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = Op::join(value, __shfl_down_sync(0xffffffff, value, offset));
    }
    return value;
}

// Reduced over the warp, every lane's result complete. All 32 lanes must call it.
template <class Op> __device__ float warp_xor(float value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        value = Op::join(value, __shfl_xor_sync(0xffffffff, value, offset));
    }
    return value;
}

template <class Op> __device__ void down(const float* x, float* out, int cols) {
    __shared__ float scratch[32];  // one float a warp
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    float value = warp_down<Op>(own_columns<Op>(x, cols));
    if (lane == 0) scratch[warp] = value;
    __syncthreads();  // separates every warp's write of its partial from warp 0's reads
    if (warp == 0) {
        value = warp_down<Op>(lane < warps ? scratch[lane] : Op::neutral());
        if (lane == 0) scratch[0] = value;
    }
    __syncthreads();  // separates lane 0's write of the result from everybody's read of it
    out[threadIdx.x] = scratch[0];
}

template <class Op> __device__ void exchange(const float* x, float* out, int cols) {
    __shared__ float scratch[32];  // one float a warp
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    const float value = warp_xor<Op>(own_columns<Op>(x, cols));
    if (lane == 0) scratch[warp] = value;
    __syncthreads();  // separates every warp's write of its partial from all warps' reads
    // Every warp reduces the partials for itself: the same work, and no second barrier.
    out[threadIdx.x] = warp_xor<Op>(lane < warps ? scratch[lane] : Op::neutral());
}

extern "C" __global__ void halving_max(const float* x, float* out, int cols) {
    halving<Max>(x, out, cols);
}

extern "C" __global__ void halving_sum(const float* x, float* out, int cols) {
    halving<Sum>(x, out, cols);
}

extern "C" __global__ void doubling_max(const float* x, float* out, int cols) {
    doubling<Max>(x, out, cols);
}

extern "C" __global__ void doubling_sum(const float* x, float* out, int cols) {
    doubling<Sum>(x, out, cols);
}

extern "C" __global__ void down_max(const float* x, float* out, int cols) {
    down<Max>(x, out, cols);
}

extern "C" __global__ void down_sum(const float* x, float* out, int cols) {
    down<Sum>(x, out, cols);
}

extern "C" __global__ void xor_max(const float* x, float* out, int cols) {
    exchange<Max>(x, out, cols);
}

extern "C" __global__ void xor_sum(const float* x, float* out, int cols) {
    exchange<Sum>(x, out, cols);
}
