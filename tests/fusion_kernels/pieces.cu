// Which of the words around an aligned 16 bytes are read, in which order, with which types.

#define BEGIN                                \
    __shared__ float s[1024];                \
    const int t = threadIdx.x;               \
    s[t] = x[t];                             \
    __syncthreads();                         \
    const float* p = s + 4 * (31 - t % 32);

extern "C" __global__ void words_012(const float* x, float* y) { BEGIN y[t] = p[0] + p[1] * p[2]; }
extern "C" __global__ void words_12(const float* x, float* y) { BEGIN y[t] = p[1] + p[2]; }
extern "C" __global__ void words_02(const float* x, float* y) { BEGIN y[t] = p[0] + p[2]; }
extern "C" __global__ void words_123(const float* x, float* y) { BEGIN y[t] = p[3] + p[2] * p[1]; }
extern "C" __global__ void words_1234(const float* x, float* y) {
    BEGIN y[t] = p[1] + p[2] * p[3] - p[4];
}
extern "C" __global__ void words_012345(const float* x, float* y) {
    BEGIN y[t] = p[0] + p[1] * p[2] - p[3] + p[4] * p[5];
}
extern "C" __global__ void words_of_two_types(const float* x, float* y) {
    BEGIN const int* q = (const int*)p;
    y[t] = p[0] + q[1] * p[2] - q[3];
}

extern "C" __global__ void pairs_and_a_word(const float* x, float* y) {
    __shared__ float2 s[512];
    const int t = threadIdx.x;
    s[t] = make_float2(x[t], x[t + 1]);
    __syncthreads();
    const float2* p = s + 2 * (31 - t % 32);
    y[t] = p[0].x + p[0].y * p[1].x;
}

extern "C" __global__ void doubles(const float* x, float* y) {
    __shared__ double s[512];
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    const double* p = s + 4 * (31 - t % 32);
    y[t] = p[0] + p[1] * p[2];
}

extern "C" __global__ void bytes_and_shorts(const float* x, float* y) {
    __shared__ unsigned char s[512];
    __shared__ short h[512];
    const int t = threadIdx.x;
    s[t] = x[t];
    h[t] = x[t];
    __syncthreads();
    const int at = 4 * (31 - t % 32);
    y[t] = s[at] + s[at + 1] * s[at + 2] - s[at + 3] + h[at] * h[at + 1];
}

extern "C" __global__ void volatile_words(const float* x, float* y) {
    __shared__ float s[512];
    volatile float* v = s;
    const int t = threadIdx.x;
    s[t] = x[t];
    __syncthreads();
    const int at = 4 * (31 - t % 32);
    y[t] = v[at] + v[at + 1] + v[at + 2] + v[at + 3];
}
