// Sixty-four-bit block-uniform arithmetic that addresses a bulk copy: UIMAD.WIDE.U32, UIADD3.X, USHF.R.S64, USHF.R.U64, USHF.L.W.U32.HI, UISETP.GT.U32.AND.EX, UISETP.GT.AND.EX, USEL, UBLKCP.
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
    u64 w = (u64)n * 0x9e3779b1u + blockIdx.x, y = (u64)blockIdx.x << 40 ^ n;
    int c = (int)(gridDim.x * 0xc2b2ae35u);
    for (unsigned i = 0; i < n >> 17; i++) {
        w = w * 5 + y + (u64)(unsigned)c * (unsigned)(w >> 32);
        y = (w << 13 | w >> 51) ^ (u64)((long long)y >> 7);
        c = (int)(w >> 29) - c * 3;
        if (w > y) y += 0x123456789ull;
        const long long step = (long long)c * (int)(unsigned)y + (long long)w;
        const u64 pick = (long long)w < step ? y >> 5 : (u64)step >> 9;
        const unsigned at = ((unsigned)(pick & 0x1fff) + (unsigned)(step >> 33 & 0xfff) + (unsigned)(c >> 31 & 77)) * 4;
        const unsigned v = fetch(in + (long long)at + ((long long)(c & 255) << 4), s, bar, i & 1);
        sum = sum * 31 + (v ^ (unsigned)(w >> 32));
        x = x * 5 + v + (unsigned)step;
    }
    out[t] = sum;
    out[t + 2048] = x;
}
