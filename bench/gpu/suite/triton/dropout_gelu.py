"""GELU (tanh form) and dropout in one pass, the mask from Philox; what is dropped is written too."""

import triton
import triton.language as tl

SIGNATURE = "*fp16, *fp16, *i8, i32, fp32, i32"
CONSTANTS = {"BLOCK": 1024}
UNALIGNED = ["seed"]


@triton.jit
def dropout_gelu(x, out, kept, count, probability, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    value = tl.load(x + at, mask=mask).to(tl.float32)
    inner = 0.7978845608 * (value + 0.044715 * value * value * value)
    # tanh(inner) as 1 - 2 / (exp(2 inner) + 1): right for both infinities of exp.
    gelu = 0.5 * value * (2.0 - 2.0 / (tl.exp(2.0 * inner) + 1.0))
    keep = tl.rand(seed, at) > probability
    tl.store(out + at, tl.where(keep, gelu / (1.0 - probability), 0.0).to(tl.float16), mask=mask)
    tl.store(kept + at, keep.to(tl.int8), mask=mask)
