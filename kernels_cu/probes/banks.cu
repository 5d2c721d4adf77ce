// Probe: what one shared-memory load of a warp costs in wavefronts.
//
// Parallel: one thread a row of a tile; each reads the same column of its own row.
// Change:   `pitch` is how many elements of 32, 64 or 128 bits a row is long (32, or 33 with
//           padding), `sharing` how many neighbours read the same row; with `swizzle` 31 (else 0)
//           row r keeps column c at c ^ r.
// Launch:   grid 1, block 32, dynamic shared (31 * pitch + 32) elements.
// Input:    column 0 to 31; y of 32 elements.
// Traffic:  reads of x: 0, writes of y: 1.

extern __shared__ float4 memory[];

// y[tid] = the element of the tile that thread tid reads.
template <typename T>
__device__ void read_column(T* y, int pitch, int column, int sharing, int swizzle) {
    T* tile = reinterpret_cast<T*>(memory);
    for (int i = threadIdx.x; i < 31 * pitch + 32; i += 32) tile[i] = T();
    __syncthreads();  // separates the writes above from another thread's read below
    const int row = threadIdx.x / sharing;
    const int place = column ^ (row & swizzle);
    y[threadIdx.x] = tile[row * pitch + place];
}

extern "C" __global__ void banks_32(float* y, int pitch, int column, int sharing, int swizzle) {
    read_column(y, pitch, column, sharing, swizzle);
}

extern "C" __global__ void banks_64(float* y, int pitch, int column, int sharing, int swizzle) {
    read_column(reinterpret_cast<float2*>(y), pitch, column, sharing, swizzle);
}

extern "C" __global__ void banks_128(float* y, int pitch, int column, int sharing, int swizzle) {
    read_column(reinterpret_cast<float4*>(y), pitch, column, sharing, swizzle);
}
