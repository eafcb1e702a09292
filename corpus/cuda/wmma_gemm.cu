// Half-precision gemm on tensor cores through the WMMA interface, a warp per 32x32 tile.
// needs sm_70: tensor cores
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__ void wmma_gemm(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int n,
                                     int k) {
    const int row = (blockIdx.y * blockDim.y + threadIdx.y) * 32, column = blockIdx.x * 32;
    fragment<accumulator, 16, 16, 16, float> sum[2][2];
    for (auto& line : sum)
        for (auto& tile : line) fill_fragment(tile, 0.0f);
    for (int start = 0; start < k; start += 16) {
        fragment<matrix_a, 16, 16, 16, half, row_major> left[2];
        fragment<matrix_b, 16, 16, 16, half, row_major> right[2];
        for (int i = 0; i < 2; ++i) {
            load_matrix_sync(left[i], a + (row + 16 * i) * k + start, k);
            load_matrix_sync(right[i], b + start * n + column + 16 * i, n);
        }
        for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 2; ++j) mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j)
            store_matrix_sync(c + (row + 16 * i) * n + column + 16 * j, sum[i][j], n, mem_row_major);
}
