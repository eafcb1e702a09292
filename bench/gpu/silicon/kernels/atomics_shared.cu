// Shared atomics on each thread's own cells, results used at once: ATOMS.ADD, .MIN, .MAX, .AND, .OR, .XOR, .EXCH, .CAS, .CAS.64, .INC, .DEC, ATOMS.CAST.SPIN and ATOMS.CAST.SPIN.64 loops for floats, 64 bits and halves.
// input: random
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ unsigned c[8][256];
    __shared__ unsigned long long w[4][256];
    __shared__ double d[256];
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, i = threadIdx.x;
    for (int k = 0; k < 8; k++) c[k][i] = k & 1 ? in[t] : 0;
    for (int k = 0; k < 4; k++) w[k][i] = 0;
    d[i] = 0.0;
    unsigned x = in[t], sum = 0;
    unsigned long long wide = 0;
    for (int r = 0; r < 4; r++) {
        const unsigned v = in[t + 2048 * (r + 1)];
        const unsigned a = atomicAdd(&c[0][i], v), b = atomicMin(&c[1][i], v), e = atomicMax(&c[2][i], v ^ x), f = atomicAnd(&c[3][i], v | 0xffff), g = atomicOr(&c[4][i], x & v), h = atomicXor(&c[5][i], v), j = atomicExch(&c[6][i], x), k = atomicInc(&c[7][i], v & 15), l = atomicDec(&c[7][i], 9), m = atomicCAS(&c[0][i], a + v, x);
        const int o = atomicMin((int*)&c[2][i], (int)x), p = atomicMax((int*)&c[1][i], (int)v);
        const unsigned long long y = (unsigned long long)v << 32 | x;
        const unsigned long long q = atomicAdd(&w[0][i], y), s = atomicMax(&w[1][i], y), u = atomicCAS(&w[0][i], q + y, y), z = atomicExch(&w[2][i], y), aa = atomicXor(&w[3][i], y * 3);
        c[6][i] = (x & 0x80ffffffu) | 0x40000000u;
        const float ff = atomicAdd((float*)&c[6][i], __uint_as_float((v & 0x80ffffffu) | 0x3f000000u));
        const double dd = atomicAdd(&d[i], (double)(int)v);
        c[7][i] = 0x3c003c00u;
        const __half2 hh = atomicAdd((__half2*)&c[7][i], __float2half2_rn((float)(v & 63)));
        const __nv_bfloat162 bb = atomicAdd((__nv_bfloat162*)&c[7][i], __float2bfloat162_rn((float)(v & 31)));
        sum = sum * 31 + a + b * 3 + (e ^ f) + g + h * 5 + j + k + l + m + (unsigned)(o ^ p) + __float_as_uint(ff) + *(const unsigned*)&hh + *(const unsigned*)&bb;
        wide = wide * 31 + q + s + (u ^ z) + aa + (unsigned long long)__double_as_longlong(dd);
        x = x * 5 + sum;
    }
    for (int k = 0; k < 8; k++) sum = sum * 31 + c[k][i];
    for (int k = 0; k < 4; k++) wide = wide * 31 + w[k][i];
    out[t] = sum;
    out[t + 2048] = (unsigned)wide;
    out[t + 4096] = (unsigned)(wide >> 32);
    ((double*)out)[t + 4096] = d[i];
}
