// Four threads share a word of memory, and no byte.
// expect: clean
// launch: grid 2, block 64
// args: y int8[128] zero

extern "C" __global__ void kernel(signed char* y) {
    __shared__ signed char slots[64];
    const int tid = threadIdx.x;
    slots[tid] = tid;
    __syncthreads();
    y[blockIdx.x * 64 + tid] = slots[63 - tid];
}
