// Tiles of 16 threads reduce and synchronise by themselves.
// expect: clean
// launch: grid 2, block 64
// args: x float[128] normal; y float[128] zero

#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void kernel(const float* x, float* y) {
    __shared__ float slots[64];
    const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    const int tid = threadIdx.x;
    float sum = x[blockIdx.x * 64 + tid];
    for (int k = 8; k > 0; k /= 2) sum += tile.shfl_xor(sum, k);
    slots[tid] = sum;
    tile.sync();
    y[blockIdx.x * 64 + tid] = slots[tid ^ 8];
}
