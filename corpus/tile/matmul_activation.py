"""Matrix multiplication with bias, activation and residual behind the loop, in blocks of rows for the cache."""

import cuda.tile as ct

SIGNATURE = "bf16 2, bf16 2, bf16 1, bf16 2, bf16 2"
CONSTANTS = {"M": 128, "N": 256, "K": 64, "GROUP": 8}


@ct.kernel
def matmul_activation(
    a,
    b,
    bias,
    residual,
    c,
    M: ct.Constant[int],
    N: ct.Constant[int],
    K: ct.Constant[int],
    GROUP: ct.Constant[int],
):
    columns = ct.cdiv(b.shape[1], N)
    rows = ct.cdiv(a.shape[0], M)
    block = ct.bid(0)
    group = block // (GROUP * columns)
    height = min(rows - group * GROUP, GROUP)
    row = group * GROUP + block % (GROUP * columns) % height
    column = block % (GROUP * columns) // height
    total = ct.zeros((M, N), dtype=ct.float32)
    for k in range(ct.cdiv(a.shape[1], K)):
        left = ct.load(a, (row, k), shape=(M, K), padding_mode=ct.PaddingMode.ZERO)
        right = ct.load(b, (k, column), shape=(K, N), padding_mode=ct.PaddingMode.ZERO)
        total = ct.mma(left, right, total)
    total = total + ct.astype(ct.load(bias, (column,), shape=(N,)), ct.float32).reshape((1, N))
    gate = 1.0 / (1.0 + ct.exp(-total))
    total = total * gate + ct.astype(ct.load(residual, (row, column), shape=(M, N)), ct.float32)
    ct.store(c, (row, column), tile=ct.astype(total, c.dtype))
