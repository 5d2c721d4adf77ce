// The mask names all lanes, and half of them return without taking part.
// expect: shuffle from an inactive lane, line 10
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    const int lane = threadIdx.x;
    if (lane >= 16) return;
    float value = x[lane];
    value += __shfl_down_sync(0xffffffff, value, 8);
    y[lane] = value;
}
