// In one statement a lane reads its neighbour's slot and overwrites its own.
// expect: race inside a warp, line 11
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[32];
    const int lane = threadIdx.x;
    slots[lane] = x[lane];
    __syncwarp();
    slots[lane] = slots[(lane + 1) % 32];
    __syncwarp();
    y[lane] = slots[lane];
}
