// Escape times and the last magnitude: a divergent loop without memory accesses.
extern "C" __global__ void __launch_bounds__(256)
mandelbrot(int* __restrict__ times, float* __restrict__ last, int width, int height, float left, float top, float scale,
           int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const float cx = left + px * scale, cy = top + py * scale;
    float x = 0, y = 0, xx = 0, yy = 0;
    int i = 0;
    for (; i < limit && xx + yy <= 4.0f; ++i) {
        y = 2 * x * y + cy;
        x = xx - yy + cx;
        xx = x * x;
        yy = y * y;
    }
    times[py * width + px] = i;
    last[py * width + px] = xx + yy;
}
