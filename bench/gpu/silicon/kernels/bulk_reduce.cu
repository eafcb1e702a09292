// Bulk reductions into global memory, integers by every operation and floats without rounding: UBLKRED UTMACMDFLUSH FENCE.VIEW.ASYNC
#include "async.cuh"
#define REDUCE(TYPE, TO, PLACE) \
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." TYPE " [%0], [%1], 1024;" ::"l"(global_address(TO + (PLACE) * 256)), "r"(shared_address(s[(PLACE) & 1])) : "memory")
KERNEL kernel(PARAMS) {
    __shared__ __align__(128) u32 s[2][256];
    u32 x = get(in, n, 0), y = get(in, n, 1);
    Chains w(x);
    u32 *mine = out + blockIdx.x * 8192, *common = out + 131072;
    for (u32 k = 0; k < 18; k++) mine[k * 256 + tid()] = k < 14 ? mix(x, k) : 0;
    asm volatile("fence.proxy.async;" ::: "memory");
    for (u32 r = 0; r < 2; r++) {
        w.step(y + r);
        s[0][tid()] = w.a;
        s[1][tid()] = w.b ^ w.c;
        fence_async();
        __syncthreads();
        if (tid() == 0) {
            REDUCE("add.u32", common, 0);
            REDUCE("xor.b32", common, 1);
            REDUCE("add.u32", mine, 0);
            REDUCE("add.s32", mine, 1);
            REDUCE("min.u32", mine, 2);
            REDUCE("max.u32", mine, 3);
            REDUCE("min.s32", mine, 4);
            REDUCE("max.s32", mine, 5);
            REDUCE("and.b32", mine, 6);
            REDUCE("or.b32", mine, 7);
            REDUCE("xor.b32", mine, 8);
            REDUCE("inc.u32", mine, 9);
            REDUCE("add.u64", mine, 10);
            REDUCE("min.u64", mine, 11);
            REDUCE("max.s64", mine, 12);
            REDUCE("xor.b64", mine, 13);
            bulk_commit();
            bulk_wait_read<0>();
        }
        __syncthreads();
        // Small numbers: every sum is exact.
        s[0][tid()] = 0x3c003c00u + ((x & 3) << 10) + ((y & 1) << 26);
        s[1][tid()] = __float_as_uint((float)(x & 255));
        fence_async();
        __syncthreads();
        if (tid() == 0) {
            REDUCE("add.noftz.f16", mine, 14);
            REDUCE("add.f32", mine, 15);
            REDUCE("max.f16", mine, 16);
            REDUCE("add.f32", common, 17);
            bulk_commit();
            bulk_wait<0>();
        }
        __syncthreads();
        x = mix(x, w.d);
    }
    out[262144 + gid()] = w.end();
}
