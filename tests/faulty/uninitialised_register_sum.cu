// Threads behind the end add what happened to be in their register.
// expect: uninitialised, line 13
// launch: grid 2, block 64
// args: x float[128] normal; y float[2] zero; n int 50
// gpu: silent, initcheck knows memory and no registers

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float partial[2];
    const int tid = threadIdx.x;
    float value;
    if (tid < n) value = x[blockIdx.x * 64 + tid];
    for (int k = 16; k > 0; k /= 2) value += __shfl_xor_sync(0xffffffff, value, k);
    if (tid % 32 == 0) partial[tid / 32] = value;
    __syncthreads();
    if (tid == 0) y[blockIdx.x] = partial[0] + partial[1];
}
