// A 512-point FFT: radix-8 butterflies in registers, exchanges through shared memory, twiddles from sine and cosine.
struct Complex {
    float re, im;
};

__device__ inline Complex add(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Complex sub(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Complex mul(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Complex turn(Complex a) { return {a.im, -a.re}; }

__device__ inline void fft4(Complex& a, Complex& b, Complex& c, Complex& d) {
    const Complex s = add(a, c), t = sub(a, c), u = add(b, d), v = turn(sub(b, d));
    a = add(s, u), b = add(t, v), c = sub(s, u), d = sub(t, v);
}

__device__ inline void fft8(Complex (&x)[8]) {
    const float half = 0.70710678f;
    fft4(x[0], x[2], x[4], x[6]);
    fft4(x[1], x[3], x[5], x[7]);
    x[3] = mul(x[3], {half, -half});
    x[5] = turn(x[5]);
    x[7] = mul(x[7], {-half, -half});
    const Complex y[8] = {add(x[0], x[1]), add(x[2], x[3]), add(x[4], x[5]), add(x[6], x[7]),
                          sub(x[0], x[1]), sub(x[2], x[3]), sub(x[4], x[5]), sub(x[6], x[7])};
    for (int i = 0; i < 8; ++i) x[i] = y[i];
}

__device__ inline void twiddle(Complex (&x)[8], float angle) {
#pragma unroll
    for (int i = 1; i < 8; ++i) {
        float sine, cosine;
        __sincosf(angle * i, &sine, &cosine);
        x[i] = mul(x[i], {cosine, sine});
    }
}

extern "C" __global__ void __launch_bounds__(64) fft(Complex* __restrict__ data) {
    __shared__ float exchange[8 * 72];
    const int thread = threadIdx.x;
    Complex x[8];
    data += blockIdx.x * 512 + thread;
    for (int i = 0; i < 8; ++i) x[i] = data[i * 64];
    const auto swap = [&](int to, int step, int from, int stride) {
        for (int part = 0; part < 2; ++part) {
            __syncthreads();
            for (int i = 0; i < 8; ++i) exchange[to + i * step] = part ? x[i].im : x[i].re;
            __syncthreads();
            for (int i = 0; i < 8; ++i) (part ? x[i].im : x[i].re) = exchange[from + i * stride];
        }
    };
    fft8(x);
    twiddle(x, -6.2831853f * thread / 512);
    swap(thread / 8 * 8 + thread % 8, 66, thread / 8 * 66 + thread % 8, 8);
    fft8(x);
    twiddle(x, -6.2831853f * (thread % 8) / 64);
    swap(thread / 8 * 72 + thread % 8, 8, thread / 8 * 72 + thread % 8 * 8, 1);
    fft8(x);
    for (int i = 0; i < 8; ++i) data[i * 64] = x[i];
}
