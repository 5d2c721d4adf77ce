// A tree with a barrier in every round.
// expect: clean
// launch: grid 3, block 128
// args: x float[384] normal; y float[3] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float scratch[128];
    const int tid = threadIdx.x;
    scratch[tid] = x[blockIdx.x * blockDim.x + tid];
    __syncthreads();
    for (int stride = 64; stride > 0; stride /= 2) {
        if (tid < stride) scratch[tid] += scratch[tid + stride];
        __syncthreads();
    }
    if (tid == 0) y[blockIdx.x] = scratch[0];
}
