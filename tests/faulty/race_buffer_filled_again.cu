// The producer fills the one buffer again without waiting for the consumer.
// expect: race between warps, line 11
// launch: grid 1, block 64
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float buffer[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int k = 0; k < 2; ++k) {
            buffer[lane] = 2.0f * x[32 * k + lane];
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + k) : "memory");
        }
    } else {
        for (int k = 0; k < 2; ++k) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + k) : "memory");
            y[32 * k + lane] = buffer[31 - lane];
        }
    }
}
