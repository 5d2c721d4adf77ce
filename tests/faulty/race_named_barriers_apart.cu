// Each pair of warps meets at its own barrier, and then reads from the other pair.
// expect: race between warps, line 9
// launch: grid 1, block 128
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[128];
    const int tid = threadIdx.x;
    slots[tid] = x[tid];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + tid / 64) : "memory");
    y[tid] = slots[127 - tid];
}
