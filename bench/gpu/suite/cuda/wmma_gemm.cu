// C = A B, half in and float out, with the warp matrix interface: 128x128 tiles, depth 32, 64x32 results per warp.
// m and n multiples of 16, k of 32.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

constexpr int TILE = 128, DEPTH = 32, PITCH_A = DEPTH + 8, PITCH_B = TILE + 8;

extern "C" __global__ void __launch_bounds__(256)
wmma_gemm(const half* __restrict__ a, const half* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
    __shared__ __align__(32) half tile_a[TILE][PITCH_A], tile_b[DEPTH][PITCH_B];
    const int thread = threadIdx.x, warp = thread / 32, warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) wmma::fill_fragment(sum[i][j], 0.0f);
    const half* from_a[2];
    const half* from_b[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        from_a[i] = a + (long long)min(row0 + thread / 4 + i * 64, m - 1) * k + thread % 4 * 8;
        from_b[i] = b + (long long)(thread / 16 + i * 16) * n + min(column0 + thread % 16 * 8, n - 8);
    }
    uint4 next_a[2], next_b[2];
    const auto load = [&](int start) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            next_a[i] = *reinterpret_cast<const uint4*>(from_a[i] + start);
            next_b[i] = *reinterpret_cast<const uint4*>(from_b[i] + (long long)start * n);
        }
    };
    load(0);
    for (int start = 0; start < k; start += DEPTH) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            *reinterpret_cast<uint4*>(&tile_a[thread / 4 + i * 64][thread % 4 * 8]) = next_a[i];
            *reinterpret_cast<uint4*>(&tile_b[thread / 16 + i * 16][thread % 16 * 8]) = next_b[i];
        }
        __syncthreads();
        if (start + DEPTH < k) load(start + DEPTH);
#pragma unroll
        for (int d = 0; d < DEPTH; d += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left[4];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> right[2];
#pragma unroll
            for (int i = 0; i < 4; ++i) wmma::load_matrix_sync(left[i], &tile_a[warp_row + i * 16][d], PITCH_A);
#pragma unroll
            for (int j = 0; j < 2; ++j) wmma::load_matrix_sync(right[j], &tile_b[d][warp_column + j * 16], PITCH_B);
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const int row = row0 + warp_row + i * 16, column = column0 + warp_column + j * 16;
            if (row < m && column < n)
                wmma::store_matrix_sync(&c[(long long)row * n + column], sum[i][j], n, wmma::mem_row_major);
        }
}
