// What the harness itself runs on the GPU: filling inputs and comparing outputs. inputs.py says the same for the CPU.
#include <cuda_fp16.h>

typedef unsigned long long u64;

enum Type { F2, F4, F8, I1, U1, I4, U4 };
enum Kind { BITS, UNIFORM, NORMAL, SPARSE, WIDE, INTEGERS, STARTS, CONSTANT };

__device__ inline u64 mix(u64 x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ x >> 27) * 0x94D049BB133111EBull;
    return x ^ x >> 31;
}

// Four fields of 16 bits added up, less their mean.
__device__ inline double bell(u64 h) {
    return (double)(long long)((h & 65535) + (h >> 16 & 65535) + (h >> 32 & 65535) + (h >> 48)) - 131070.0;
}

// Products and sums are rounded one by one, so that the CPU can say the same.
__device__ inline double value(int kind, u64 i, u64 h, double a, double b) {
    const u64 other = mix(h);
    const double share = (double)(h >> 32) * 0x1p-32;
    switch (kind) {
    case UNIFORM: return __dadd_rn(a, __dmul_rn(b, share));
    case NORMAL: return __dadd_rn(a, __dmul_rn(b, bell(h)));
    case SPARSE: return (double)(other >> 32) * 0x1p-32 < a ? 0.0 : __dmul_rn(b, bell(h));
    case WIDE: {
        if (other >> 60 == 0) return 0.0;
        const double fraction = 1.0 + (double)(other & 0xFFFFF) * 0x1p-20;
        const double size = ldexp(fraction, (int)(a + floor(b * share)));
        return other >> 59 & 1 ? -size : size;
    }
    case INTEGERS: return a + floor(__dmul_rn(b, share));
    case STARTS: {
        const int choice = other & 3;
        return __dmul_rn((double)i, a) + (choice == 0 ? 0.0 : choice == 1 ? a : floor(__dmul_rn(a + 1.0, share)));
    }
    default: return a;
    }
}

extern "C" __global__ void fill(void* out, u64 count, int type, int kind, u64 seed, double a, double b) {
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += (u64)gridDim.x * blockDim.x) {
        const u64 h = mix(seed + (i + 1) * 0x9E3779B97F4A7C15ull);
        if (kind == BITS) {
            if (type == I4 || type == U4) ((unsigned*)out)[i] = (unsigned)h;
            else ((unsigned char*)out)[i] = (unsigned char)h;
            continue;
        }
        const double x = value(kind, i, h, a, b);
        switch (type) {
        case F2: ((__half*)out)[i] = __double2half(x); break;
        case F4: ((float*)out)[i] = (float)x; break;
        case F8: ((double*)out)[i] = x; break;
        case I1: case U1: ((unsigned char*)out)[i] = (unsigned char)(int)x; break;
        case I4: ((int*)out)[i] = (int)x; break;
        case U4: ((unsigned*)out)[i] = (unsigned)(long long)x; break;
        }
    }
}

// How many words differ, and the first that does. Both results have to be set (to 0 and to ~0) before.
extern "C" __global__ void differ(const unsigned* a, const unsigned* b, u64 words, u64* results) {
    u64 differing = 0, first = ~0ull;
    for (u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x; i < words; i += (u64)gridDim.x * blockDim.x)
        if (a[i] != b[i]) {
            ++differing;
            first = first < i ? first : i;
        }
    if (differing) {
        atomicAdd(&results[0], differing);
        atomicMin(&results[1], first);
    }
}
