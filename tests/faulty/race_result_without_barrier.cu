// Thread 0 writes the block's result, and everybody reads it at once.
// expect: race between warps, line 9
// launch: grid 2, block 96
// args: x float[192] normal; y float[192] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float scale;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) scale = x[i];
    y[i] = scale * x[i];
}
