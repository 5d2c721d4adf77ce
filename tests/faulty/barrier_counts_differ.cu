// Two warps at one named barrier, one of which waits for another number of threads.
// expect: mismatched barrier, line 11
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero
// gpu: hangs

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    slots[tid] = x[tid];
    asm volatile("bar.sync 1, %0;" ::"r"(tid < 32 ? 32 : 64) : "memory");
    y[tid] = slots[tid ^ 1];
}
