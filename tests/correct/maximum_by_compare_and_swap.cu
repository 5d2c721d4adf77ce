// A float maximum by atomicCAS: the plain looking first read is atomic as well.
// expect: clean
// launch: grid 4, block 32
// args: x float[128] normal; top int[1] zero

extern "C" __global__ void kernel(const float* x, int* top) {
    const float value = x[blockIdx.x * 32 + threadIdx.x];
    int old = atomicAdd(top, 0);
    while (value > __int_as_float(old)) {
        const int seen = atomicCAS(top, old, __float_as_int(value));
        if (seen == old) break;
        old = seen;
    }
}
