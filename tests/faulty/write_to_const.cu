// A cast takes the const away, and the array is one that may not change.
// expect: write to read-only memory, line 10
// launch: grid 1, block 32
// args: x float[32] readonly; y float[32] zero
// gpu: fine

extern "C" __global__ void kernel(const float* x, float* y) {
    float* own = const_cast<float*>(x);
    y[threadIdx.x] = x[threadIdx.x];
    own[threadIdx.x] = 0.0f;
}
