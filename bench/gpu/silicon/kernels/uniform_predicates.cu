// Block-uniform comparisons joined by and, or and exclusive or, that select the address of a bulk copy; vector at -O3, uniform at -O1: UISETP.EQ.OR, UISETP.LT.XOR, UISETP.GT.U32.AND.EX, UPLOP3.LUT, USEL, ULEA.HI, UBLKCP.
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
    unsigned a = blockIdx.x * 0x9e3779b1u + n, b = (gridDim.x << 7) ^ n;
    u64 w = (u64)a << 21 ^ b;
    for (unsigned i = 0; i < n >> 17; i++) {
        const bool p = (int)a < (int)b, q = (a & 0x30) == 0x10, r = w > 0x123456789abcull && b != 7, u = (int)b >= 100 || a == n;
        const bool m = (p && q) || (p && r) || (q && r), odd = p ^ q ^ r ^ u, last = (i & 3) == 3 && (long long)w < 0;
        unsigned at = m ? a & 0x1ff0 : b & 0xff0;
        at += odd ? 0x777 : a >> 24;
        at = last || (p && !u) ? at >> 1 : at + (b >> 22);
        if (q == u) at ^= 0x1230;
        if ((w & 0x1100) == 0 || at < 100) a += 0x3456789;
        a = a * 5 + (odd ? b : 3);
        b = (b << 3 | b >> 29) + (m ? 9 : 77);
        w = w * 0x5851f42d4c957f2dull + (u ? at : 1);
        const unsigned v = fetch(in + at * 4, s, bar, i & 1);
        sum = sum * 31 + v;
        x = x * 5 + (v ^ sum >> 3);
    }
    out[t] = sum;
    out[t + 2048] = x;
}
