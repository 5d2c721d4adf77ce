// The lock keeps the others out, and no fence keeps the write in.
// expect: race between blocks, line 11
// launch: grid 6, block 32
// args: lock int[1] zero; total int[1] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(int* lock, int* total) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        total[0] = total[0] + 1;
        atomicExch(lock, 0);
    }
}
