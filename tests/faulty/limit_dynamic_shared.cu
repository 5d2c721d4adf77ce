// 300 KB of dynamic shared memory are more than any block gets.
// expect: too much shared memory
// launch: grid 1, block 32, shared 300000
// args: y float[32] zero
// gpu: does not launch

extern "C" __global__ void kernel(float* y) {
    extern __shared__ float stage[];
    stage[threadIdx.x] = threadIdx.x;
    __syncthreads();
    y[threadIdx.x] = stage[31 - threadIdx.x];
}
