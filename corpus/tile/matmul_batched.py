"""A matrix multiplication for every element of a batch."""

import cuda.tile as ct

SIGNATURE = "bf16 3, bf16 3, bf16 3"
CONSTANTS = {"M": 128, "N": 64, "K": 64}


@ct.kernel
def matmul_batched(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column, batch = ct.bid(0), ct.bid(1), ct.bid(2)
    total = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=2, shape=(1, M, K))):
        left = ct.load(a, (batch, row, k), shape=(1, M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (batch, k, column), shape=(1, K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left.reshape((M, K)), right.reshape((K, N)), total)
    ct.store(c, (batch, row, column), tile=ct.astype(total, c.dtype).reshape((1, M, N)))
