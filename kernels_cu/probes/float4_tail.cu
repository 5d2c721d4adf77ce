// Probe: y = x with float4s and a scalar tail but no head. Wrong on purpose.
//
// Parallel: over rows, one block a row, and over columns, one thread every blockDim.x-th float4.
// Change:   from V3, the scalar head is gone: every row is taken to begin on 16 bytes, which holds
//           only where x and y do and cols % 4 == 0. Elsewhere a GPU stops: "misaligned address".
// Launch:   grid rows, block 32 (any number of threads), dynamic shared 0 bytes.
// Input:    float32, rows one after another, each of them on a multiple of 16 bytes.
// Traffic:  reads of x: 1, writes of y: 1.

extern "C" __global__ void float4_tail(const float* x, float* y, int rows, int cols) {
    const size_t row = blockIdx.x;  // 64-bit, so row * cols cannot wrap
    const int tid = threadIdx.x;
    const float* x_row = x + row * cols;
    float* y_row = y + row * cols;
    const float4* x_quads = reinterpret_cast<const float4*>(x_row);
    float4* y_quads = reinterpret_cast<float4*>(y_row);
    const int quads = cols / 4;

    for (int quad = tid; quad < quads; quad += blockDim.x) y_quads[quad] = x_quads[quad];
    for (int col = 4 * quads + tid; col < cols; col += blockDim.x) y_row[col] = x_row[col];
}
