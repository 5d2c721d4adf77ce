// Small whole kernels: rows of a padded and an unpadded tile, transposes, a matrix product, a
// histogram. What the assembler merges, and what padding is really worth.

template <int PITCH>
__device__ void row_sums(const float* x, float* y) {
    __shared__ float s[32][PITCH];
    for (int k = 0; k < 32; k++) s[k][threadIdx.x] = x[32 * k + threadIdx.x];
    __syncthreads();  // separates the columns' writes from the rows' reads
    float sum = 0.0f;
    for (int k = 0; k < 32; k++) sum += s[threadIdx.x][k];
    y[threadIdx.x] = sum;
}

extern "C" __global__ void row_sums_32(const float* x, float* y) { row_sums<32>(x, y); }
extern "C" __global__ void row_sums_33(const float* x, float* y) { row_sums<33>(x, y); }

// A thread writes and reads four neighbours, which the assembler may join.
extern "C" __global__ void four_neighbours(const float* x, float* y) {
    __shared__ float s[512];
    const int at = 4 * threadIdx.x;
    const float value = x[threadIdx.x];
    for (int k = 0; k < 4; k++) s[at + k] = value + k;
    __syncthreads();  // separates a thread's four writes from its mirror image's reads
    const int other = 4 * (blockDim.x - 1 - threadIdx.x);
    y[threadIdx.x] = s[other] + s[other + 1] * s[other + 2] - s[other + 3];
}

extern "C" __global__ void transpose_plain(const float* x, float* y, int n) {
    const int row = blockIdx.y * 32 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    for (int k = 0; k < 32; k += 8) y[(size_t)col * n + row + k] = x[(size_t)(row + k) * n + col];
}

template <int PITCH>
__device__ void transpose(const float* x, float* y, int n) {
    __shared__ float tile[32][PITCH];
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    for (int k = threadIdx.y; k < 32; k += 8) {
        tile[k][threadIdx.x] = x[(size_t)(y0 + k) * n + x0 + threadIdx.x];
    }
    __syncthreads();  // separates the rows' writes from the columns' reads
    for (int k = threadIdx.y; k < 32; k += 8) {
        y[(size_t)(x0 + k) * n + y0 + threadIdx.x] = tile[threadIdx.x][k];
    }
}

extern "C" __global__ void transpose_32(const float* x, float* y, int n) { transpose<32>(x, y, n); }
extern "C" __global__ void transpose_33(const float* x, float* y, int n) { transpose<33>(x, y, n); }

extern "C" __global__ void product(const float* a, const float* b, float* c, int n) {
    __shared__ float ta[16][16], tb[16][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 16 + ty, col = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int k0 = 0; k0 < n; k0 += 16) {
        ta[ty][tx] = a[row * n + k0 + tx];
        tb[ty][tx] = b[(k0 + ty) * n + col];
        __syncthreads();  // separates the tiles' writes from their reads
        for (int k = 0; k < 16; k++) sum += ta[ty][k] * tb[k][tx];
        __syncthreads();  // separates these reads from the next round's writes
    }
    c[row * n + col] = sum;
}

extern "C" __global__ void histogram(const int* keys, int* counts, int n) {
    __shared__ int bins[64];
    if (threadIdx.x < 64) bins[threadIdx.x] = 0;
    __syncthreads();  // separates the zeros from the additions
    const int step = gridDim.x * blockDim.x;
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += step) {
        atomicAdd(&bins[keys[k] & 63], 1);
    }
    __syncthreads();  // separates the additions from the read
    if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}
