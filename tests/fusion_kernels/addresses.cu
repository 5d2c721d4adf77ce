// How far an alignment can be proved through the arithmetic of an address.

#define USE(at)              \
    const int q = (at);      \
    y[t] = s[q] + s[q + 1] * s[q + 2] - s[q + 3];
#define BEGIN                  \
    __shared__ float s[2048];  \
    const int t = threadIdx.x; \
    s[t] = y[t];               \
    __syncthreads();

extern "C" __global__ void at_a_multiple(float* y, const int* i) { BEGIN USE(i[t] * 12) }
extern "C" __global__ void at_twice_an_odd(float* y, const int* i) { BEGIN USE(i[t] * 6) }
extern "C" __global__ void at_a_mask(float* y, const int* i) { BEGIN USE(i[t] & 0x7c) }
extern "C" __global__ void at_a_choice(float* y, int n) { BEGIN USE(t < n ? 4 * t : 8 * n) }
extern "C" __global__ void at_a_minimum(float* y, int n) { BEGIN USE(min(4 * t, 8 * n)) }
extern "C" __global__ void at_a_sum(float* y, int n) { BEGIN USE(4 * t + 16 * n) }
extern "C" __global__ void at_an_xor(float* y, int n) { BEGIN USE((4 * t) ^ (16 * n)) }
extern "C" __global__ void at_a_uniform_place(float* y, int n) { BEGIN USE(4 * n) }

extern "C" __global__ void behind_twelve_bytes(float* y) {
    __shared__ float small[3], s[512];
    const int t = threadIdx.x;
    small[t % 3] = y[t + 9];
    s[t] = y[t];
    __syncthreads();
    USE(4 * (31 - t % 32))
    y[t] += small[(t + 1) % 3];
}

extern "C" __global__ void behind_24_bytes(float* y) {
    __shared__ float small[6], s[512];
    const int t = threadIdx.x;
    small[t % 6] = y[t + 9];
    s[t] = y[t];
    __syncthreads();
    USE(4 * (31 - t % 32))
    y[t] += small[(t + 1) % 6];
}
