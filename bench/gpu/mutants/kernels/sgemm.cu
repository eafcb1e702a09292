// C = A·B with 64×64 tiles, 4×4 per thread; no dimension need be a multiple of the tile.
extern "C" __global__ void __launch_bounds__(256) kernel(const float* a, const float* b, float* c, int m, int n, int k) {
    __shared__ float as[8][65], bs[8][65];
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += 8) {
        for (int i = threadIdx.x; i < 512; i += 256) {
            int r = i / 8, kk = i % 8;
            as[kk][r] = row0 + r < m && k0 + kk < k ? a[(row0 + r) * k + k0 + kk] : 0.0f;
            int kb = i / 64, cc = i % 64;
            bs[kb][cc] = col0 + cc < n && k0 + kb < k ? b[(k0 + kb) * n + col0 + cc] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 8; kk++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] += as[kk][ty * 4 + i] * bs[kk][tx * 4 + j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int r = row0 + ty * 4 + i, q = col0 + tx * 4 + j;
            if (r < m && q < n) c[r * n + q] = sum[i][j];
        }
}
