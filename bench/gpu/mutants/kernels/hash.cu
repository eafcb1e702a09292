// A 64-bit mixing hash with rotations by data, bit counts and conversions.
extern "C" __global__ void kernel(const unsigned long long* in, unsigned long long* out, int n, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long h = in[i], acc = 0x9e3779b97f4a7c15ull ^ i;
    for (int r = 0; r < rounds; r++) {
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdull;
        int by = (int)(h & 31);
        unsigned lo = (unsigned)h, hi = (unsigned)(h >> 32);
        unsigned turned = __funnelshift_l(lo, hi, by);
        if (turned & 4) acc += __popc(turned) + __clz(hi | 1);
        else acc ^= (unsigned long long)__brev(lo) << 7;
        if ((int)hi < (int)lo) h += (unsigned long long)(long long)__int2float_rn((int)turned >> 9);
        h = (h << 27 | h >> 37) * 5 + 0x52dce729 + __umulhi(turned, 0xc4ceb9feu);
        acc = acc * 31 + (h % 1000003u);
    }
    out[i] = h ^ acc;
}
