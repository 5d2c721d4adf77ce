// A stencil in place: a block reads the edge that its neighbour writes.
// expect: race between blocks, line 12
// launch: grid 4, block 32
// args: x float[128] normal; n int 128
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(float* x, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float right = i + 1 < n ? x[i + 1] : 0.0f;
    const float own = x[i];
    __syncthreads();
    x[i] = 0.5f * (own + right);
}
