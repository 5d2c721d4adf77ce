// threadIdx.x - shift is unsigned: for thread 0 it wraps to four thousand million.
// expect: out of bounds, line 8
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero; shift unsigned 1

extern "C" __global__ void kernel(const float* x, float* y, unsigned shift) {
    const unsigned i = threadIdx.x;
    y[i] = x[i - shift];
}
