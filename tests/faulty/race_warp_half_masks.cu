// Each half of the warp waits for itself, and then reads from the other half.
// expect: race inside a warp, line 9
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[32];
    const int lane = threadIdx.x;
    slots[lane] = x[lane];
    __syncwarp(lane < 16 ? 0x0000ffff : 0xffff0000);
    y[lane] = slots[lane ^ 16];
}
