// Atomic operations of one warp at any place: lane k acts on element index[k].

extern "C" __global__ void red_at(int* counts, const int* index) {
    atomicAdd(&counts[index[threadIdx.x]], 1 + (int)threadIdx.x);
}

extern "C" __global__ void shared_atom_at(int* out, const int* index) {
    __shared__ int s[1024];
#pragma unroll 1
    for (int k = threadIdx.x; k < 1024; k += 32) s[k] = 0;
    __syncthreads();  // separates the zeros from the additions
    atomicAdd(&s[index[threadIdx.x]], 1 + (int)threadIdx.x);
    __syncthreads();  // separates the additions from the read
    out[threadIdx.x] = s[threadIdx.x];
}

// Adding a plain 1 has an instruction of its own, which counts lanes before it adds.
extern "C" __global__ void shared_inc_at(int* out, const int* index) {
    __shared__ int s[1024];
#pragma unroll 1
    for (int k = threadIdx.x; k < 1024; k += 32) s[k] = 0;
    __syncthreads();  // separates the zeros from the additions
    atomicAdd(&s[index[threadIdx.x]], 1);
    __syncthreads();  // separates the additions from the read
    out[threadIdx.x] = s[threadIdx.x];
}
