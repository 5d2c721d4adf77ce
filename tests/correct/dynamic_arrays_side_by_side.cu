// Three arrays in one dynamic allocation, none over the other.
// expect: clean
// launch: grid 2, block 64, shared 768
// args: x float[128] normal; y float[128] zero

extern "C" __global__ void kernel(const float* x, float* y) {
    extern __shared__ float pool[];
    float* first = pool;
    float* second = pool + 64;
    int* third = reinterpret_cast<int*>(pool + 128);
    const int tid = threadIdx.x, i = blockIdx.x * 64 + tid;
    first[tid] = x[i];
    second[tid] = 2.0f * x[i];
    third[tid] = tid;
    __syncthreads();
    y[i] = first[63 - tid] + second[third[tid ^ 1]];
}
