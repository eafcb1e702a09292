"""Matrix multiplication whose depth is split over blocks, added up by atomics."""

import cuda.tile as ct

SIGNATURE = "f32 2, f32 2, f32 2"
CONSTANTS = {"M": 64, "N": 64, "K": 32}


@ct.kernel(num_ctas=1, occupancy=2)
def matmul_split_k(a, b, c, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    total = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.bid(2), ct.num_tiles(a, axis=1, shape=(M, K)), ct.num_blocks(2)):
        left = ct.load(a, (row, k), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, column), shape=(K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(ct.astype(left, ct.tfloat32), ct.astype(right, ct.tfloat32), total)
    rows = row * M + ct.arange(M, dtype=ct.int32).reshape((M, 1))
    columns = column * N + ct.arange(N, dtype=ct.int32).reshape((1, N))
    ct.atomic_add(c, (rows, columns), total, memory_order=ct.MemoryOrder.RELAXED)
