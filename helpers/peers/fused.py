"""A fused softmax in Triton: one program a row, the whole row in its registers.

Only `torches.triton_fused` imports this: Triton must be there, and its functions must stand in a
file.
"""

import triton
import triton.language as tl

__all__ = ["block_for", "softmax"]

LONGEST = 131072  # elements: 32 warps with 128 a thread; longer rows no longer fit into registers
A_THREAD = 16  # elements a thread takes while there are warps to add


@triton.jit
def softmax_rows(x, y, cols, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * cols
    col = tl.arange(0, BLOCK)
    inside = col < cols
    row = tl.load(x + first + col, mask=inside, other=float("-inf")).to(tl.float32)
    exponentials = tl.exp(row - tl.max(row, axis=0))
    result = exponentials / tl.sum(exponentials, axis=0)
    tl.store(y + first + col, result.to(y.dtype.element_ty), mask=inside)


def block_for(cols: int) -> int:
    """The power of two that holds a row; ValueError where no program can."""
    if cols > LONGEST:
        raise ValueError(f"a row of {cols} does not fit into one program; up to {LONGEST} do")
    return triton.next_power_of_2(cols)


def softmax(x, y):
    """y = softmax(x), both 2-D contiguous tensors on the GPU."""
    rows, cols = x.shape
    block = block_for(cols)
    warps = min(32, max(1, block // (32 * A_THREAD)))
    softmax_rows[(rows,)](x, y, cols, BLOCK=block, num_warps=warps)
    return y
