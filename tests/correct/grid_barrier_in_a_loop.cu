// Twenty-five rounds in which every block reads what another wrote in the round before.
// expect: clean
// launch: grid 3, block 64
// args: y int[192] zero; arrived unsigned[1] zero

extern "C" __global__ void kernel(int* y, unsigned* arrived) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int n = gridDim.x * blockDim.x;
    for (unsigned round = 0; round < 25; ++round) {
        const int next = y[(i + 64) % n] + i;
        for (int half = 1; half <= 2; ++half) {
            __syncthreads();
            if (threadIdx.x == 0) {
                __threadfence();
                atomicAdd(arrived, 1u);
                while (*(volatile unsigned*)arrived < (2 * round + half) * gridDim.x) {
                }
                __threadfence();
            }
            __syncthreads();
            if (half == 1) y[i] = next;
        }
    }
}
