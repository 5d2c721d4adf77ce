// A volatile flag says that the part is there, and nothing makes it so.
// expect: race between blocks, line 15
// launch: grid 6, block 32
// args: parts int[6] zero; flags int[6] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(int* parts, volatile int* flags) {
    if (threadIdx.x == 0) {
        int carried = 1;
        if (blockIdx.x > 0) {
            while (flags[blockIdx.x - 1] == 0) {
            }
            carried += parts[blockIdx.x - 1];
        }
        parts[blockIdx.x] = carried;
        flags[blockIdx.x] = 1;
    }
}
