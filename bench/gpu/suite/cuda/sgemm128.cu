// C = alpha A B in FP32, row major: 128x128 tiles, depth 8, 8x8 results per thread, two buffers in shared memory.
// Any m, n a multiple of 4, k of 8: rows and columns past the end are loaded from the last ones and not stored.
constexpr int TILE = 128, DEPTH = 8;

extern "C" __global__ void __launch_bounds__(256, 2)
sgemm128(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k, float alpha) {
    __shared__ __align__(16) float tile_a[2][DEPTH][TILE + 4], tile_b[2][DEPTH][TILE];
    const int thread = threadIdx.x, tx = thread % 16 * 4, ty = thread / 16 * 4;
    const int row0 = blockIdx.y * TILE, column0 = blockIdx.x * TILE;
    const int load_row = thread / 2, load_depth = thread % 2 * 4, depth_b = thread / 32, load_column = thread % 32 * 4;
    const float* from_a = a + (long long)min(row0 + load_row, m - 1) * k + load_depth;
    const float* from_b = b + (long long)depth_b * n + min(column0 + load_column, n - 4);
    float sum[8][8] = {};

    float4 next_a = *reinterpret_cast<const float4*>(from_a), next_b = *reinterpret_cast<const float4*>(from_b);
    const auto store = [&](int buffer) {
        tile_a[buffer][load_depth + 0][load_row] = next_a.x;
        tile_a[buffer][load_depth + 1][load_row] = next_a.y;
        tile_a[buffer][load_depth + 2][load_row] = next_a.z;
        tile_a[buffer][load_depth + 3][load_row] = next_a.w;
        *reinterpret_cast<float4*>(&tile_b[buffer][depth_b][load_column]) = next_b;
    };
    store(0);
    __syncthreads();
    int buffer = 0;
    for (int start = DEPTH;; start += DEPTH) {
        const bool more = start < k;
        if (more) {
            from_a += DEPTH;
            from_b += (long long)DEPTH * n;
            next_a = *reinterpret_cast<const float4*>(from_a);
            next_b = *reinterpret_cast<const float4*>(from_b);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; ++d) {
            float left[8], right[8];
            *reinterpret_cast<float4*>(left) = *reinterpret_cast<const float4*>(&tile_a[buffer][d][ty]);
            *reinterpret_cast<float4*>(left + 4) = *reinterpret_cast<const float4*>(&tile_a[buffer][d][ty + 64]);
            *reinterpret_cast<float4*>(right) = *reinterpret_cast<const float4*>(&tile_b[buffer][d][tx]);
            *reinterpret_cast<float4*>(right + 4) = *reinterpret_cast<const float4*>(&tile_b[buffer][d][tx + 64]);
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] = fmaf(left[i], right[j], sum[i][j]);
        }
        if (!more) break;
        buffer ^= 1;
        store(buffer);
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int row = row0 + ty + i % 4 + i / 4 * 64;
#pragma unroll
        for (int j = 0; j < 8; j += 4) {
            const int column = column0 + tx + j * 16;
            if (row < m && column < n)
                *reinterpret_cast<float4*>(&c[(long long)row * n + column]) =
                    make_float4(alpha * sum[i][j], alpha * sum[i][j + 1], alpha * sum[i][j + 2], alpha * sum[i][j + 3]);
        }
    }
}
