// cp.async: global to shared memory past the registers, 4, 8 or 16 bytes a lane; lane k copies
// piece k * stride of x to piece k.

__device__ void finish() {
    asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // separates the copies from the other lanes' reads
}

__device__ unsigned place(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

extern "C" __global__ void async_4(const float* x, float* out, int stride) {
    __shared__ float s[32];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place(s + threadIdx.x)),
                 "l"(x + threadIdx.x * stride) : "memory");
    finish();
    out[threadIdx.x] = s[31 - threadIdx.x];
}

extern "C" __global__ void async_8(const float* x, float* out, int stride) {
    __shared__ float2 s[32];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(place(s + threadIdx.x)),
                 "l"(x + 2 * threadIdx.x * stride) : "memory");
    finish();
    out[threadIdx.x] = s[31 - threadIdx.x].x + s[31 - threadIdx.x].y;
}

extern "C" __global__ void async_16(const float* x, float* out, int stride) {
    __shared__ float4 s[32];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(s + threadIdx.x)),
                 "l"(x + 4 * threadIdx.x * stride) : "memory");
    finish();
    const float4 v = s[31 - threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
}
