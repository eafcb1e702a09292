"""Row softmax, a program per row."""

import triton
import triton.language as tl

SIGNATURE = "*fp32, *fp32, i32, i32"
CONSTANTS = {"BLOCK": 2048}


@triton.jit
def softmax(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * stride + at, mask=mask, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride + at, value / tl.sum(value, axis=0), mask=mask)
