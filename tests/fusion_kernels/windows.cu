// What may stand between two loads that join, and what may not.

#define BEGIN                                \
    __shared__ float s[1024];                \
    const int t = threadIdx.x;               \
    s[t] = y[t];                             \
    __syncthreads();                         \
    const float* p = s + 4 * (31 - t % 32);  \
    float a = p[0] + p[1];

extern "C" __global__ void over_a_global_store(float* y) {
    BEGIN y[t + 64] = a;
    y[t] = a + p[2] * p[3];
}
extern "C" __global__ void over_a_shuffle(float* y) {
    BEGIN a += __shfl_xor_sync(0xffffffffu, a, 1);
    y[t] = a + p[2] * p[3];
}
extern "C" __global__ void over_a_barrier(float* y) {
    BEGIN __syncthreads();
    y[t] = a + p[2] * p[3];
}
extern "C" __global__ void over_a_warp_barrier(float* y) {
    BEGIN __syncwarp();
    y[t] = a + p[2] * p[3];
}
extern "C" __global__ void over_a_fence(float* y) {
    BEGIN __threadfence_block();
    y[t] = a + p[2] * p[3];
}
extern "C" __global__ void over_a_store_elsewhere(float* y, int k) {
    BEGIN s[k] = a;
    y[t] = a + p[2] * p[3];
}
extern "C" __global__ void over_an_atomic(float* y) {
    BEGIN atomicAdd((int*)&s[600], 1);
    y[t] = a + p[2] * p[3];
}
extern "C" __global__ void within_a_branch(float* y, int n) {
    BEGIN if (t < n) {
        for (int k = 0; k < n; k++) a += y[k * t];
        a += p[2] * p[3];
    }
    y[t] = a;
}
