// More than 48 KB of static shared memory.
// expect: too much shared memory
// launch: grid 1, block 32
// args: y float[32] zero
// gpu: does not compile

extern "C" __global__ void kernel(float* y) {
    __shared__ float tile[13000];
    tile[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = tile[31 - threadIdx.x];
}
