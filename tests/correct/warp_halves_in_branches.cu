// Halves in different branches, each with its own mask for shuffle and __syncwarp().
// expect: clean
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[32];
    const int lane = threadIdx.x;
    float value = x[lane];
    if (lane < 16) {
        value += __shfl_xor_sync(0x0000ffff, value, 8);
        slots[lane] = value;
        __syncwarp(0x0000ffff);
        value = slots[15 - lane];
    } else {
        value *= __shfl_xor_sync(0xffff0000, value, 4);
        slots[lane] = value;
        __syncwarp(0xffff0000);
        value = slots[47 - lane];
    }
    y[lane] = value;
}
