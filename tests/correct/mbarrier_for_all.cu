// All arrive at a barrier in shared memory, and all wait for its phase to end, twice.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

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
    __shared__ float slots[64];
    const int tid = threadIdx.x, i = blockIdx.x * 64 + tid;
    if (tid == 0) start(&bar, 64);
    __syncthreads();
    slots[tid] = x[i];
    arrive(&bar);
    wait(&bar, 0);
    const float value = slots[63 - tid];
    arrive(&bar);
    wait(&bar, 1);
    slots[tid] = value;
    y[i] = value + slots[tid];
}
