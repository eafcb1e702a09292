// Bit operations on block-uniform values that address a bulk copy: UPOPC, UFLO.U32, UFLO.U32.SH, UBREV, UBMSK, USGXT, UPRMT, USHF.R.S32.HI, USHF.L.W, ULOP3.LUT, UIADD3, UBLKCP.
// launch: grid=8 block=256 smem=0
// input: random
typedef unsigned long long u64;

// Copies 256 words from a block-uniform place into shared memory and gives this thread its word. Only one lane issues the copy.
__device__ __forceinline__ unsigned fetch(const unsigned* at, unsigned* s, unsigned bar, unsigned phase) {
    if (threadIdx.x < 32) {
        asm volatile("{\n\t.reg .pred p;\n\telect.sync _|p, 0xffffffff;\n\t"
            "@p mbarrier.arrive.expect_tx.shared.b64 _, [%0], 1024;\n\t"
            "@p cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 1024, [%0];\n\t}"
            :: "r"(bar), "r"((unsigned)__cvta_generic_to_shared(s)), "l"(at) : "memory");
    }
    asm volatile("{\n\t.reg .pred p;\n\tW_%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra W_%=;\n\t}" :: "r"(bar), "r"(phase) : "memory");
    const unsigned v = s[threadIdx.x];
    __syncthreads();
    return v;
}

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(128) unsigned s[256];
    __shared__ u64 barrier;
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, bar = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.proxy.async.shared::cta;" :: "r"(bar) : "memory");
    __syncthreads();
    unsigned x = in[t], sum = 0;
    unsigned a = blockIdx.x * 0x85ebca6bu ^ n, b = gridDim.x * 0xc2b2ae35u + blockIdx.x;
    for (unsigned i = 0; i < n >> 17; i++) {
        const unsigned p = __popc(a), z = __clz(b), r = __brev(a + b), f = __ffs(a ^ b);
        unsigned m, e, g, h;
        asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(m) : "r"(p & 31), "r"(z + 3));
        asm("szext.clamp.s32 %0, %1, %2;" : "=r"(e) : "r"(r), "r"(f & 31));
        asm("bfind.shiftamt.u32 %0, %1;" : "=r"(g) : "r"(r ^ m));
        asm("prmt.b32 %0, %1, %2, %3;" : "=r"(h) : "r"(a), "r"(e), "r"(r & 0x7777u));
        a = (a * 3 + (m & r)) ^ e ^ (g << 9);
        b += ((unsigned)((int)h >> (f & 15))) + __funnelshift_l(a, b, p) + 1;
        const unsigned at = ((a ^ h) & 0x3fff) + (p << 7) + (b >> 23 << z % 4);
        const unsigned v = fetch(in + at * 4, s, bar, i & 1);
        sum = sum * 31 + v;
        x = __funnelshift_l(x, v, 7) + sum;
    }
    out[t] = sum;
    out[t + 2048] = x;
}
