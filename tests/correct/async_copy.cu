// Start, commit, wait, meet, read.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

__device__ void copy_async(float* to, const float* from) {
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float tile[64];
    const int tid = threadIdx.x, i = blockIdx.x * 64 + tid;
    copy_async(&tile[tid], &x[i]);
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    y[i] = tile[63 - tid];
}
