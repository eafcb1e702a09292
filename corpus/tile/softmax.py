"""Softmax of long rows in two passes: the first finds maximum and sum together."""

import math

import cuda.tile as ct

SIGNATURE = "f32 2, f32 2"
CONSTANTS = {"ROWS": 4, "N": 1024}


@ct.kernel
def softmax(x, out, ROWS: ct.Constant[int], N: ct.Constant[int]):
    row = ct.bid(0)
    steps = ct.num_tiles(x, axis=1, shape=(ROWS, N))
    largest = ct.full((ROWS, 1), -math.inf, dtype=ct.float32)
    total = ct.zeros((ROWS, 1), dtype=ct.float32)
    for step in range(steps):
        part = ct.load(x, (row, step), shape=(ROWS, N), padding_mode=ct.PaddingMode.NEG_INF)
        new_largest = ct.maximum(largest, ct.max(part, axis=1, keepdims=True))
        total = total * ct.exp(largest - new_largest) + ct.sum(ct.exp(part - new_largest), axis=1, keepdims=True)
        largest = new_largest
    for step in range(steps):
        part = ct.load(x, (row, step), shape=(ROWS, N), padding_mode=ct.PaddingMode.NEG_INF)
        ct.store(out, (row, step), tile=ct.exp(part - largest) / total)
