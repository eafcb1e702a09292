// Texture fetches in one to three dimensions, a gather, and surface reads and writes.
extern "C" __global__ void blur(cudaTextureObject_t image, cudaSurfaceObject_t result, int width, int height, int radius) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    float4 sum = {0, 0, 0, 0};
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx) {
            const float4 pixel = tex2D<float4>(image, x + dx + 0.5f, y + dy + 0.5f);
            sum.x += pixel.x, sum.y += pixel.y, sum.z += pixel.z, sum.w += pixel.w;
        }
    const float scale = 1.0f / ((2 * radius + 1) * (2 * radius + 1));
    surf2Dwrite(make_float4(sum.x * scale, sum.y * scale, sum.z * scale, sum.w * scale), result, x * 16, y);
}

extern "C" __global__ void sample(cudaTextureObject_t line, cudaTextureObject_t image, cudaTextureObject_t volume,
                                  cudaSurfaceObject_t surface, float* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const float at = i * 0.25f;
    const float4 four = tex2Dgather<float4>(image, at, at, 1);
    const float value = tex1Dfetch<float>(line, i) + tex1D<float>(line, at) + tex2DLod<float>(image, at, at, 1.5f) +
                        tex3D<float>(volume, at, at, at) + tex2DGrad<float>(image, at, at, {at, 0}, {0, at});
    out[i] = value + four.x * four.w + surf1Dread<float>(surface, i * 4) + surf2Dread<int>(surface, i * 4, i);
}
