// A barrier under a condition that is the same for the whole block.
// expect: clean
// launch: grid 4, block 64
// args: x float[256] normal; y float[256] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x, i = blockIdx.x * 64 + tid;
    float value = x[i];
    if (blockIdx.x % 2 == 0) {
        slots[tid] = value;
        __syncthreads();
        value += slots[63 - tid];
        __syncthreads();
        slots[tid] = value;
        __syncthreads();
        value -= slots[(tid + 1) % 64];
    }
    y[i] = value;
}
