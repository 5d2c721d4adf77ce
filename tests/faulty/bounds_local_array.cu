// An array in registers or local memory has ends as well.
// expect: out of bounds, line 11
// launch: grid 1, block 32
// args: x int[32] below 9; y int[32] zero
// gpu: silent, a stray local index stays inside the thread's stack frame

extern "C" __global__ void kernel(const int* x, int* y) {
    int seen[8];
    for (int k = 0; k < 8; ++k) seen[k] = k;
    const int i = threadIdx.x;
    seen[x[i]] = i;
    int sum = 0;
    for (int k = 0; k < 8; ++k) sum += seen[k] * seen[x[k] % 8];
    y[i] = sum;
}
