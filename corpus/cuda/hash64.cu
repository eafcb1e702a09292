// 64-bit integer arithmetic: a SplitMix/xxHash-like hash, an open-addressing lookup, division and remainder.
__device__ inline unsigned long long mix(unsigned long long x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

extern "C" __global__ void hash64(const unsigned long long* __restrict__ keys,
                                  const unsigned long long* __restrict__ table, unsigned* __restrict__ found, int count,
                                  unsigned long long mask) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const unsigned long long key = keys[i];
        unsigned long long at = mix(key) & mask;
        unsigned probes = 0;
        while (table[at] != key && table[at] != 0 && probes < 64) {
            at = (at + 1) & mask;
            ++probes;
        }
        found[i] = table[at] == key ? probes : ~0u;
    }
}

extern "C" __global__ void modular(const unsigned long long* __restrict__ in, unsigned long long* __restrict__ out,
                                   unsigned long long modulus, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned long long base = in[i] % modulus, power = 1, exponent = in[i] / modulus + 65537;
    while (exponent != 0) {
        if (exponent & 1) power = __umul64hi(power, base) ^ power * base;
        base = __umul64hi(base, base) + base * base;
        exponent >>= 1;
    }
    out[i] = power + __popcll(base) + __clzll(in[i]) + __ffsll(in[i]) + __brevll(power) + __byte_perm(power, base, 0x4321);
}
