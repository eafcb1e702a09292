"""FP8 matrix multiplication, FP32 results."""

import triton
import triton.language as tl

# needs sm_89: FP8 tensor cores
SIGNATURE = "*fp8e4nv, *fp8e4nv, *fp32, i32, i32, i32"
CONSTANTS = {"M": 128, "N": 64, "K": 64}
OPTIONS = {"num_warps": 4, "num_stages": 3}


@triton.jit
def matmul_fp8(a, b, c, depth, stride_b, stride_c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, depth, K):
        left = tl.load(a + row[:, None] * depth + start + k[None, :])
        right = tl.load(b + (start + k)[:, None] + column[None, :] * stride_b)
        total = tl.dot(left, right, total)
    tl.store(c + row[:, None] * stride_c + column[None, :], total)
