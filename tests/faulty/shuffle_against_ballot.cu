// Half the warp waits in a shuffle of all lanes, the other half in a vote of all lanes.
// expect: divergent warp operation, lines 11 13
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero
// gpu: hangs

extern "C" __global__ void kernel(const float* x, float* y) {
    const int lane = threadIdx.x;
    float value = x[lane];
    if (lane < 16) {
        value = __shfl_xor_sync(0xffffffff, value, 1);
    } else {
        value += __ballot_sync(0xffffffff, value > 0.0f);
    }
    y[lane] = value;
}
