"""Attention, forward: softmax on the fly between two matrix products."""

import math

import cuda.tile as ct

SIGNATURE = "f16 4, f16 4, f16 4, f16 4, f32"
CONSTANTS = {"M": 128, "N": 64, "D": 64}
LOG2_E = 1 / math.log(2)


@ct.kernel
def attention(q, k, v, out, scale, M: ct.Constant[int], N: ct.Constant[int], D: ct.Constant[int]):
    row, head, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    scale = scale * LOG2_E
    query = ct.load(q, (batch, head, row, 0), shape=(1, 1, M, D)).reshape((M, D))
    largest = ct.full((M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((M, 1), dtype=ct.float32)
    total = ct.zeros((M, D), dtype=ct.float32)
    for step in range(ct.cdiv(k.shape[2], N)):
        keys = ct.load(k, (batch, head, 0, step), shape=(1, 1, D, N), order=(0, 1, 3, 2)).reshape((D, N))
        scores = ct.mma(query, keys, ct.zeros((M, N), dtype=ct.float32))
        new_largest = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True) * scale)
        scores = ct.exp2(scores * scale - new_largest, flush_to_zero=True)
        shrink = ct.exp2(largest - new_largest, flush_to_zero=True)
        weight = weight * shrink + ct.sum(scores, axis=1, keepdims=True)
        values = ct.load(v, (batch, head, step, 0), shape=(1, 1, N, D)).reshape((N, D))
        total = ct.mma(ct.astype(scores, ct.float16), values, total * shrink)
        largest = new_largest
    result = ct.astype(total / weight, ct.float16)
    ct.store(out, (batch, head, row, 0), tile=result.reshape((1, 1, M, D)))
