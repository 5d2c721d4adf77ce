// Only the lanes with positive values shuffle, with the mask __activemask() gives, and read
// others.
// expect: shuffle from an inactive lane, line 11
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int lane = threadIdx.x;
    float value = x[lane];
    if (value > 0.0f) {
        value += __shfl_xor_sync(__activemask(), value, 1);
    }
    y[lane] = value;
}
