"""Attention, backward: the gradients of keys and values of a block, four matrix products per step."""

import math

import cuda.tile as ct

SIGNATURE = "f16 3, f16 3, f16 3, f16 3, f32 2, f32 2, f16 3, f16 3, f32"
CONSTANTS = {"M": 64, "N": 64, "D": 64}
LOG2_E = 1 / math.log(2)


@ct.kernel
def attention_backward(
    q,
    k,
    v,
    grad_out,
    log_sum,
    delta,
    grad_k,
    grad_v,
    scale,
    M: ct.Constant[int],
    N: ct.Constant[int],
    D: ct.Constant[int],
):
    column, head = ct.bid(0), ct.bid(1)
    keys = ct.load(k, (head, column, 0), shape=(1, N, D)).reshape((N, D))
    values = ct.load(v, (head, column, 0), shape=(1, N, D)).reshape((N, D))
    to_keys = ct.zeros((N, D), dtype=ct.float32)
    to_values = ct.zeros((N, D), dtype=ct.float32)
    for step in range(ct.cdiv(q.shape[1], M)):
        query = ct.load(q, (head, step, 0), shape=(1, M, D)).reshape((M, D))
        grad = ct.load(grad_out, (head, step, 0), shape=(1, M, D)).reshape((M, D))
        logs = ct.load(log_sum, (head, step), shape=(1, M))
        deltas = ct.load(delta, (head, step), shape=(1, M))
        scores = ct.mma(keys, ct.transpose(query), ct.zeros((N, M), dtype=ct.float32))
        weights = ct.exp2(scores * (scale * LOG2_E) - logs, flush_to_zero=True)
        to_values = ct.mma(ct.astype(weights, ct.float16), grad, to_values)
        products = ct.mma(values, ct.transpose(grad), ct.zeros((N, M), dtype=ct.float32))
        to_scores = weights * (products - deltas)
        to_keys = ct.mma(ct.astype(to_scores, ct.float16), query, to_keys)
    ct.store(grad_k, (head, column, 0), tile=ct.astype(to_keys * scale, ct.float16).reshape((1, N, D)))
    ct.store(grad_v, (head, column, 0), tile=ct.astype(to_values, ct.float16).reshape((1, N, D)))
