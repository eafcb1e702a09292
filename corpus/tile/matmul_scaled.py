"""Matrix multiplication of FP8 values with a scale for every 32 of them."""
# needs sm_100: scales inside the matrix unit

import cuda.tile as ct

SIGNATURE = "e4m3 2, e8m0 2, e4m3 2, e8m0 2, f32 2"
CONSTANTS = {"M": 128, "N": 128, "K": 128}
BLOCK = 32


@ct.kernel
def matmul_scaled(a, scale_a, b, scale_b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.num_tiles(a, axis=1, shape=(M, K))):
        left = ct.load(a, (row, k), shape=(M, K))
        left_scale = ct.load(scale_a, (row, k), shape=(M, K // BLOCK))
        right = ct.load(b, (k, column), shape=(K, N), order="F")
        right_scale = ct.load(scale_b, (k, column), shape=(K // BLOCK, N), order="F")
        total = ct.mma_scaled(left, left_scale, right, right_scale, total)
    ct.store(c, (row, column), tile=total)
