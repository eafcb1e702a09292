// Calls through a table of function pointers and through virtual functions: CALL.REL.NOINC to a register, LDC.64 of addresses, RET.REL.NODEC, divergent targets, BMOV.32, BMOV.32.CLEAR, R2UR, LD.E of the object.
// input: random
typedef unsigned (*Step)(unsigned, unsigned, float*);
__device__ __noinline__ unsigned step0(unsigned a, unsigned b, float* f) { *f = *f * 0.5f + (float)(a & 255); return a * 3 + b; }
__device__ __noinline__ unsigned step1(unsigned a, unsigned b, float* f) { *f += sqrtf(fabsf(*f)); return a ^ __brev(b); }
__device__ __noinline__ unsigned step2(unsigned a, unsigned b, float* f) { for (unsigned i = 0; i < (b & 7); i++) a = a * 5 + i; *f -= 1.0f; return a; }
__device__ __noinline__ unsigned step3(unsigned a, unsigned b, float* f) { return a / (b | 1) + __popc(b) + (*f > 10.0f ? 77 : 3); }
__device__ __noinline__ unsigned step4(unsigned a, unsigned b, float* f) { *f = -*f; return __funnelshift_l(a, b, a & 31); }
__constant__ Step steps[5] = {step0, step1, step2, step3, step4};

struct Shape { __device__ virtual unsigned area(unsigned x) const = 0; unsigned k; };
struct Square : Shape { __device__ unsigned area(unsigned x) const override { return x * x + k; } };
struct Circle : Shape { __device__ unsigned area(unsigned x) const override { return (unsigned)(3.14f * (float)(x & 1023) * (float)(k & 15)); } };
struct Odd : Shape { __device__ unsigned area(unsigned x) const override { return x & 1 ? x / (k | 1) : k; } };

extern "C" __global__ void kernel(const unsigned* in, unsigned* out, unsigned n) {
    const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned x = in[t], y = in[t + 2048];
    float f = 3.0f;
    Square square;
    Circle circle;
    Odd odd;
    square.k = x;
    circle.k = y;
    odd.k = x >> 24;
    Shape* shapes[3] = {&square, &circle, &odd};
    for (int i = 0; i < 8; i++) {
        const unsigned z = steps[x % 5](x, y, &f);
        y = y * 0x01000193u + z + shapes[z % 3]->area(y);
        x = z ^ (y >> 7);
        shapes[y % 3]->k += x;
    }
    out[t] = x;
    out[t + 2048] = y;
    out[t + 4096] = __float_as_uint(f);
}
