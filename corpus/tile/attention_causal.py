"""Attention, forward, where a query sees no later key: the loop ends early and masks only where it must."""

import math

import cuda.tile as ct

SIGNATURE = "bf16 3, bf16 3, bf16 3, bf16 3, f32 2, f32"
CONSTANTS = {"M": 128, "N": 128, "D": 128}
LOG2_E = 1 / math.log(2)


@ct.kernel
def attention_causal(q, k, v, out, log_sum, scale, M: ct.Constant[int], N: ct.Constant[int], D: ct.Constant[int]):
    row, head = ct.bid(0), ct.bid(1)
    scale = scale * LOG2_E
    query = ct.load(q, (head, row, 0), shape=(1, M, D)).reshape((M, D))
    largest = ct.full((M, 1), -math.inf, dtype=ct.float32)
    weight = ct.zeros((M, 1), dtype=ct.float32)
    total = ct.zeros((M, D), dtype=ct.float32)
    own = row * M + ct.arange(M, dtype=ct.int32).reshape((M, 1))
    for step in range(min(ct.cdiv((row + 1) * M, N), ct.cdiv(k.shape[1], N))):
        keys = ct.load(k, (head, 0, step), shape=(1, D, N), order=(0, 2, 1), latency=2).reshape((D, N))
        scores = ct.mma(query, keys, ct.zeros((M, N), dtype=ct.float32))
        if (step + 1) * N > row * M:
            other = step * N + ct.arange(N, dtype=ct.int32).reshape((1, N))
            scores = ct.where(own >= other, scores, -math.inf)
        new_largest = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True) * scale)
        scores = ct.exp2(scores * scale - new_largest, flush_to_zero=True)
        shrink = ct.exp2(largest - new_largest, flush_to_zero=True)
        weight = weight * shrink + ct.sum(scores, axis=1, keepdims=True)
        values = ct.load(v, (head, step, 0), shape=(1, N, D), latency=4).reshape((N, D))
        total = ct.mma(ct.astype(scores, ct.bfloat16), values, total * shrink)
        largest = new_largest
    ct.store(out, (head, row, 0), tile=ct.astype(total / weight, ct.bfloat16).reshape((1, M, D)))
    ct.store(log_sum, (head, row), tile=(largest + ct.log2(weight)).reshape((1, M)))
