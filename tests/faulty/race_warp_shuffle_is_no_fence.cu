// A shuffle brings the lanes together and says nothing about memory.
// expect: race inside a warp, line 9
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[32];
    const int lane = threadIdx.x;
    slots[lane] = x[lane];
    const float other = __shfl_xor_sync(0xffffffff, x[lane], 1);
    y[lane] = slots[31 - lane] + other;
}
