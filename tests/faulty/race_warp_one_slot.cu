// All lanes write their own value to one slot; which one stays is open.
// expect: race inside a warp, line 8
// launch: grid 1, block 32
// args: x float[32] normal; y float[1] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slot;
    slot = x[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) y[0] = slot;
}
