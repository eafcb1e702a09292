// Escape times: a divergent loop without memory accesses, in FP32 and FP64.
template <typename T>
__device__ inline int escape(T cx, T cy, int limit) {
    T x = 0, y = 0;
    int i = 0;
    for (; i < limit && x * x + y * y <= T(4); ++i) {
        const T next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
    }
    return i;
}

extern "C" __global__ void mandelbrot(int* __restrict__ out, int width, int height, float scale, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = escape<float>(x * scale - 2.0f, y * scale - 1.0f, limit);
}

extern "C" __global__ void mandelbrot_f64(int* __restrict__ out, int width, int height, double scale, int limit) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = escape<double>(x * scale - 2.0, y * scale - 1.0, limit);
}
