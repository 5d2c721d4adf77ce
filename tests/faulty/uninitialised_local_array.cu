// Entries of a local array that the loop did not reach.
// expect: uninitialised, line 11
// launch: grid 1, block 32
// args: x int[32] below 8; y int[32] zero
// gpu: silent, initcheck knows memory and no registers

extern "C" __global__ void kernel(const int* x, int* y) {
    int seen[8];
    const int i = threadIdx.x;
    for (int k = 0; k < 4; ++k) seen[x[k] / 2] = k;
    y[i] = seen[x[i]];
}
