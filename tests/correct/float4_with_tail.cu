// Vectors as far as they go, then single floats.
// expect: clean
// launch: grid 2, block 32
// args: x float[203] normal; y float[203] zero; n int 203

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int quads = n / 4;
    if (i < quads) {
        float4 v = reinterpret_cast<const float4*>(x)[i];
        v.x += 1.0f;
        reinterpret_cast<float4*>(y)[i] = v;
    }
    if (i < n % 4) y[4 * quads + i] = x[4 * quads + i];
}
