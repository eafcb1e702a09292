// Prices of European options, one per turn of a grid-stride loop; streams from and to DRAM.
__device__ inline float normal(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float tail = 0.39894228f * expf(-0.5f * d * d) * k *
                       (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void blackscholes(const float* __restrict__ spot, const float* __restrict__ strike,
                                        const float* __restrict__ years, float* __restrict__ call,
                                        float* __restrict__ put, float rate, float volatility, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float s = spot[i], x = strike[i], t = years[i], root = sqrtf(t);
        const float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        const float d2 = d1 - volatility * root, discounted = x * expf(-rate * t);
        const float value = s * normal(d1) - discounted * normal(d2);
        call[i] = value;
        put[i] = value + discounted - s;
    }
}
