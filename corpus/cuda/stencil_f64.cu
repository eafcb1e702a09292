// A seven-point FP64 stencil that marches through planes, and a Jacobi step with division and square root.
extern "C" __global__ void stencil_f64(const double* __restrict__ in, double* __restrict__ out, int width, int height,
                                       int depth, double centre, double side) {
    __shared__ double plane[18][34];
    const int x = blockIdx.x * 32 + threadIdx.x + 1, y = blockIdx.y * 16 + threadIdx.y + 1;
    const int size = width * height, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    int at = y * width + x + size;
    double below = in[at - size], here = in[at], above;
    for (int z = 1; z < depth - 1; ++z, at += size) {
        above = in[at + size];
        plane[ty][tx] = here;
        if (threadIdx.y == 0) plane[0][tx] = in[at - width];
        if (threadIdx.y == 15) plane[17][tx] = in[at + width];
        if (threadIdx.x == 0) plane[ty][0] = in[at - 1];
        if (threadIdx.x == 31) plane[ty][33] = in[at + 1];
        __syncthreads();
        out[at] = centre * here + side * (below + above + plane[ty - 1][tx] + plane[ty + 1][tx] + plane[ty][tx - 1] +
                                          plane[ty][tx + 1]);
        __syncthreads();
        below = here;
        here = above;
    }
}

extern "C" __global__ void rotations_f64(const double* __restrict__ a, double* __restrict__ angle, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const double p = a[3 * i], q = a[3 * i + 1], r = a[3 * i + 2];
    const double theta = (r - p) / (2.0 * q);
    const double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
    angle[i] = fmin(t, 8.0) * rsqrt(t * t + 1.0) + static_cast<double>(static_cast<float>(p)) + exp(q);
}
