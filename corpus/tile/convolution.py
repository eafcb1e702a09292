"""A 3 x 3 convolution as a matrix product: pixels are gathered, a step of the inner loop is a block of channels."""

import cuda.tile as ct

SIGNATURE = "f16 4, f16 2, f16 2"
CONSTANTS = {"M": 64, "N": 64, "K": 32}
WIDTH = 3


@ct.kernel
def convolution(x, weights, out, M: ct.Constant[int], N: ct.Constant[int], K: ct.Constant[int]):
    row, column = ct.bid(0), ct.bid(1)
    height, width, channels = x.shape[1], x.shape[2], x.shape[3]
    pixel = row * M + ct.arange(M, dtype=ct.int32).reshape((M, 1))
    image = pixel // (height * width)
    y = pixel % (height * width) // width
    z = pixel % width
    steps = ct.cdiv(channels, K)
    total = ct.zeros((M, N), dtype=ct.float32)
    for tap in range(WIDTH * WIDTH):
        from_y = y + tap // WIDTH - 1
        from_z = z + tap % WIDTH - 1
        for step in range(steps):
            channel = step * K + ct.arange(K, dtype=ct.int32).reshape((1, K))
            left = ct.gather(x, (image, from_y, from_z, channel))
            right = ct.load(weights, (tap * steps + step, column), shape=(K, N))
            total = ct.mma(left, right, total)
    ct.store(out, (row, column), tile=ct.astype(total, ct.float16))
