// The launch gives 64 floats of dynamic shared memory to 128 threads.
// expect: out of bounds, line 9
// launch: grid 1, block 128, shared 256
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    extern __shared__ float stage[];
    const int tid = threadIdx.x;
    stage[tid] = x[tid];
    __syncthreads();
    y[tid] = stage[tid ^ 1];
}
