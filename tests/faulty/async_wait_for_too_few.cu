// wait_group 1 lets the newest group fly, which is the one that is read.
// expect: missing cp.async wait, line 27
// launch: grid 1, block 64
// args: x float[128] normal; y float[64] zero
// gpu: may be silent

__device__ void copy_async(float* to, const float* from) {
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}

__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int N>
__device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory"); }

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[2][64];
    const int tid = threadIdx.x;
    copy_async(&tile[0][tid], &x[tid]);
    commit();
    copy_async(&tile[1][tid], &x[64 + tid]);
    commit();
    wait<1>();
    __syncthreads();
    y[tid] = tile[0][tid] +
             tile[1][tid];
}
