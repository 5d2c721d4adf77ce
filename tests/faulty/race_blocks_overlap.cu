// Blocks are 64 threads wide and only 32 elements apart.
// expect: race between blocks, line 9
// launch: grid 4, block 64
// args: y int[160] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(int* y) {
    const int i = blockIdx.x * (blockDim.x / 2) + threadIdx.x;
    y[i] = blockIdx.x;
}
