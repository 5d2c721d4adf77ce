// Row 1 begins 120 bytes into x, which is no multiple of 16.
// expect: misaligned, line 10
// launch: grid 3, block 32
// args: x float[3,30] normal; y float[3] zero; cols int 30

extern "C" __global__ void kernel(const float* x, float* y, int cols) {
    const float4* quads = reinterpret_cast<const float4*>(x + blockIdx.x * cols);
    const int quad = threadIdx.x;
    if (quad < cols / 4) {
        const float4 v = quads[quad];
        if (quad == 0) y[blockIdx.x] = v.x + v.w;
    }
}
