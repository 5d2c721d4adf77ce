// The kernel promises the compiler blocks of at most 128 threads.
// expect: block too large
// launch: grid 1, block 256
// args: y float[256] zero
// gpu: does not launch

extern "C" __global__ void __launch_bounds__(128) kernel(float* y) {
    y[threadIdx.x] = 1.0f;
}
