// The last float4 begins inside the array and ends two elements behind it.
// expect: out of bounds, line 9
// launch: grid 1, block 32
// args: x float[126] normal; y float[32] zero; n int 126

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    if (4 * i < n) {
        const float4 v = reinterpret_cast<const float4*>(x)[i];
        y[i] = v.x + v.y + v.z + v.w;
    }
}
