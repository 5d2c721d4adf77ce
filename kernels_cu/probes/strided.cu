// Probe: what one load of a warp costs in sectors, by width, stride and offset of its elements.
//
// Parallel: one thread an element of 16, 32, 64 or 128 bits, `stride` elements after its
//           neighbour's, the first of them `offset` floats into x.
// Launch:   grid 1, block 32, dynamic shared 0 bytes.
// Input:    x of `offset` floats and 31 * stride + 1 elements, y of 32 elements. A GPU faults
//           unless each address is a multiple of the element's own size.
// Traffic:  reads of x: 1, writes of y: 1.

// y[tid] = element tid * stride, counted from `offset` floats into x.
template <typename T>
__device__ void strided(const float* x, float* y, int stride, int offset) {
    const T* from = reinterpret_cast<const T*>(x + offset);
    T* to = reinterpret_cast<T*>(y);
    to[threadIdx.x] = from[threadIdx.x * stride];
}

extern "C" __global__ void strided_16(const float* x, float* y, int stride, int offset) {
    strided<unsigned short>(x, y, stride, offset);
}

extern "C" __global__ void strided_32(const float* x, float* y, int stride, int offset) {
    strided<float>(x, y, stride, offset);
}

extern "C" __global__ void strided_64(const float* x, float* y, int stride, int offset) {
    strided<float2>(x, y, stride, offset);
}

extern "C" __global__ void strided_128(const float* x, float* y, int stride, int offset) {
    strided<float4>(x, y, stride, offset);
}
