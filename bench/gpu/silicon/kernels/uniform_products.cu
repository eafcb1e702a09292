// Block-uniform 128-bit products and signed indices, addressing a bulk copy: UIMAD.WIDE.U32.X, UIADD3.X, ULEA.HI.SX32, UIMAD.WIDE, USHF, UISETP, UBLKCP.
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
    u64 w = (u64)n * 0x9e3779b97f4a7c15ull + blockIdx.x;
    for (unsigned i = 0; i < n >> 17; i++) {
        const u64 high = __umul64hi(w, 0xd6e8feb86659fd93ull + blockIdx.x);
        w = w * 0xd6e8feb86659fd93ull + high;
        const int at = (int)(w >> 40) << 8 >> 18;
        const unsigned v = fetch(in + 131072 + (long long)(at & ~3), s, bar, i & 1);
        sum = sum * 31 + v;
        x = x * 5 + (v ^ sum >> 3);
    }
    out[t] = sum;
    out[t + 2048] = x;
}
