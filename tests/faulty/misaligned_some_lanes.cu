// Only the threads with an odd offset are misaligned.
// expect: misaligned, line 9
// launch: grid 1, block 32
// args: x int[32] arange; y float[64] zero

extern "C" __global__ void kernel(const int* x, float* y) {
    const int at = x[threadIdx.x];
    if (threadIdx.x < 20) {
        *reinterpret_cast<float2*>(y + at) = make_float2(1.0f, 2.0f);
    }
}
