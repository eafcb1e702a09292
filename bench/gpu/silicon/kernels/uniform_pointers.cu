// Walking pointers by block-uniform strides held in 64 bits, copied from at each step: UIADD3, UIADD3.X, ULEA, ULEA.HI.X, UIMAD.WIDE.U32, UISETP.GE.U32.AND.EX, USEL, UBLKCP.
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
    const unsigned* p = in + blockIdx.x * 4096;
    const unsigned* end = in + (n >> 1);
    const unsigned* q = in + (n >> 2) - (u64)(gridDim.x * 64u);
    u64 stride = (u64)(blockIdx.x + 1) * 1236;
    for (unsigned i = 0; i < n >> 17; i++) {
        p += stride & ~3ull;
        if (p >= end) p -= n >> 2;
        q = p > q ? q + 1024 : q - (stride & ~3ull);
        if (q < in) q = in + 64;
        stride = (stride * 5 + 77) & 0xfff;
        const unsigned v = fetch(i & 1 ? p : q, s, bar, i & 1);
        sum = sum * 31 + v;
        x = x * 5 + (v ^ sum >> 3);
    }
    out[t] = sum;
    out[t + 2048] = x;
}
