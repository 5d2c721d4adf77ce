// Each pair of warps has a barrier of its own.
// expect: clean
// launch: grid 2, block 128
// args: x float[256] normal; y float[256] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[128];
    const int tid = threadIdx.x, i = blockIdx.x * 128 + tid;
    slots[tid] = x[i];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + tid / 64) : "memory");
    y[i] = slots[tid ^ 32];
}
