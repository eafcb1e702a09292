// Prices of Asian options by simulation: Philox counters, Box-Muller, a path per thread, two sums per block.
__device__ inline uint4 philox(uint4 counter, uint2 key) {
#pragma unroll
    for (int i = 0; i < 10; ++i) {
        const unsigned h0 = __umulhi(0xD2511F53u, counter.x), l0 = 0xD2511F53u * counter.x;
        const unsigned h1 = __umulhi(0xCD9E8D57u, counter.z), l1 = 0xCD9E8D57u * counter.z;
        counter = make_uint4(h1 ^ counter.y ^ key.x, l1, h0 ^ counter.w ^ key.y, l0);
        key.x += 0x9E3779B9u;
        key.y += 0xBB67AE85u;
    }
    return counter;
}

extern "C" __global__ void __launch_bounds__(256)
montecarlo(const float* __restrict__ strikes, float* __restrict__ sums, float* __restrict__ squares, int paths, int steps,
           float drift, float spread, unsigned seed) {
    __shared__ float shared[2][8];
    const int own = blockIdx.x * 256 + threadIdx.x;
    const float strike = strikes[blockIdx.x];
    float payoff = 0;
    if (own < paths) {
        float log_price = 0, mean = 0;
        for (int i = 0; i < steps; i += 4) {
            const uint4 bits = philox(make_uint4(own, i, 0, 0), make_uint2(seed, 0x1234567));
            const float u0 = (bits.x + 0.5f) * 2.3283064e-10f, u1 = (bits.z + 0.5f) * 2.3283064e-10f;
            const float r0 = sqrtf(-2.0f * __logf(u0)), r1 = sqrtf(-2.0f * __logf(u1));
            float normal[4];
            __sincosf(bits.y * 1.4629180e-9f, &normal[0], &normal[1]);
            __sincosf(bits.w * 1.4629180e-9f, &normal[2], &normal[3]);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (i + j >= steps) continue;
                log_price += drift + spread * (j < 2 ? r0 : r1) * normal[j];
                mean += __expf(log_price);
            }
        }
        payoff = fmaxf(mean / steps - strike, 0.0f);
    }
    float sum = payoff, square = payoff * payoff;
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(~0u, sum, step);
        square += __shfl_xor_sync(~0u, square, step);
    }
    if (threadIdx.x % 32 == 0) shared[0][threadIdx.x / 32] = sum, shared[1][threadIdx.x / 32] = square;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; ++i) sum += shared[0][i], square += shared[1][i];
        sums[blockIdx.x] = sum;
        squares[blockIdx.x] = square;
    }
}
