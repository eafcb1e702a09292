// Calls by the ABI: a function that is not inlined, recursion, a function pointer and a virtual-like dispatch.
__device__ __noinline__ float polynomial(float x, const float* coefficients, int degree) {
    float value = 0;
    for (int i = degree; i >= 0; --i) value = value * x + coefficients[i];
    return value;
}

__device__ __noinline__ double blend(double a, double b, int weight) {
    return weight & 1 ? a * b : a / (b + weight);
}

/// Adaptive Simpson integration: two recursive calls, values live across both.
__device__ float integrate(const float* coefficients, float low, float high, int depth) {
    const float middle = 0.5f * (low + high), width = high - low;
    const float ends = polynomial(low, coefficients, 5) + polynomial(high, coefficients, 5);
    const float whole = width / 6 * (ends + 4 * polynomial(middle, coefficients, 5));
    if (depth == 0 || width < 1e-3f * fabsf(whole)) return whole;
    return integrate(coefficients, low, middle, depth - 1) + integrate(coefficients, middle, high, depth - 1);
}

__device__ int twice(int x) { return 2 * x; }
__device__ int square(int x) { return x * x; }
__device__ int negate(int x) { return -x; }
__device__ int (*const operations[])(int) = {twice, square, negate};

extern "C" __global__ void calls(const float* __restrict__ coefficients, float* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    out[i] = integrate(coefficients + 6 * i, 0.0f, 1.0f, 6) + static_cast<float>(blend(out[i], 3.0, i));
}

extern "C" __global__ void indirect_calls(const int* __restrict__ kind, int* __restrict__ data, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    int value = data[i];
    for (int round = 0; round < 4; ++round) value = operations[(kind[i] + round) % 3](value) + round;
    data[i] = value;
}
