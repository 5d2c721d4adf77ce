// Two stages: while one is read, the next is on its way.
// expect: clean
// launch: grid 2, block 32
// args: x float[256] normal; y float[256] zero

__device__ void copy_async(float* to, const float* from) {
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place), "l"(from) : "memory");
}

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float stage[2][32];
    const int tid = threadIdx.x;
    const float* from = x + blockIdx.x * 128;
    copy_async(&stage[0][tid], from + tid);
    asm volatile("cp.async.commit_group;" ::: "memory");
    for (int k = 0; k < 4; ++k) {
        if (k < 3) copy_async(&stage[(k + 1) % 2][tid], from + 32 * (k + 1) + tid);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        y[blockIdx.x * 128 + 32 * k + tid] = stage[k % 2][31 - tid];
        __syncthreads();
    }
}
