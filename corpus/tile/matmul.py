"""Half-precision matrix multiplication: a product of tiles per step of the loop."""

import cuda.tile as ct

SIGNATURE = "f16 2, f16 2, f16 2"
CONSTANTS = {"M": 128, "N": 128, "K": 64}


@ct.kernel
def matmul(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (row, k), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, column), shape=(K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    ct.store(c, (row, column), tile=ct.astype(total, c.dtype))
