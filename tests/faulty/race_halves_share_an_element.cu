// Two threads write one 16-bit element; whose value stays is open.
// expect: race between warps, line 9
// launch: grid 1, block 64
// args: y int16[64] zero

extern "C" __global__ void kernel(short* y) {
    __shared__ short slots[32];
    const int tid = threadIdx.x;
    slots[tid % 32] = tid;
    __syncthreads();
    y[tid] = slots[tid % 32];
}
