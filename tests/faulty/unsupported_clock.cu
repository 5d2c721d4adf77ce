// A simulator has no clock.
// expect: unsupported, line 8
// launch: grid 1, block 32
// args: y int64[32] zero
// gpu: fine

extern "C" __global__ void kernel(long long* y) {
    y[threadIdx.x] = clock64();
}
