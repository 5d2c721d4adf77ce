// Atomic operations of one warp: lane k of the first `lanes` acts on element k * stride.

extern "C" __global__ void red_int(int* counts, int stride, int lanes) {
    if (threadIdx.x < lanes) atomicAdd(&counts[threadIdx.x * stride], 1);
}

extern "C" __global__ void red_float(float* sums, int stride, int lanes) {
    if (threadIdx.x < lanes) atomicAdd(&sums[threadIdx.x * stride], 1.0f);
}

// Every lane adds to one place, and the compiler can tell.
extern "C" __global__ void red_uniform(int* counts) { atomicAdd(counts, 1); }

extern "C" __global__ void atom_int(int* counts, int* old, int stride, int lanes) {
    if (threadIdx.x < lanes) {
        old[threadIdx.x] = atomicAdd(&counts[threadIdx.x * stride], 1);
    }
}

extern "C" __global__ void atom_cas(int* counts, int* old, int stride, int lanes) {
    if (threadIdx.x < lanes) {
        old[threadIdx.x] = atomicCAS(&counts[threadIdx.x * stride], 0, 7);
    }
}

extern "C" __global__ void shared_atom_int(int* out, int stride, int lanes) {
    __shared__ int s[1024];
#pragma unroll 1
    for (int k = threadIdx.x; k < 1024; k += 32) s[k] = 0;
    __syncthreads();  // separates the zeros from the additions
    if (threadIdx.x < lanes) atomicAdd(&s[threadIdx.x * stride], 1 + (int)threadIdx.x);
    __syncthreads();  // separates the additions from the read
    out[threadIdx.x] = s[threadIdx.x];
}

extern "C" __global__ void shared_atom_float(float* out, int stride, int lanes) {
    __shared__ float s[1024];
#pragma unroll 1
    for (int k = threadIdx.x; k < 1024; k += 32) s[k] = 0.0f;
    __syncthreads();  // separates the zeros from the additions
    if (threadIdx.x < lanes) atomicAdd(&s[threadIdx.x * stride], 1.0f);
    __syncthreads();  // separates the additions from the read
    out[threadIdx.x] = s[threadIdx.x];
}
