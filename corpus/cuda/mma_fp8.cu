// FP8 multiplications on tensor cores, with conversions from and to float.
// needs sm_89: FP8 tensor cores
#include <cuda_fp8.h>

extern "C" __global__ void mma_fp8(const float4* __restrict__ a, const float4* __restrict__ b, float2* __restrict__ c,
                                   unsigned short* __restrict__ packed, int steps) {
    float sum[4] = {};
    for (int step = 0; step < steps; ++step) {
        unsigned word[6];
        for (int i = 0; i < 6; ++i) {
            const float4 part = i < 4 ? a[(step * 4 + i) * 32 + threadIdx.x] : b[(step * 2 + i - 4) * 32 + threadIdx.x];
            word[i] = __nv_fp8x4_e4m3(part).__x;
        }
        asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                     : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                     : "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]), "r"(word[4]), "r"(word[5]));
    }
    c[threadIdx.x] = make_float2(sum[0], sum[1]);
    c[threadIdx.x + 32] = make_float2(sum[2], sum[3]);
    packed[threadIdx.x] = __nv_cvt_float2_to_fp8x2(make_float2(sum[0], sum[3]), __NV_SATFINITE, __NV_E5M2);
}
