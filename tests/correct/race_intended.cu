// A hint that may be late: the reader copes with either value, and the line says so.
// expect: clean
// launch: grid 1, block 64
// args: x float[64] normal; y float[64] zero; hint int[1] zero

extern "C" __global__ void kernel(const float* x, float* y, int* hint) {
    const int tid = threadIdx.x;
    if (tid == 40) hint[0] = tid;  // race: intended, a late hint costs time and nothing else
    const int seen = hint[0];
    y[tid] = seen >= 0 ? x[tid] : 0.0f;
}
