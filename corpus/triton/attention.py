"""Attention with a running softmax over blocks of keys and values."""

import triton
import triton.language as tl

SIGNATURE = "*fp16, *fp16, *fp16, *fp16, i32, fp32"
CONSTANTS = {"M": 64, "N": 64, "WIDTH": 64}
OPTIONS = {"num_warps": 4, "num_stages": 2}


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr):
    head = tl.program_id(1) * length * WIDTH
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.arange(0, N)
    width = tl.arange(0, WIDTH)
    query = tl.load(q + head + row[:, None] * WIDTH + width[None, :])
    most = tl.full((M,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((M,), dtype=tl.float32)
    total = tl.zeros((M, WIDTH), dtype=tl.float32)
    for start in range(0, length, N):
        at = head + (start + column) * WIDTH
        key = tl.load(k + at[None, :] + width[:, None])
        score = tl.dot(query, key) * scale
        score = tl.where(row[:, None] >= (start + column)[None, :], score, -float("inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        part = tl.exp2(score - higher[:, None])
        correction = tl.exp2(most - higher)
        weight = weight * correction + tl.sum(part, 1)
        value = tl.load(v + at[:, None] + width[None, :])
        total = tl.dot(part.to(tl.float16), value, total * correction[:, None])
        most = higher
    tl.store(out + head + row[:, None] * WIDTH + width[None, :], (total / weight[:, None]).to(tl.float16))
