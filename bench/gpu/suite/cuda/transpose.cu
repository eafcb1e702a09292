// Transposition of floats through a padded 32x33 tile.
extern "C" __global__ void __launch_bounds__(256)
transpose(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (x < width && y + i < height) tile[threadIdx.y + i][threadIdx.x] = in[(long long)(y + i) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (x < height && y + i < width) out[(long long)(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}
