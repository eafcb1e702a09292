// Absolute values, minima and maxima in 32 and 64 bits, a sorting network on 64-bit keys: IABS, VIMNMX, VIMNMX.RELU, ISETP.LT.U32.AND.EX, SEL.
// input: random
typedef unsigned long long u64;
typedef long long s64;
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    u64 v[8];
#pragma unroll
    for (int k = 0; k < 8; k++) v[k] = (u64)in[t + 2048 * k] << 32 | in[t + 2048 * (k + 8)];
#define SORT(i, j) { const u64 x = v[i], y = v[j]; v[i] = min(x, y); v[j] = max(x, y); }
#define SSORT(i, j) { const s64 x = (s64)v[i], y = (s64)v[j]; v[i] = (u64)min(x, y); v[j] = (u64)max(x, y); }
    SORT(0, 1) SORT(2, 3) SORT(4, 5) SORT(6, 7) SORT(0, 2) SORT(1, 3) SORT(4, 6) SORT(5, 7) SORT(1, 2) SORT(5, 6)
    SORT(0, 4) SORT(1, 5) SORT(2, 6) SORT(3, 7) SORT(2, 4) SORT(3, 5) SORT(1, 2) SORT(3, 4) SORT(5, 6)
    u64 first = v[0] ^ v[7];
    SSORT(0, 7) SSORT(1, 6) SSORT(2, 5) SSORT(3, 4) SSORT(0, 3) SSORT(4, 7)
    s64 sum = 0;
    int small = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        sum = sum * 3 + llabs((s64)v[k] - (s64)v[(k + 3) & 7]);
        small = max(min(small ^ abs((int)v[k]), (int)(v[k] >> 33)), -small);
        small += abs(small - (int)(v[k] >> 40)) * 7;
    }
#pragma unroll
    for (int k = 0; k < 8; k++) {
        out[t + 2048 * (2 * k)] = (unsigned)v[k];
        out[t + 2048 * (2 * k + 1)] = (unsigned)(v[k] >> 32);
    }
    out[t + 2048 * 16] = (unsigned)sum;
    out[t + 2048 * 17] = (unsigned)((u64)sum >> 32);
    out[t + 2048 * 18] = (unsigned)small;
    out[t + 2048 * 19] = (unsigned)first + (unsigned)(first >> 32);
}
