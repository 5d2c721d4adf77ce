// Alignment carried through loops; `unroll 1` keeps the assembler from copying their bodies.

#define BEGIN                  \
    __shared__ float s[2048];  \
    const int t = threadIdx.x; \
    s[t] = y[t];               \
    __syncthreads();           \
    float a = 0;

extern "C" __global__ void step_4(float* y, int n) {
    BEGIN
#pragma unroll 1
    for (int k = 4 * t; k < n; k += 128) a += s[k] + s[k + 1] * s[k + 2] - s[k + 3];
    y[t] = a;
}
extern "C" __global__ void step_2(float* y, int n) {
    BEGIN
#pragma unroll 1
    for (int k = 2 * t; k < n; k += 66) a += s[k] + s[k + 1];
    y[t] = a;
}
extern "C" __global__ void step_1(float* y, int n) {
    BEGIN
#pragma unroll 1
    for (int k = t; k < n; k += 33) a += s[k] + s[k + 1];
    y[t] = a;
}
extern "C" __global__ void halves_of_a_row(const unsigned short* x, float* y) {
    __shared__ unsigned short s[32][40];
    const int t = threadIdx.x;
    for (int k = 0; k < 32; k++) s[k][t] = x[32 * k + t];
    __syncthreads();
    float a = 0, h;
    for (int k = 0; k < 8; k++) {
        asm("cvt.f32.f16 %0, %1;" : "=f"(h) : "h"(s[t][k]));
        a += h;
    }
    y[t] = a;
}
