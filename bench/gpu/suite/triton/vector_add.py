"""Masked vector addition."""

import triton
import triton.language as tl

SIGNATURE = "*fp32, *fp32, *fp32, i32"
CONSTANTS = {"BLOCK": 1024}


@triton.jit
def vector_add(x, y, out, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)
