// Sphere tracing of repeated spheres over a wavy floor: a divergent loop with sine, square root and selects, then
// shading from the gradient.
struct Vec {
    float x, y, z;
};

__device__ inline float distance(Vec p, float radius) {
    const float qx = p.x - 4.0f * floorf(p.x * 0.25f + 0.5f), qz = p.z - 4.0f * floorf(p.z * 0.25f + 0.5f);
    const float ball = sqrtf(qx * qx + p.y * p.y + qz * qz) - radius;
    const float floor = p.y + 1.0f + 0.2f * __sinf(p.x) * __sinf(p.z);
    const float h = fminf(fmaxf(0.5f + 0.5f * (floor - ball), 0.0f), 1.0f);
    return floor + (ball - floor) * h - h * (1.0f - h) * 0.5f;
}

extern "C" __global__ void __launch_bounds__(256)
raymarch(const float* __restrict__ jitter, float* __restrict__ shade, int* __restrict__ steps, int width, int height,
         float radius, float tilt, int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const int at = py * width + px;
    const float u = (2.0f * px - width) / height, v = (height - 2.0f * py) / height + tilt;
    const float inverse = rsqrtf(u * u + v * v + 2.25f);
    const Vec ray = {u * inverse, v * inverse, 1.5f * inverse};
    float t = jitter[at], step = 1.0f;
    Vec p = {2, 1, 0};
    int i = 0;
    for (; i < limit && step > 1e-3f * t && t < 40.0f; ++i) {
        p = {2.0f + ray.x * t, 1.0f + ray.y * t, ray.z * t};
        step = distance(p, radius);
        t += 0.7f * step;
    }
    float light = 0.5f + 0.5f * ray.y;
    if (t < 40.0f) {
        const float e = 1e-2f, d = distance(p, radius);
        const float gx = distance({p.x + e, p.y, p.z}, radius) - d, gy = distance({p.x, p.y + e, p.z}, radius) - d,
                    gz = distance({p.x, p.y, p.z + e}, radius) - d;
        const float lit = (0.4f * gx + 0.8f * gy - 0.4f * gz) * rsqrtf(gx * gx + gy * gy + gz * gz + 1e-12f);
        light = fmaxf(lit, 0.1f) * __expf(-0.05f * t);
    }
    shade[at] = light;
    steps[at] = i;
}
