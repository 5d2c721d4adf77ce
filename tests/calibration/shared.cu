// One warp reads or writes shared memory by a given pattern: index[lane] is the element each lane
// touches, -1 for a lane that sits out. Elements of 32, 64 or 128 bits, 1024 of them.

__device__ void fill(float& v, float x) { v = x; }
__device__ void fill(float2& v, float x) { v = make_float2(x, x); }
__device__ void fill(float4& v, float x) { v = make_float4(x, x, x, x); }
__device__ float total(float v) { return v; }
__device__ float total(float2 v) { return v.x + v.y; }
__device__ float total(float4 v) { return v.x + v.y + v.z + v.w; }

template <typename T>
__device__ void load(const int* index, float* out) {
    __shared__ T s[1024];
    T value;
#pragma unroll 1
    for (int k = threadIdx.x; k < 1024; k += 32) {
        fill(value, k);
        s[k] = value;
    }
    __syncthreads();  // separates the writes above from the pattern's reads
    const int i = index[threadIdx.x];
    fill(value, 0.0f);
    if (i >= 0) value = s[i];
    out[threadIdx.x] = total(value);
}

template <typename T>
__device__ void store(const int* index, float* out) {
    __shared__ T s[1024];
    T value;
    const int i = index[threadIdx.x];
    fill(value, i);
    if (i >= 0) s[i] = value;
    __syncthreads();  // separates the pattern's writes from the reads below
    out[threadIdx.x] = i >= 0 ? total(s[i]) : 0.0f;
}

extern "C" __global__ void shared_load_32(const int* index, float* out) { load<float>(index, out); }
extern "C" __global__ void shared_load_64(const int* index, float* out) { load<float2>(index, out); }
extern "C" __global__ void shared_load_128(const int* index, float* out) {
    load<float4>(index, out);
}
extern "C" __global__ void shared_store_32(const int* index, float* out) {
    store<float>(index, out);
}
extern "C" __global__ void shared_store_64(const int* index, float* out) {
    store<float2>(index, out);
}
extern "C" __global__ void shared_store_128(const int* index, float* out) {
    store<float4>(index, out);
}
