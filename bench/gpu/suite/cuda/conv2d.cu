// A 5x5 convolution over several channels into one, with ReLU: 32x32 outputs per block, four per thread, zero outside.
constexpr int TILE = 32, REACH = 2, SIZE = 2 * REACH + 1, HALO = TILE + 2 * REACH;

extern "C" __global__ void __launch_bounds__(256)
conv2d(const float* __restrict__ in, const float* __restrict__ filter, float* __restrict__ out, int width, int height,
       int channels, float bias) {
    __shared__ float tile[HALO][HALO + 1];
    const int x0 = blockIdx.x * TILE, y0 = blockIdx.y * TILE, tx = threadIdx.x, ty = threadIdx.y;
    float sum[4] = {bias, bias, bias, bias};
    for (int channel = 0; channel < channels; ++channel) {
        const float* image = in + (long long)channel * width * height;
        for (int i = ty * 32 + tx; i < HALO * HALO; i += 256) {
            const int x = x0 + i % HALO - REACH, y = y0 + i / HALO - REACH;
            const bool inside = x >= 0 && x < width && y >= 0 && y < height;
            tile[i / HALO][i % HALO] = inside ? image[(long long)y * width + x] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int dx = 0; dx < SIZE; ++dx) {
            float column[4 + SIZE - 1];
#pragma unroll
            for (int i = 0; i < 4 + SIZE - 1; ++i) column[i] = tile[ty * 4 + i][tx + dx];
#pragma unroll
            for (int dy = 0; dy < SIZE; ++dy) {
                const float weight = filter[(channel * SIZE + dy) * SIZE + dx];
#pragma unroll
                for (int i = 0; i < 4; ++i) sum[i] = fmaf(weight, column[i + dy], sum[i]);
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int x = x0 + tx, y = y0 + ty * 4 + i;
        if (x < width && y < height) out[(long long)y * width + x] = fmaxf(sum[i], 0.0f);
    }
}
