// Votes and reductions over the first warp whose results address a bulk copy: REDUX, VOTE.ANY, POPC, R2UR, UIADD3, UBLKCP.
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
    unsigned a = n;
    for (unsigned i = 0; i < n >> 17; i++) {
        unsigned at = 0;
        if (threadIdx.x < 32) {
            const unsigned b = __ballot_sync(0xffffffffu, x >> (i & 15) & 1), total = __reduce_add_sync(0xffffffffu, x >> 9), low = __reduce_min_sync(0xffffffffu, x), mixed = __reduce_xor_sync(0xffffffffu, x);
            a = a * 5 + (total ^ low) + __popc(b);
            at = __popc(mixed) * 32 + __clz(b | 1) + (total > low ? total & 0xfff : 7) + (low >> 20) + (__brev(a) & 0x7ff);
        }
        const unsigned v = fetch(in + (at & 0x3fff) * 4, s, bar, i & 1);
        sum = sum * 31 + v;
        x = x * 5 + (v ^ sum >> 3);
    }
    out[t] = sum;
    out[t + 2048] = x;
}
