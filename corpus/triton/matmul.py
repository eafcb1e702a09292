"""Half-precision matrix multiplication, software pipelined."""

import triton
import triton.language as tl

SIGNATURE = "*fp16, *fp16, *fp16, i32, i32, i32, i32, i32, i32"
CONSTANTS = {"M": 128, "N": 128, "K": 32}
OPTIONS = {"num_warps": 4, "num_stages": 3}


@triton.jit
def matmul(a, b, c, rows, columns, depth, stride_a, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
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
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(c + row[:, None] * stride_c + column[None, :], total.to(tl.float16), mask=mask)
