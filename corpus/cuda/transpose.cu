// Matrix transposition through a padded tile, for floats and for bytes.
template <typename T>
__device__ inline void transpose(const T* __restrict__ in, T* __restrict__ out, int width, int height) {
    __shared__ T tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (x < width && y + i < height) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
#pragma unroll
    for (int i = 0; i < 32; i += 8)
        if (x < height && y + i < width) out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
}

extern "C" __global__ void transpose_floats(const float* in, float* out, int width, int height) {
    transpose(in, out, width, height);
}

extern "C" __global__ void transpose_bytes(const unsigned char* in, unsigned char* out, int width, int height) {
    transpose(in, out, width, height);
}
