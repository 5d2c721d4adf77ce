// A lock around a plain read, change and write; fences keep them inside.
// expect: clean
// launch: grid 6, block 32
// args: lock int[1] zero; total int[1] zero

extern "C" __global__ void kernel(int* lock, int* total) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) {
        }
        __threadfence();
        total[0] = total[0] + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
