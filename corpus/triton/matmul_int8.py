"""Integer matrix multiplication with a scale per row, the result in half precision."""

import triton
import triton.language as tl

# needs sm_80: Triton has no integer tensor cores before
SIGNATURE = "*i8, *i8, *fp16, *fp32, i32, i32, i32"
CONSTANTS = {"M": 64, "N": 64, "K": 64}
OPTIONS = {"num_warps": 4, "num_stages": 3}


@triton.jit
def matmul_int8(a, b, c, scale, depth, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.int32)
    for start in range(0, depth, K):
        left = tl.load(a + row[:, None] * depth + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] * stride_b + column[None, :])
        total = tl.dot(left, right, total)
    scaled = total.to(tl.float32) * tl.load(scale + row)[:, None]
    tl.store(c + row[:, None] * stride_c + column[None, :], scaled.to(tl.float16))
