// The idiom of old books: volatile keeps the compiler honest, not the lanes in step.
// expect: race inside a warp, lines 13 14
// launch: grid 1, block 32
// args: x float[32] normal; y float[1] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float storage[64];
    volatile float* scratch = storage;
    const int lane = threadIdx.x;
    scratch[lane] = x[lane];
    scratch[lane + 32] = 0.0f;
    __syncwarp();
    scratch[lane] = scratch[lane] + scratch[lane + 16];
    scratch[lane] = scratch[lane] + scratch[lane + 8];
    if (lane == 0) y[0] = scratch[0];
}
