// Stores join when they follow each other in one aligned piece, without gaps.

#define BEGIN                      \
    __shared__ float s[2048];      \
    const int t = threadIdx.x;     \
    const float v = x[t];          \
    float* p = s + 8 * t;
#define END        \
    __syncthreads(); \
    y[t] = s[31 * t];

extern "C" __global__ void store_0123(const float* x, float* y) {
    BEGIN p[0] = v, p[1] = v + 1, p[2] = v + 2, p[3] = v + 3;
    END
}
extern "C" __global__ void store_012(const float* x, float* y) {
    BEGIN p[0] = v, p[1] = v + 1, p[2] = v + 2;
    END
}
extern "C" __global__ void store_123(const float* x, float* y) {
    BEGIN p[1] = v + 1, p[2] = v + 2, p[3] = v + 3;
    END
}
extern "C" __global__ void store_interleaved(const float* x, float* y) {
    BEGIN p[0] = v, p[4] = v + 1, p[1] = v + 2, p[5] = v + 3;
    END
}
extern "C" __global__ void store_over_a_load(const float* x, float* y) {
    BEGIN p[0] = v, p[1] = v + 1;
    y[t + 64] = s[t + 1000];
    p[2] = v + 2, p[3] = v + 3;
    END
}
extern "C" __global__ void store_pairs(const float* x, float* y) {
    BEGIN float2* q = (float2*)p;
    q[0] = make_float2(v, 1), q[1] = make_float2(v, 2);
    END
}
extern "C" __global__ void store_shorts(const float* x, float* y) {
    __shared__ short s[1024];
    const int t = threadIdx.x, v = x[t];
    for (int k = 0; k < 4; k++) s[4 * t + k] = v + k;
    __syncthreads();
    y[t] = s[31 * t];
}
