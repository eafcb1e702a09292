// European options, calls or puts by a bit of the input.
__device__ float cdf(float d) {
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
    float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    float value = 0.39894228f * expf(-0.5f * d * d) * poly;
    return d > 0 ? 1.0f - value : value;
}

extern "C" __global__ void kernel(const float* price, const float* strike, const float* years, float* out, int n,
                                  float rate, float volatility) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float s = price[i], x = strike[i], t = years[i];
        float root = sqrtf(t);
        float d1 = (logf(s / x) + (rate + 0.5f * volatility * volatility) * t) / (volatility * root);
        float d2 = d1 - volatility * root;
        float discount = expf(-rate * t);
        float call = s * cdf(d1) - x * discount * cdf(d2);
        bool put = __float_as_int(s) & 1;
        out[i] = put ? call - s + x * discount : call;
    }
}
