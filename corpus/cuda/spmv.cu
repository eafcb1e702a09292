// Sparse matrix times vector (CSR): a warp per long row, a thread per short row.
extern "C" __global__ void spmv_warp(const int* __restrict__ starts, const int* __restrict__ columns,
                                     const float* __restrict__ values, const float* __restrict__ x, float* __restrict__ y,
                                     int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0;
    for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * __ldg(x + columns[i]);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void spmv_thread(const int* __restrict__ starts, const int* __restrict__ columns,
                                       const double* __restrict__ values, const double* __restrict__ x,
                                       double* __restrict__ y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum = fma(values[i], x[columns[i]], sum);
    y[row] += sum;
}
