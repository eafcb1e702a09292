"""A chain of element-wise operations on several arrays, with a stride over the grid."""

import math

import cuda.tile as ct

SIGNATURE = "bf16 1, bf16 1, bf16 1, bf16 1, f32"
CONSTANTS = {"N": 1024}
SLOPE = math.sqrt(2 / math.pi)


@ct.kernel
def elementwise(x, gate, residual, out, scale, N: ct.Constant[int]):
    for step in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(N,)), ct.num_blocks(0)):
        value = ct.astype(ct.load(x, (step,), shape=(N,)), ct.float32)
        factor = ct.astype(ct.load(gate, (step,), shape=(N,)), ct.float32)
        old = ct.astype(ct.load(residual, (step,), shape=(N,)), ct.float32)
        inner = value * (1.0 + 0.044715 * value * value) * SLOPE
        value = 0.5 * value * (1.0 + ct.tanh(inner)) * factor
        value = ct.where(ct.abs(value) > 1e-3, value * scale, 0.0)
        ct.store(out, (step,), tile=ct.astype(value + old, ct.bfloat16))
