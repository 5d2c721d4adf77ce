// A variable that only some threads set, and only those use.
// expect: clean
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero; n int 40

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    float value;
    if (i < n) value = x[i];
    __syncthreads();
    if (i < n) y[i] = value;
}
