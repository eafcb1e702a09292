"""Matrix multiplication where every block computes several tiles: a loop around the loop."""

import cuda.tile as ct

SIGNATURE = "f16 2, f16 2, f16 2"
CONSTANTS = {"M": 128, "N": 128, "K": 64}


@ct.kernel(occupancy=1)
def matmul_persistent(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    rows = ct.cdiv(a.shape[0], M)
    columns = ct.cdiv(b.shape[1], N)
    steps = ct.cdiv(a.shape[1], K)
    for tile in range(ct.bid(0), rows * columns, ct.num_blocks(0)):
        row, column = tile // columns, tile % columns
        total = ct.zeros((M, N), dtype=ct.float32)
        for k in range(steps):
            left = ct.load(a, (row, k), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
            right = ct.load(b, (k, column), shape=(K, N), padding_mode=ct.PaddingMode.ZERO)
            total = ct.mma(left, right, total)
        ct.store(c, (row, column), tile=ct.astype(total, c.dtype))
