"""Transposition, a band of tiles per block."""

import cuda.tile as ct

SIGNATURE = "f32 2, f32 2"
CONSTANTS = {"M": 64, "N": 64}


@ct.kernel
def transpose(x, out, M: ct.Constant[int], N: ct.Constant[int]):
    row = ct.bid(0)
    for column in range(ct.num_tiles(x, axis=1, shape=(M, N))):
        tile = ct.load(x, (row, column), shape=(M, N))
        ct.store(out, (column, row), tile=ct.transpose(tile))
