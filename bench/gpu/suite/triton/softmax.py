"""Row softmax, a program per row. Rows start at multiples of 16, but how long they are is not known to be one: masked
accesses are single elements, four to a thread side by side."""

import triton
import triton.language as tl

SIGNATURE = "*fp32, *fp32, i32, i32, i32"
CONSTANTS = {"BLOCK": 2048}
UNALIGNED = ["columns"]


@triton.jit
def softmax(out, x, stride_x, stride_out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    value = tl.load(x + row * stride_x + at, mask=mask, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * stride_out + at, value / tl.sum(value, axis=0), mask=mask)
