// Every block adds to one total with a load and a store.
// expect: race between blocks, line 10
// launch: grid 4, block 32
// args: x float[128] normal; total float[1] zero
// gpu: silent, racecheck watches shared memory only

extern "C" __global__ void kernel(const float* x, float* total) {
    float sum = x[blockIdx.x * 32 + threadIdx.x];
    for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffffffff, sum, k);
    if (threadIdx.x == 0) total[0] += sum;
}
