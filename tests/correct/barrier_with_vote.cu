// __syncthreads_count() and _or() wait, and orders memory as well.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y int[128] zero

extern "C" __global__ void kernel(const float* x, int* y) {
    __shared__ float slots[64];
    const int tid = threadIdx.x, i = blockIdx.x * 64 + tid;
    slots[tid] = x[i];
    const int count = __syncthreads_count(x[i] > 0.0f);
    const int any = __syncthreads_or(slots[63 - tid] > 2.0f);
    y[i] = count + 1000 * (any != 0);
}
