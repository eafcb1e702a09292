"""Half-precision matrix multiplication, software pipelined, with programs grouped for the L2 cache."""

import triton
import triton.language as tl

SIGNATURE = "*fp16, *fp16, *fp16, i32, i32, i32, i32, i32, i32"
CONSTANTS = {"M": 128, "N": 256, "K": 64, "GROUP": 8}
OPTIONS = {"num_warps": 8, "num_stages": 3}
UNALIGNED = ["rows"]


@triton.jit
def matmul(
    a, b, c, rows, columns, depth, stride_a, stride_b, stride_c,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr,
):
    program = tl.program_id(0)
    down = tl.cdiv(rows, M)
    across = tl.cdiv(columns, N)
    group = program // (GROUP * across)
    size = min(down - group * GROUP, GROUP)
    at_row = group * GROUP + program % (GROUP * across) % size
    at_column = program % (GROUP * across) // size
    row = (at_row * M + tl.arange(0, M)) % rows
    column = (at_column * N + tl.arange(0, N)) % columns
    k = tl.arange(0, K)
    a += row[:, None] * stride_a + k[None, :]
    b += k[:, None] * stride_b + column[None, :]
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, tl.cdiv(depth, K)):
        left = tl.load(a, mask=k[None, :] < depth - start * K, other=0.0)
        right = tl.load(b, mask=k[:, None] < depth - start * K, other=0.0)
        total = tl.dot(left, right, total)
        a += K
        b += K * stride_b
    row = at_row * M + tl.arange(0, M)
    column = at_column * N + tl.arange(0, N)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(c + row[:, None] * stride_c + column[None, :], total.to(tl.float16), mask=mask)
