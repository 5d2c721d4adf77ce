// Pairs of threads take turns; of each pair one swaps, and all wait.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float keys[64];
    const int tid = threadIdx.x;
    keys[tid] = x[blockIdx.x * 64 + tid];
    __syncthreads();
    for (int size = 2; size <= 64; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            const int other = tid ^ step;
            if (other > tid) {
                const float a = keys[tid], b = keys[other];
                if ((a > b) == ((tid & size) == 0)) {
                    keys[tid] = b;
                    keys[other] = a;
                }
            }
            __syncthreads();
        }
    }
    y[blockIdx.x * 64 + tid] = keys[tid];
}
