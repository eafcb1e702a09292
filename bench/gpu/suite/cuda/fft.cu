// A 1024-point complex FFT per block: five radix-4 passes in registers, exchanges through shared memory, twiddles from
// the fast sine and cosine. `direction` is -1 (forward) or 1.
constexpr int POINTS = 1024, THREADS = 256;

__device__ inline float2 add(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ inline float2 sub(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__device__ inline float2 mul(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

extern "C" __global__ void __launch_bounds__(THREADS)
fft(const float2* __restrict__ in, float2* __restrict__ out, float direction, float scale) {
    __shared__ float re[POINTS + POINTS / 32], im[POINTS + POINTS / 32];
    const auto padded = [](int i) { return i + i / 32; };
    const int own = threadIdx.x;
    const long long base = (long long)blockIdx.x * POINTS;
    float2 v[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) v[r] = in[base + own + r * THREADS];
#pragma unroll
    for (int done = 1; done < POINTS; done *= 4) {
        const int inner = own % done;
        if (done > 1) {
            const float angle = direction * 6.2831853f * inner / (4 * done);
#pragma unroll
            for (int r = 1; r < 4; ++r) {
                float2 turn;
                __sincosf(angle * r, &turn.y, &turn.x);
                v[r] = mul(v[r], turn);
            }
        }
        const float2 s = add(v[0], v[2]), t = sub(v[0], v[2]), u = add(v[1], v[3]), d = sub(v[1], v[3]);
        const float2 turned = make_float2(-direction * d.y, direction * d.x);
        v[0] = add(s, u), v[1] = add(t, turned), v[2] = sub(s, u), v[3] = sub(t, turned);
        if (4 * done == POINTS) break;
        const int to = own / done * done * 4 + inner;
        if (done > 1) __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; ++r) re[padded(to + r * done)] = v[r].x, im[padded(to + r * done)] = v[r].y;
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 4; ++r) v[r] = make_float2(re[padded(own + r * THREADS)], im[padded(own + r * THREADS)]);
    }
#pragma unroll
    for (int r = 0; r < 4; ++r) out[base + own + r * THREADS] = make_float2(scale * v[r].x, scale * v[r].y);
}
