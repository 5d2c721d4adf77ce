// Off by one float, every float2 straddles its boundary.
// expect: misaligned, line 8
// launch: grid 1, block 32
// args: y float[66] zero

extern "C" __global__ void kernel(float* y) {
    float2* pairs = reinterpret_cast<float2*>(y + 1);
    pairs[threadIdx.x] = make_float2(threadIdx.x, 1.0f);
}
