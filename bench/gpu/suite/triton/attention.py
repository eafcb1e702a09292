"""Causal attention with a running softmax over blocks of keys and values; the length need not be a multiple of a block."""

import triton
import triton.language as tl

SIGNATURE = "*fp16, *fp16, *fp16, *fp16, i32, fp32"
CONSTANTS = {"M": 128, "N": 64, "WIDTH": 64}
OPTIONS = {"num_warps": 4, "num_stages": 2}
UNALIGNED = ["length"]


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr):
    head = tl.program_id(1).to(tl.int64) * length * WIDTH
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.arange(0, N)
    width = tl.arange(0, WIDTH)
    query = tl.load(q + head + row[:, None] * WIDTH + width[None, :], mask=row[:, None] < length, other=0.0)
    most = tl.full((M,), -float("inf"), dtype=tl.float32)
    weight = tl.zeros((M,), dtype=tl.float32)
    total = tl.zeros((M, WIDTH), dtype=tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * M, length)
    for start in range(0, end, N):
        place = start + column
        key = tl.load(k + head + place[None, :] * WIDTH + width[:, None], mask=place[None, :] < length, other=0.0)
        score = tl.dot(query, key) * scale
        score = tl.where((row[:, None] >= place[None, :]) & (place[None, :] < length), score, -float("inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        part = tl.exp2(score - higher[:, None])
        correction = tl.exp2(most - higher)
        weight = weight * correction + tl.sum(part, 1)
        value = tl.load(v + head + place[:, None] * WIDTH + width[None, :], mask=place[:, None] < length, other=0.0)
        total = tl.dot(part.to(tl.float16), value, total * correction[:, None])
        most = higher
    result = (total / weight[:, None]).to(tl.float16)
    tl.store(out + head + row[:, None] * WIDTH + width[None, :], result, mask=row[:, None] < length)
