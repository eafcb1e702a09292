// Operands of matrix instructions: bits of the input made into numbers that are near one, so that nothing overflows.
#pragma once
#include "async.cuh"
DEV u32 to_f16(u32 x) { return (x & 0x8fff8fffu) | 0x30003000u; }
DEV u32 to_bf16(u32 x) { return (x & 0x80ff80ffu) | 0x3f003f00u; }
DEV u32 to_f32(u32 x) { return (x & 0x80ffffffu) | 0x3f000000u; }
DEV u32 to_e4m3(u32 x) { return (x & 0x9f9f9f9fu) | 0x20202020u; }
DEV u32 to_e5m2(u32 x) { return (x & 0x8f8f8f8fu) | 0x30303030u; }
DEV double to_f64(u32 x, u32 y) { return __longlong_as_double(((u64)((x & 0x801fffffu) | 0x3fe00000u) << 32) | y); }
DEV u32 bits(float x) { return __float_as_uint(x); }
DEV u32 bits(u32 x) { return x; }
DEV u32 bits(int x) { return (u32)x; }
DEV u32 bits(double x) { return (u32)__double_as_longlong(x) ^ (u32)(__double_as_longlong(x) >> 32); }
template <int N, typename T> DEV u32 fold(const T (&d)[N]) {
    u32 s = N;
#pragma unroll
    for (int k = 0; k < N; k++) s = mix(s, bits(d[k]));
    return s;
}
