// Warp 0 writes and arrives, and warp 1 does not wait.
// expect: race between warps, line 39
// launch: grid 2, block 64
// args: x float[128] normal; y float[64] zero

__device__ unsigned address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void start(unsigned long long* bar, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
}

__device__ void arrive(unsigned long long* bar) {
    asm volatile(
        "{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(address(bar))
        : "memory");
}

__device__ void wait(unsigned long long* bar, int parity) {
    int over = 0;
    while (over == 0) {
        asm volatile(
            "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; "
            "selp.s32 %0, 1, 0, p; }"
            : "=r"(over)
            : "r"(address(bar)), "r"(parity)
            : "memory");
    }
}

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ unsigned long long bar;
    __shared__ float slots[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) start(&bar, 32);
    __syncthreads();
    if (threadIdx.x < 32) {
        slots[lane] = x[blockIdx.x * 64 + lane];
        arrive(&bar);
    } else {
        y[blockIdx.x * 32 + lane] = slots[31 - lane];
    }
    wait(&bar, 0);
}
