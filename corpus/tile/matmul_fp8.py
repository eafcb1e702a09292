"""Matrix multiplication of FP8 values, with scales per row and column behind the loop."""
# needs sm_89: FP8

import cuda.tile as ct

SIGNATURE = "e4m3 2, e4m3 2, f32 1, f32 1, bf16 2"
CONSTANTS = {"M": 128, "N": 128, "K": 128}


@ct.kernel
def matmul_fp8(a, b, scale_a, scale_b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (row, k), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
        # The right matrix is stored with its columns together, as FP8 units want it.
        right = ct.load(b, (k, column), shape=(K, N), order="F", padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    rows = ct.load(scale_a, (row,), shape=(M,)).reshape((M, 1))
    columns = ct.load(scale_b, (column,), shape=(N,)).reshape((1, N))
    ct.store(c, (row, column), tile=ct.astype(total * rows * columns, c.dtype))
