// A switch of 24 cases in a loop, an interpreter of small programs: a tree of ISETP and BRA with divergent cases, BSSY, BSYNC, POPC, BREV, FLO.U32, MUFU.RSQ, I2F.U32.RP, VABSDIFF4.U8, CALL.REL.NOINC.
// input: random
extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[t], b = in[t + 2048], c = 1, steps = 0;
    float f = 1.0f;
    unsigned program = in[t + 4096];
    for (int pc = 0; pc < 24; pc++) {
        const unsigned op = program % 24;
        program = program / 24 ^ (a << 13) ^ (program << 27);
        switch (op) {
        case 0: a += b; break;
        case 1: a -= c * 3; break;
        case 2: b ^= a << 5; break;
        case 3: b = __brev(b); break;
        case 4: c += __popc(a); break;
        case 5: a = __funnelshift_l(a, b, c); break;
        case 6: f = f * 0.5f + (float)(a & 255); break;
        case 7: b += (unsigned)(int)f; break;
        case 8: c = c * 7 + __clz(b); break;
        case 9: a = min(a, b) + 9; break;
        case 10: b = max(b, c) ^ 10; break;
        case 11: a = __umulhi(a, b) + 11; break;
        case 12: c ^= in[a & 0xffff]; break;
        case 13: f = __fsqrt_rn(fabsf(f)) + 13.0f; break;
        case 14: if (a & 1) b += 14; else c += 14; break;
        case 15: out[t + 8192] = a + 15; break;
        case 16: a = b / (c & 255 | 1); break;
        case 17: b = __byte_perm(a, c, b & 0x7777); break;
        case 18: c = ~c; break;
        case 19: f = -f * 0.75f; break;
        case 20: pc += c & 1; break;
        case 21: b = b * b + 21; break;
        case 22: a = __vabsdiffu4(a, c); break;
        default: steps += 100; break;
        }
        steps++;
    }
    out[t] = a;
    out[t + 2048] = b;
    out[t + 4096] = c;
    out[t + 6144] = __float_as_uint(f) + steps;
}
