// Half the warp waits at a barrier, the other half at a shuffle of the whole warp: for ever.
// expect: divergent barrier, line 11
// launch: grid 1, block 32
// args: x float[32] normal; y float[32] zero
// gpu: may hang

extern "C" __global__ void kernel(const float* x, float* y) {
    const int lane = threadIdx.x;
    float value = x[lane];
    if (lane < 16) {
        __syncthreads();
    } else {
        value = __shfl_xor_sync(0xffffffff, value, 1);
    }
    y[lane] = value;
}
