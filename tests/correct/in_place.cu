// Everybody reads and writes only its own element.
// expect: clean
// launch: grid 3, block 32
// args: x float[96] normal

extern "C" __global__ void kernel(float* x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = x[i] * 0.5f;
    x[i] += 1.0f;
}
