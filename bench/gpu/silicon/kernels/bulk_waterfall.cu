// Every thread issues its own bulk copy from a place of its own, so that the compiler must walk over the threads of a warp: ELECT, guarded R2UR, PLOP3.LUT, UBLKCP, BRA.U.ANY, SYNCS.
// launch: grid=8 block=256 smem=0
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ __align__(128) unsigned s[256 * 4];
    __shared__ unsigned long long barrier;
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, bar = (unsigned)__cvta_generic_to_shared(&barrier), own = (unsigned)__cvta_generic_to_shared(s + threadIdx.x * 4);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 256;\n\tfence.proxy.async.shared::cta;" :: "r"(bar) : "memory");
    __syncthreads();
    unsigned x = in[t], sum = 0;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned* from = in + (x & 0x3ffff) * 4;
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 16;" :: "r"(bar) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 16, [%2];" :: "r"(own), "l"(from), "r"(bar) : "memory");
        x = x * 5 + i;
        asm volatile("{\n\t.reg .pred p;\n\tW_%=: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra W_%=;\n\t}" :: "r"(bar), "r"(i & 1) : "memory");
        const uint4 v = *(const uint4*)(s + threadIdx.x * 4);
        sum = sum * 31 + v.x + (v.y ^ v.z) + v.w;
        x += sum >> 3;
        __syncthreads();
    }
    out[t] = sum;
    out[t + 2048] = x;
}
