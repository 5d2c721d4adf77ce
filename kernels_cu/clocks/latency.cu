// latency: how many cycles one step of a dependent chain takes, where every step needs the result
// of the one before it.
//
// Parallel: nothing. One block, most often one warp: what counts is waiting, not throughput.
// Launch:   grid 1, block 32 (chain_load 1, chain_barrier 32 to 1024).
// Input:    cycles[0] receives the SM's clock cycles from before the first step to after the last;
//           sink[tid] the end of the chain, so that no compiler may leave it out.
// Reading:  two lengths are timed and subtracted, so starting and stopping the clock falls away.
// Note:     clock64() is the GPU's own clock. The simulator has none, and refuses these kernels.

// Stop the clock: only thread 0 tells.
__device__ void tell(long long* cycles, long long begin) {
    const long long end = clock64();
    if (threadIdx.x == 0) cycles[0] = end - begin;
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void chain_fma(long long* cycles, float* sink, int steps, float a, float b) {
    float value = threadIdx.x;
    const long long begin = clock64();
#pragma unroll 128
    for (int step = 0; step < steps; ++step) value = fmaf(value, a, b);
    tell(cycles, begin);
    sink[threadIdx.x] = value;
}

extern "C" __global__ void chain_shuffle_down(long long* cycles, float* sink, int steps) {
    float value = threadIdx.x;
    const long long begin = clock64();
#pragma unroll 128
    for (int step = 0; step < steps; ++step) value = __shfl_down_sync(0xffffffff, value, 1);
    tell(cycles, begin);
    sink[threadIdx.x] = value;
}

extern "C" __global__ void chain_shuffle_idx(long long* cycles, float* sink, int steps) {
    int value = threadIdx.x;
    const long long begin = clock64();
#pragma unroll 128
    for (int step = 0; step < steps; ++step) value = __shfl_sync(0xffffffff, value, value);
    tell(cycles, begin);
    sink[threadIdx.x] = value;
}

extern "C" __global__ void chain_shared(long long* cycles, float* sink, int steps) {
    __shared__ int next[32];  // a cell holds the byte offset of its own thread's next cell
    next[threadIdx.x] = 4 * ((threadIdx.x + 1) % 32);
    __syncthreads();  // separates the writes above from the reads of other threads' cells below
    int offset = 4 * threadIdx.x;
    const long long begin = clock64();
#pragma unroll 128
    for (int step = 0; step < steps; ++step) {
        offset = *reinterpret_cast<const int*>(reinterpret_cast<const char*>(next) + offset);
    }
    tell(cycles, begin);
    sink[threadIdx.x] = offset;
}

// ring: 8-byte cells, each holding the address of the next one. The first `warm` steps are not
// timed. past_l1: loads that look in L2 first, else in L1.
extern "C" __global__ void chain_load(long long* cycles, float* sink, const long long* ring,
                                      int warm, int steps, bool past_l1) {
    const long long* cell = ring;
    for (int step = 0; step < warm; ++step) {
        cell = reinterpret_cast<const long long*>(past_l1 ? __ldcg(cell) : __ldca(cell));
    }
    const long long begin = clock64();
    if (past_l1) {
#pragma unroll 8
        for (int step = 0; step < steps; ++step) {
            cell = reinterpret_cast<const long long*>(__ldcg(cell));
        }
    } else {
#pragma unroll 8
        for (int step = 0; step < steps; ++step) {
            cell = reinterpret_cast<const long long*>(__ldca(cell));
        }
    }
    tell(cycles, begin);
    sink[threadIdx.x] = reinterpret_cast<size_t>(cell) % 2;
}

extern "C" __global__ void chain_barrier(long long* cycles, int steps) {
    const long long begin = clock64();
    for (int step = 0; step < steps; ++step) __syncthreads();  // separates nothing: it is timed
    tell(cycles, begin);
}
