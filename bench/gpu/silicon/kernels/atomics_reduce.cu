// Global reductions without result and atomics of floats on each thread's own cells, read back after: REDG.E.ADD, .MIN.S32, .MAX, .AND, .OR, .XOR, .INC, REDG.E.ADD.F32.FTZ.RN, REDG.E.ADD.F64.RN, ATOMG.E.ADD.F32, ATOMG.E.ADD.F64, ATOM.E.ADD.F16x2, ATOM.E.ADD.BF16x2, ATOMG.E.CAS loops, QSPC.
// input: float
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned* c = out + 65536 + t;
    double* d = (double*)(out + 262144) + t;
    unsigned sum = 0;
    for (int i = 0; i < 5; i++) {
        const unsigned u = in[t + 2048 * i];
        const float f = __uint_as_float(u);
        const __half2 h = __floats2half2_rn(f, f * 0.5f);
        const __nv_bfloat162 b = __floats2bfloat162_rn(f, f * 3.0f);
        atomicAdd(c, u);
        atomicMin((int*)(c + 2048), (int)u);
        atomicMax(c + 4096, u);
        atomicAnd(c + 6144, ~u);
        atomicOr(c + 8192, u);
        atomicXor(c + 10240, u * 3);
        atomicInc(c + 12288, 3);
        atomicAdd((float*)(c + 14336), f);
        atomicAdd((__half2*)(c + 16384), h);
        atomicAdd((__nv_bfloat162*)(c + 18432), b);
        atomicAdd(d, (double)f);
        atomicAdd((unsigned long long*)(d + 2048), (unsigned long long)u << 20);
        atomicMax((long long*)(d + 4096), (long long)u << 20);
        const float g = atomicAdd((float*)(c + 20480), f * f);
        const double w = atomicAdd(d + 6144, (double)g);
        const __half2 k = atomicAdd((__half2*)(c + 22528), h);
        const __nv_bfloat162 m = atomicAdd((__nv_bfloat162*)(c + 24576), b);
        asm volatile("red.global.add.noftz.f16 [%0], %1;" :: "l"(c + 26624), "h"(__half_as_ushort(__low2half(h))) : "memory");
        const unsigned back = __ldcg(c) + __ldcg(c + 14336) * 3 + __ldcg(c + 16384) + __ldcg(c + 18432);
        sum = sum * 31 + __float_as_uint(g) + (unsigned)(__double_as_longlong(w) >> 20) + *(const unsigned*)&k + *(const unsigned*)&m + back;
    }
    out[t] = sum;
}
