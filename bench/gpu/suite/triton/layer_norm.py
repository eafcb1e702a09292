"""Layer norm over rows longer than a block."""

import triton
import triton.language as tl

SIGNATURE = "*fp16, *fp16, *fp16, *fp16, i32, i32, fp32"
CONSTANTS = {"BLOCK": 1024}
UNALIGNED = ["width"]


@triton.jit
def layer_norm(x, gain, bias, out, stride, width, epsilon, BLOCK: tl.constexpr):
    x += tl.program_id(0) * stride
    out += tl.program_id(0) * stride
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < width, other=0.0).to(tl.float32)
    mean = tl.sum(total) / width
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + at, mask=at < width, other=0.0).to(tl.float32)
        value = tl.where(at < width, value - mean, 0.0)
        squares += value * value
    scale = tl.rsqrt(tl.sum(squares) / width + epsilon)
    for start in range(0, width, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < width
        value = (tl.load(x + at, mask=mask).to(tl.float32) - mean) * scale
        value = value * tl.load(gain + at, mask=mask) + tl.load(bias + at, mask=mask)
        tl.store(out + at, value.to(tl.float16), mask=mask)
