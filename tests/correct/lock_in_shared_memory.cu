// One thread a warp takes a lock of the block, with fences of the block.
// expect: clean
// launch: grid 2, block 64
// args: y int[2] zero

extern "C" __global__ void kernel(int* y) {
    __shared__ int lock;
    __shared__ int total;
    if (threadIdx.x == 0) {
        lock = 0;
        total = 0;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&lock, 0, 1) != 0) {
        }
        __threadfence_block();
        total += threadIdx.x + 1;
        __threadfence_block();
        atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) y[blockIdx.x] = total;
}
