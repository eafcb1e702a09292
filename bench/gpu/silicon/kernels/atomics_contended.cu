// Shared and global reductions from all threads whose end does not depend on order, then read back: REDG.E.ADD, REDG.E.XOR, REDG.E.MIN.S32, ATOMS.ADD, ATOMS.MAX, ATOMS.OR, ATOMS.POPC.INC.32, ATOMS.CAST.SPIN.64, REDUX, VOTEU.ANY, UFLO.U32.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    __shared__ unsigned bins[64], top, seen;
    __shared__ unsigned long long total;
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x, i = threadIdx.x;
    if (i < 64) bins[i] = 0;
    if (i == 0) top = seen = 0, total = 0;
    __syncthreads();
    for (int k = 0; k < 8; k++) {
        const unsigned v = in[t + 2048 * k];
        atomicAdd(&bins[v & 63], 1u);
        atomicAdd(&bins[v >> 6 & 63], v >> 20);
        atomicMax(&top, v);
        if (v & 0x300) atomicOr(&seen, 1u << (v >> 27));
        atomicAdd(&total, (unsigned long long)v * v);
        atomicAdd(out + 65536 + (v >> 9 & 1023), 1u);
        atomicXor(out + 67584, v);
        atomicMin((int*)(out + 67585 + blockIdx.x), (int)v);
    }
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < 8; k++) sum = sum * 31 + bins[(i + 8 * k) & 63];
    out[t] = sum + top;
    out[t + 2048] = seen ^ (unsigned)(total >> 32) ^ (unsigned)total;
}
