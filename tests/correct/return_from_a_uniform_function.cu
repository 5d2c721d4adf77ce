// A helper with a barrier and an early return that is the same for the whole block.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

__device__ float mirrored(const float* x, float* slots) {
    if (blockIdx.x == 1) return 0.0f;
    slots[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    return slots[63 - threadIdx.x];
}

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const float value = mirrored(x, slots);
    y[blockIdx.x * 64 + threadIdx.x] = value + 1.0f;
}
