// Two threads share a word of memory, and no half of it.
// expect: clean
// launch: grid 2, block 64
// args: x float16[128] normal; y float16[128] zero

#include <cuda_fp16.h>

extern "C" __global__ void kernel(const __half* x, __half* y) {
    __shared__ __half slots[64];
    const int tid = threadIdx.x, i = blockIdx.x * 64 + tid;
    slots[tid] = x[i];
    __syncthreads();
    y[i] = __hadd(slots[tid], slots[tid ^ 1]);
}
