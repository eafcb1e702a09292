// A bytecode interpreter: a switch that becomes a jump table, inside a divergent loop.
extern "C" __global__ void interpreter(const unsigned char* __restrict__ code, const int* __restrict__ in,
                                       int* __restrict__ out, int length) {
    __shared__ unsigned char program[1024];
    for (int i = threadIdx.x; i < length; i += blockDim.x) program[i] = code[i];
    __syncthreads();
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    int a = in[thread], b = thread, at = a & 7;
    for (int fuel = 10000; at < length && fuel > 0; --fuel) {
        switch (program[at++]) {
            case 0: a += b; break;
            case 1: a = b - a; break;
            case 2: a *= b | 1; break;
            case 3: b ^= a << (b & 31); break;
            case 4: a = __popc(a) * 0x9e37; break;
            case 5: at = a > b ? at + 3 : at; break;
            case 6: b = in[(a ^ b) & 1023]; break;
            case 7: a = a / (b | 1); break;
            case 8: out[(a & 1023) + 65536] = b; break;
            case 9: a = __float_as_int(sqrtf(fabsf(__int_as_float(a)))); break;
            case 10: b = min(a, b); a = max(a, 7); break;
            case 11: at -= 5 & b; break;
            case 12: a = __brev(b); break;
            case 13: b = a >> 3; break;
            default: out[thread] = a; return;
        }
    }
    out[thread] = a ^ b;
}
