// Option prices: exp, log, sqrt and division, once accurate and once with the fast approximations.
__device__ inline float normal(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    const float tail = 0.39894228f * expf(-0.5f * d * d) * k *
                       (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    return d > 0 ? 1.0f - tail : tail;
}

extern "C" __global__ void black_scholes(const float* __restrict__ spot, const float* __restrict__ strike,
                                         const float* __restrict__ years, float* __restrict__ call,
                                         float* __restrict__ put, float rate, float volatility, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float root = sqrtf(years[i]);
        const float d1 =
            (logf(spot[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root);
        const float d2 = d1 - volatility * root, discount = expf(-rate * years[i]);
        const float value = spot[i] * normal(d1) - strike[i] * discount * normal(d2);
        call[i] = value;
        put[i] = value + strike[i] * discount - spot[i];
    }
}

extern "C" __global__ void implied_drift(const float* __restrict__ spot, const float* __restrict__ strike,
                                         float* __restrict__ out, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    float s, c;
    __sincosf(spot[i], &s, &c);
    out[i] = __fdividef(__logf(spot[i]), strike[i]) + __expf(s) * __powf(c, 3.0f) + tanhf(spot[i]);
}
