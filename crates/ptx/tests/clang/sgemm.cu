// fp32: a matrix product with 4 by 4 results per thread, through shared memory.
#include "device.h"

SHARED float left[16][65];
SHARED float right[16][65];

GLOBAL LAUNCH(256) void sgemm(int n, const float *__restrict a, const float *__restrict b, float *__restrict c) {
    int x = thread() & 15, y = thread() >> 4;
    int column = block() * 64, row = block_y() * 64;
    float sum[4][4] = {};
    for (int k = 0; k < n; k += 16) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            left[x][y + 16 * i] = a[(row + y + 16 * i) * n + k + x];
            right[y][x + 16 * i] = b[(k + y) * n + column + x + 16 * i];
        }
        barrier();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            float l[4], r[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                l[j] = left[i][y + 16 * j];
                r[j] = right[i][x + 16 * j];
            }
#pragma unroll
            for (int j = 0; j < 16; j++)
                sum[j / 4][j % 4] += l[j / 4] * r[j % 4];
        }
        barrier();
    }
#pragma unroll
    for (int j = 0; j < 16; j++)
        c[(row + y + 16 * (j / 4)) * n + column + x + 16 * (j % 4)] = sum[j / 4][j % 4];
}
