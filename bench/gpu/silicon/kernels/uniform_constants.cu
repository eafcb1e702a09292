// Constant memory at block-uniform indices, in every width, addressing a bulk copy; LDC and R2UR at -O3, uniform at -O1: ULDC, ULDC.64, ULDC.U8, ULDC.S8, ULDC.S16 with an index, UIMAD, UIADD3, UBLKCP.
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
__constant__ unsigned words[16] = {7, 300, 12, 77, 9, 14, 1000, 5, 10, 2, 15, 8, 13, 4, 11, 6};
__constant__ unsigned char bytes[16] = {200, 3, 12, 0, 9, 140, 1, 5, 10, 22, 15, 8, 13, 4, 110, 6};
__constant__ signed char small[16] = {-7, 3, -12, 0, 9, -14, 1, 5, -10, 22, 15, -8, 13, 4, -110, 6};
__constant__ short halves[16] = {-700, 300, -12, 0, 90, -14, 1, 5, -10, 22, 15, -8, 13, 4, -1100, 6};
__constant__ u64 wide[8] = {0x123456789ull, 77, 0xfedcba9876543210ull, 3, 0x5555555555555555ull, 9, 0x1000000000000ull, 1};

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(128) unsigned s[256];
    __shared__ u64 barrier;
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, bar = (unsigned)__cvta_generic_to_shared(&barrier);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;\n\tfence.proxy.async.shared::cta;" :: "r"(bar) : "memory");
    __syncthreads();
    unsigned x = in[t], sum = 0;
    unsigned a = blockIdx.x & 15;
    for (unsigned i = 0; i < n >> 17; i++) {
        const unsigned w = words[a], b = bytes[(a + i) & 15];
        const int c = small[(w + i) & 15], d = halves[(b ^ a) & 15];
        const u64 e = wide[(w ^ b) & 7];
        a = (w + b + (unsigned)c + (unsigned)(e >> 33) + (unsigned)d * 3) & 15;
        const unsigned at = (unsigned)(d + 2048) + w * 3 + b + (unsigned)(c + 128) + (unsigned)(e & 0xff) + (unsigned)(e >> 56);
        const unsigned v = fetch(in + at * 4, s, bar, i & 1);
        sum = sum * 31 + v;
        x = x * 5 + (v ^ sum >> 3);
    }
    out[t] = sum;
    out[t + 2048] = x;
}
