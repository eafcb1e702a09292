// A row per warp; columns need not be a multiple of 32, and some entries are masked out.
extern "C" __global__ void kernel(const float* in, const int* mask, float* out, int rows, int cols) {
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* x = in + row * cols;
    const int* keep = mask + row * cols;
    float top = -1e30f;
    for (int c = lane; c < cols; c += 32)
        if (keep[c] & 1) top = fmaxf(top, x[c]);
    for (int d = 16; d; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
    float sum = 0;
    for (int c = lane; c < cols; c += 32)
        if (keep[c] & 1) sum += expf(x[c] - top);
    for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
    float inv = 1.0f / sum;
    for (int c = lane; c < cols; c += 32) out[row * cols + c] = keep[c] & 1 ? expf(x[c] - top) * inv : 0.0f;
}
