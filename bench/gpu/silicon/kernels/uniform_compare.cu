// Block-uniform comparisons, few at a time, that select the address of a bulk copy; in vector registers and R2UR at -O3, uniform at -O1: UISETP.LT.AND, UISETP.EQ.OR, UISETP.NE.AND.EX, USEL, ULEA.HI.SX32, UIMAD.WIDE, UBLKCP.
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
    int a = (int)(blockIdx.x * 0x9e3779b1u + n), b = (int)((gridDim.x << 7) ^ n);
    long long w = (long long)a * b;
    for (unsigned i = 0; i < n >> 17; i++) {
        int at = a < b ? a >> 20 : b >> 19;
        at = at < 0 || a == 5 ? -at : at;
        w = w * 3 + (long long)a * b;
        at += w != 0x123456789ll && b > 3 ? (int)(w >> 52) : 9;
        at = (unsigned long long)w >= 0x7000000000000000ull || at > 4000 ? at / 3 : at + 5;
        a = a * 5 + (b <= at ? b : 3);
        b = b / 7 + (w < 0 && (a & 1) ? a : at);
        const unsigned v = fetch(in + (long long)(at & 0x3fff) * 4, s, bar, i & 1);
        sum = sum * 31 + v;
        x = x * 5 + (v ^ sum >> 3);
    }
    out[t] = sum;
    out[t + 2048] = x;
}
