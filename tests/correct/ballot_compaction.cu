// A warp packs its survivors: one atomic a warp, and a place for each lane by ballot.
// expect: clean
// launch: grid 2, block 64
// args: x int[128] below 3; y int[128] zero; count int[1] zero

extern "C" __global__ void kernel(const int* x, int* y, int* count) {
    const int value = x[blockIdx.x * blockDim.x + threadIdx.x];
    const int lane = threadIdx.x % 32;
    const unsigned mask = __ballot_sync(0xffffffff, value == 1);
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(mask));
    base = __shfl_sync(0xffffffff, base, 0);
    if (value == 1) y[base + __popc(mask & ((1u << lane) - 1))] = value;
}
