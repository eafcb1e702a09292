// A nine-point stencil in double precision with a wall where the mask says so.
extern "C" __global__ void kernel(const double* in, const int* wall, double* out, int w, int h, double centre, double edge) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    double sum = centre * in[y * w + x];
#pragma unroll
    for (int dy = -1; dy <= 1; dy++)
#pragma unroll
        for (int dx = -1; dx <= 1; dx++) {
            if (!dx && !dy) continue;
            int xx = x + dx, yy = y + dy;
            bool inside = xx >= 0 && xx < w && yy >= 0 && yy < h;
            double v = inside ? in[yy * w + xx] : 0.0;
            double weight = dx && dy ? edge * 0.5 : edge;
            if (inside && (wall[yy * w + xx] & 1)) weight = -weight;
            sum = fma(weight, v, sum);
        }
    out[y * w + x] = sum / (1.0 + fabs(sum));
}
