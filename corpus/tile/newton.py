"""Reciprocal square roots by Newton's method: a loop that ends when every element has settled, and a running sum."""

import cuda.tile as ct

SIGNATURE = "f32 1, f32 1, f32"
CONSTANTS = {"N": 256}


@ct.kernel
def newton(x, out, limit, N: ct.Constant[int]):
    value = ct.load(x, (ct.bid(0),), shape=(N,))
    root = ct.ones((N,), dtype=ct.float32)
    steps = 0
    while True:
        new = root * (1.5 - 0.5 * value * root * root)
        worst = ct.max(ct.abs(new - root))
        root = new
        steps += 1
        if worst < limit:
            break
        if steps > 50:
            root = ct.zeros((N,), dtype=ct.float32)
            break
    ct.store(out, (ct.bid(0),), tile=ct.cumsum(root))
