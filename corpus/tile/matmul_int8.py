"""Integer matrix multiplication whose weights are unpacked from nibbles in the loop."""

import cuda.tile as ct

SIGNATURE = "i8 2, i8 2, i32 2"
CONSTANTS = {"M": 64, "N": 128, "K": 64}


@ct.kernel
def matmul_int8(a, packed, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    low_total = ct.zeros((M, N), dtype=ct.int32)
    high_total = ct.zeros((M, N), dtype=ct.int32)
    for k in range(ct.num_tiles(packed, axis=0, shape=(K, N))):
        both = ct.load(packed, (k, column), shape=(K, N), padding_mode=ct.PaddingMode.ZERO)
        low = (both << 4) >> 4
        high = both >> 4
        even = ct.load(a, (row, 2 * k), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
        odd = ct.load(a, (row, 2 * k + 1), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
        low_total = ct.mma(even, low, low_total)
        high_total = ct.mma(odd, high, high_total)
    ct.store(c, (row, column), tile=low_total + high_total)
