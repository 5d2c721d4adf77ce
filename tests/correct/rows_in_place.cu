// A row is read by all threads of its block, then overwritten after a barrier.
// expect: clean
// launch: grid 4, block 64
// args: x float[4,100] normal; cols int 100

extern "C" __global__ void kernel(float* x, int cols) {
    __shared__ float sums[64];
    float* row = x + blockIdx.x * cols;
    float sum = 0.0f;
    for (int c = 0; c < cols; ++c) sum += row[(c + threadIdx.x) % cols];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += 64) row[c] = row[c] - sums[63] / cols;
}
