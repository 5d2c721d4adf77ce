// A block has at most 1024 threads.
// expect: block too large
// launch: grid 1, block 2048
// args: y float[2048] zero
// gpu: does not launch

extern "C" __global__ void kernel(float* y) {
    y[threadIdx.x] = 1.0f;
}
