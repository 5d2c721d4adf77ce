// Blocks go round a loop with barriers a different number of times.
// expect: clean
// launch: grid 5, block 32
// args: x float[400] normal; rounds int[5] arange; y float[160] zero

extern "C" __global__ void kernel(const float* x, const int* rounds, float* y) {
    __shared__ float slots[32];
    const int tid = threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < rounds[blockIdx.x]; ++k) {
        slots[tid] = x[32 * k + tid];
        __syncthreads();
        sum += slots[31 - tid];
        __syncthreads();
    }
    y[blockIdx.x * 32 + tid] = sum;
}
