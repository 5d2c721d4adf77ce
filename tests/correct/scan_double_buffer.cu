// Two buffers: a round reads one and writes the other, so one barrier a round is enough.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float buffer[2][64];
    const int tid = threadIdx.x;
    int from = 0;
    buffer[0][tid] = x[blockIdx.x * 64 + tid];
    __syncthreads();
    for (int step = 1; step < 64; step *= 2) {
        const int to = 1 - from;
        buffer[to][tid] = buffer[from][tid] + (tid >= step ? buffer[from][tid - step] : 0.0f);
        from = to;
        __syncthreads();
    }
    y[blockIdx.x * 64 + tid] = buffer[from][tid];
}
