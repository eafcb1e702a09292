// Block-uniform arithmetic whose result is the address of a bulk copy, so that it must be in uniform registers: UIADD3, UIMAD, ULOP3.LUT, USHF, UISETP, UPRMT, ULEA.HI, ULDC, S2UR, UBLKCP.
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
    unsigned a = blockIdx.x * 0x9e3779b1u + n, b = (gridDim.x << 7) ^ n, c = blockIdx.x + 3, d = blockDim.x * 77;
    for (unsigned i = 0; i < n >> 17; i++) {
        a = a * c + b;
        b = (b << 5 | b >> 27) ^ (a & d);
        c += __byte_perm(a, b, 0x2514) + i;
        d = (int)a < (int)b ? d + c : d ^ (c >> 3);
        const unsigned at = (a & 0x3ff) * 8 + (b >> 20) + (d & 0xfff);
        const unsigned v = fetch(in + at * 4, s, bar, i & 1);
        sum = sum * 31 + v;
        x = x * a + (v ^ b);
        if ((c & 7) == 3) x = __funnelshift_l(x, sum, d & 31);
        else sum ^= x >> 3;
    }
    out[t] = sum;
    out[t + 2048] = x;
}
