// A thread of the other warp may not have written yet.
// expect: race between warps, line 9
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[64];
    const int tid = threadIdx.x;
    tile[tid] = x[tid];
    y[tid] = tile[63 - tid];
}
