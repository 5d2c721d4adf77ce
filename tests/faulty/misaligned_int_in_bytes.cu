// A header of one byte leaves the ints behind it misaligned.
// expect: misaligned, line 8
// launch: grid 1, block 32
// args: x int8[200] below 100; y int[32] zero

extern "C" __global__ void kernel(const signed char* x, int* y) {
    const int* values = reinterpret_cast<const int*>(x + 1);
    y[threadIdx.x] = values[threadIdx.x];
}
