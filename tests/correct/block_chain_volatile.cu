// The same with volatile flags.
// expect: clean
// launch: grid 6, block 32
// args: parts int[6] zero; flags int[6] zero

extern "C" __global__ void kernel(int* parts, volatile int* flags) {
    if (threadIdx.x == 0) {
        int carried = 1;
        if (blockIdx.x > 0) {
            while (flags[blockIdx.x - 1] == 0) {
            }
            __threadfence();
            carried += parts[blockIdx.x - 1];
        }
        parts[blockIdx.x] = carried;
        __threadfence();
        flags[blockIdx.x] = 1;
    }
}
