// Everybody waits for a flag that nobody sets.
// expect: endless loop, line 8
// launch: grid 1, block 64
// args: flag int[1] zero; y int[64] zero
// gpu: hangs

extern "C" __global__ void kernel(int* flag, int* y) {
    while (atomicAdd(flag, 0) == 0) {
    }
    y[threadIdx.x] = flag[0];
}
