// One warp reads or writes global memory: lane k of the first `lanes` touches element
// offset + k * stride. Elements of 8 to 128 bits. The value read is only kept when it is 77,
// which it never is, so that a load kernel makes no store request.

template <typename T>
__device__ float total(T v) { return v; }
template <>
__device__ float total(float2 v) { return v.x + v.y; }
template <>
__device__ float total(float4 v) { return v.x + v.y + v.z + v.w; }

template <typename T>
__device__ void load(const T* x, float* out, int offset, int stride, int lanes) {
    float value = 0.0f;
    if (threadIdx.x < lanes) value = total(x[offset + threadIdx.x * stride]);
    if (value == 77.0f) out[0] = value;
}

template <typename T>
__device__ void store(T* y, T value, int offset, int stride, int lanes) {
    if (threadIdx.x < lanes) y[offset + threadIdx.x * stride] = value;
}

extern "C" __global__ void global_load_8(const unsigned char* x, float* out, int offset,
                                         int stride, int lanes) {
    load(x, out, offset, stride, lanes);
}
extern "C" __global__ void global_load_16(const unsigned short* x, float* out, int offset,
                                          int stride, int lanes) {
    load(x, out, offset, stride, lanes);
}
extern "C" __global__ void global_load_32(const float* x, float* out, int offset,
                                          int stride, int lanes) {
    load(x, out, offset, stride, lanes);
}
extern "C" __global__ void global_load_64(const float2* x, float* out, int offset,
                                          int stride, int lanes) {
    load(x, out, offset, stride, lanes);
}
extern "C" __global__ void global_load_128(const float4* x, float* out, int offset,
                                           int stride, int lanes) {
    load(x, out, offset, stride, lanes);
}
extern "C" __global__ void global_store_8(unsigned char* y, int offset, int stride, int lanes) {
    store(y, (unsigned char)1, offset, stride, lanes);
}
extern "C" __global__ void global_store_16(unsigned short* y, int offset, int stride, int lanes) {
    store(y, (unsigned short)1, offset, stride, lanes);
}
extern "C" __global__ void global_store_32(float* y, int offset, int stride, int lanes) {
    store(y, 1.0f, offset, stride, lanes);
}
extern "C" __global__ void global_store_64(float2* y, int offset, int stride, int lanes) {
    store(y, make_float2(1.0f, 2.0f), offset, stride, lanes);
}
extern "C" __global__ void global_store_128(float4* y, int offset, int stride, int lanes) {
    store(y, make_float4(1.0f, 2.0f, 3.0f, 4.0f), offset, stride, lanes);
}

// The same through the read-only path: ld.global.nc.
extern "C" __global__ void global_load_nc(const float* x, float* out, int offset, int stride,
                                          int lanes) {
    float value = 0.0f;
    if (threadIdx.x < lanes) value = __ldg(x + offset + threadIdx.x * stride);
    if (value == 77.0f) out[0] = value;
}

// Lanes meet at scattered places: lane k reads element (k * factor) % modulus.
extern "C" __global__ void global_load_scattered(const float* x, float* out, int factor,
                                                 int modulus) {
    const float value = x[threadIdx.x * factor % modulus];
    if (value == 77.0f) out[0] = value;
}
