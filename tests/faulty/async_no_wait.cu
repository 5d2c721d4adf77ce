// The copy is started and nobody waits for it.
// expect: missing cp.async wait, line 23
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero
// gpu: may be silent

__device__ void copy_async(float* to, const float* from) {
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}

__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N>
__device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[64];
    const int tid = threadIdx.x;
    copy_async(&tile[tid], &x[tid]);
    commit();
    __syncthreads();
    y[tid] = tile[tid];
}
