// A 25-point FP64 stencil (four neighbours each way) that marches through planes: the column is kept in registers, the
// plane in shared memory. Outside the box everything is zero.
constexpr int WIDE = 32, HIGH = 16, REACH = 4;

extern "C" __global__ void __launch_bounds__(WIDE * HIGH)
stencil_f64(const double* __restrict__ in, double* __restrict__ out, int width, int height, int depth, double centre,
            double w1, double w2, double w3, double w4) {
    __shared__ double plane[HIGH + 2 * REACH][WIDE + 2 * REACH];
    const int x = blockIdx.x * WIDE + threadIdx.x, y = blockIdx.y * HIGH + threadIdx.y;
    const int tx = threadIdx.x + REACH, ty = threadIdx.y + REACH;
    const long long size = (long long)width * height;
    const auto at = [&](int px, int py, int pz) {
        const bool inside = px >= 0 && px < width && py >= 0 && py < height && pz < depth;
        return inside ? in[pz * size + (long long)py * width + px] : 0.0;
    };
    double column[2 * REACH + 1];
#pragma unroll
    for (int i = 0; i < REACH; ++i) column[i] = 0.0;
#pragma unroll
    for (int i = 0; i < REACH; ++i) column[REACH + i] = at(x, y, i);
    const double weight[REACH] = {w1, w2, w3, w4};
    for (int z = 0; z < depth; ++z) {
        column[2 * REACH] = at(x, y, z + REACH);
        plane[ty][tx] = column[REACH];
        if (threadIdx.y < REACH) plane[threadIdx.y][tx] = at(x, y - REACH, z);
        if (threadIdx.y >= HIGH - REACH) plane[ty + REACH][tx] = at(x, y + REACH, z);
        if (threadIdx.x < REACH) plane[ty][threadIdx.x] = at(x - REACH, y, z);
        if (threadIdx.x >= WIDE - REACH) plane[ty][tx + REACH] = at(x + REACH, y, z);
        __syncthreads();
        double sum = centre * column[REACH];
#pragma unroll
        for (int i = 1; i <= REACH; ++i)
            sum += weight[i - 1] * (column[REACH - i] + column[REACH + i] + plane[ty - i][tx] + plane[ty + i][tx] +
                                    plane[ty][tx - i] + plane[ty][tx + i]);
        if (x < width && y < height) out[z * size + (long long)y * width + x] = sum;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 2 * REACH; ++i) column[i] = column[i + 1];
    }
}
