// Ten block-uniform predicates kept over a bulk copy and used after it to select the next address; vector at -O3, uniform at -O1: UISETP.LT.XOR, UISETP.EQ.XOR, USEL, UIADD3, UBLKCP.
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
    unsigned a = blockIdx.x * 0x9e3779b1u + n, b = gridDim.x * 77 + n;
    for (unsigned i = 0; i < n >> 17; i++) {
        const bool p0 = (int)a < (int)b, p1 = (a & 15) == 3, p2 = b > 0x40000000u, p3 = (int)(a ^ b) < 0, p4 = (b & 7) != 1, p5 = a < 0x12345678u, p6 = (a & 0x100) != 0, p7 = (b & 0x2000) == 0, p8 = (int)b > 77, p9 = (a + b & 3) == 0;
        const unsigned v = fetch(in + (a >> 18) * 4, s, bar, 0);
        a = a * 5 + (p0 ? 3 : 9) + (p1 ? b : 1) + (p2 ? 0x1111 : 7);
        b = b * 9 + (p3 ? a : 5) + (p4 ? 0x2222 : 11) + (p5 ? 13 : 17);
        a ^= p6 ? b >> 3 : b >> 5;
        b += p7 ? a : ~a;
        const unsigned u = fetch(in + (b >> 18) * 4, s, bar, 1);
        a += (p8 ? 0x333 : 1) + (p9 != p0 ? 0x4444 : 2) + (p1 == p7 ? b : 8);
        sum = sum * 31 + v + u * 3;
        x = x * 5 + (v ^ sum >> 3) + u;
    }
    out[t] = sum;
    out[t + 2048] = x;
}
