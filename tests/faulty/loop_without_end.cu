// The step of the loop underflows to nothing, and the sum never arrives.
// expect: endless loop, lines 10 11 12
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero
// gpu: hangs

extern "C" __global__ void kernel(const float* x, float* y) {
    float sum = 0.0f;
    volatile float* out = y;
    while (sum < 1.0f) {
        out[threadIdx.x] = x[threadIdx.x] * 0.0f;
        sum += out[threadIdx.x];
    }
    y[threadIdx.x] = sum;
}
