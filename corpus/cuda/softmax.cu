// Row softmax, a warp per row, three passes over values kept in registers.
constexpr int PER = 8;

extern "C" __global__ void softmax(const float* __restrict__ in, float* __restrict__ out, int rows, int columns) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (row >= rows) return;
    float value[PER], most = -INFINITY, sum = 0;
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        const int column = lane + 32 * i;
        value[i] = column < columns ? in[row * columns + column] : -INFINITY;
        most = fmaxf(most, value[i]);
    }
    for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        value[i] = __expf(value[i] - most);
        sum += value[i];
    }
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
#pragma unroll
    for (int i = 0; i < PER; ++i) {
        const int column = lane + 32 * i;
        if (column < columns) out[row * columns + column] = value[i] / sum;
    }
}
