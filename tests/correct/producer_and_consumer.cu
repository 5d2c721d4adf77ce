// Warp 0 fills a buffer and goes on, warp 1 waits for it: bar.arrive and bar.sync.
// expect: clean
// launch: grid 2, block 64
// args: x float[256] normal; y float[256] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float buffer[2][32];
    const int lane = threadIdx.x % 32;
    const float* from = x + blockIdx.x * 128;
    float* to = y + blockIdx.x * 128;
    if (threadIdx.x < 32) {
        for (int k = 0; k < 4; ++k) {
            if (k >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + k % 2) : "memory");
            buffer[k % 2][lane] = 2.0f * from[32 * k + lane];
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + k % 2) : "memory");
        }
    } else {
        for (int k = 0; k < 4; ++k) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + k % 2) : "memory");
            to[32 * k + lane] = buffer[k % 2][31 - lane];
            if (k < 2) asm volatile("bar.arrive %0, 64;" ::"r"(3 + k % 2) : "memory");
        }
    }
}
