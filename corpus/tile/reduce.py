"""Sum and maximum of a long vector: a loop per block, a reduction of our own, atomics at the end."""

import math

import cuda.tile as ct

SIGNATURE = "f32 1, f32 1, i32 1"
CONSTANTS = {"N": 2048}


@ct.kernel
def reduce(x, total_out, peaks, N: ct.Constant[int]):
    total = ct.zeros((N,), dtype=ct.float32)
    largest = ct.full((N,), -math.inf, dtype=ct.float32)
    count = 0
    for step in range(ct.bid(0), ct.num_tiles(x, axis=0, shape=(N,)), ct.num_blocks(0)):
        part = ct.load(x, (step,), shape=(N,), padding_mode=ct.PaddingMode.ZERO)
        total += part
        largest = ct.maximum(largest, part)
        if ct.max(part) > 1.0:
            count += 1
    whole, peak = ct.reduce((total, largest), 0, lambda a, b, c, d: (a + c, max(b, d)), (0.0, -math.inf))
    ct.atomic_add(total_out, 0, whole)
    if peak > 0.0:
        ct.atomic_max(peaks, 0, count)
