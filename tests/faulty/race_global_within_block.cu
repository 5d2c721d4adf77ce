// Global memory is no different: the neighbour's element may not be there yet.
// expect: race between warps, line 10
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero; z float[128] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(const float* x, float* y, float* z) {
    const int first = blockIdx.x * blockDim.x;
    const int tid = threadIdx.x;
    y[first + tid] = x[first + tid];
    z[first + tid] = y[first + 63 - tid];
}
