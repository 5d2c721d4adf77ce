// A named barrier counts whole warps: 40 threads are no multiple of 32.
// expect: mismatched barrier, line 11
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero
// gpu: hangs

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    slots[tid] = x[tid];
    asm volatile("bar.sync 1, 40;" ::: "memory");
    y[tid] = slots[63 - tid];
}
