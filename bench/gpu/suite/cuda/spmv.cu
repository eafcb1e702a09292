// y = A x + beta y0 with A sparse (CSR), a warp per row; rows differ in length and may be empty.
extern "C" __global__ void __launch_bounds__(256)
spmv(const int* __restrict__ starts, const int* __restrict__ columns, const float* __restrict__ values,
     const float* __restrict__ x, const float* __restrict__ y0, float* __restrict__ y, int rows, float beta) {
    const int row = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const int end = starts[row + 1];
    float sum = 0;
    for (int i = starts[row] + lane; i < end; i += 32) sum = fmaf(values[i], __ldg(x + columns[i]), sum);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
    if (lane == 0) y[row] = fmaf(beta, y0[row], sum);
}
