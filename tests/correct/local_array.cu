// An array of each thread, addressed by data.
// expect: clean
// launch: grid 2, block 32
// args: x int[64] below 8; y int[64] zero

extern "C" __global__ void kernel(const int* x, int* y) {
    int seen[8];
    for (int k = 0; k < 8; ++k) seen[k] = 0;
    const int i = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 16; ++k) seen[x[(i + k) % 64]] += k;
    y[i] = seen[x[i]] + seen[(x[i] + 1) % 8];
}
