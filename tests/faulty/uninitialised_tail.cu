// Only 40 of the 64 slots are written, and all of them are added up.
// expect: uninitialised, line 14
// launch: grid 2, block 64
// args: x float[40] normal; y float[2] zero; n int 40

extern "C" __global__ void kernel(const float* x, float* y, int n) {
    __shared__ float slots[64];
    const int tid = threadIdx.x;
    if (tid < n) slots[tid] = x[tid];
    __syncthreads();
    if (tid == 0) {
        float sum = 0.0f;
        for (int k = 0; k < 64; ++k) {
            sum += slots[k];
        }
        y[blockIdx.x] = sum;
    }
}
