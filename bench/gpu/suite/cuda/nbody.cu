// Gravitational accelerations of `targets` bodies by `sources` bodies, which pass through shared memory in tiles of 256.
constexpr int TILE = 256;

extern "C" __global__ void __launch_bounds__(TILE)
nbody(const float4* __restrict__ bodies, float4* __restrict__ out, int targets, int sources, float softening) {
    __shared__ float4 tile[TILE];
    const int own = blockIdx.x * TILE + threadIdx.x;
    const float4 none = make_float4(0, 0, 0, 0);
    const float4 me = own < targets ? bodies[own] : none;
    float ax = 0, ay = 0, az = 0, potential = 0;
    for (int start = 0; start < sources; start += TILE) {
        const int at = start + threadIdx.x;
        tile[threadIdx.x] = at < sources ? bodies[at] : none;
        __syncthreads();
#pragma unroll 8
        for (int i = 0; i < TILE; ++i) {
            const float4 other = tile[i];
            const float x = other.x - me.x, y = other.y - me.y, z = other.z - me.z;
            const float inverse = rsqrtf(x * x + y * y + z * z + softening);
            const float pull = other.w * inverse, scale = pull * inverse * inverse;
            ax += x * scale;
            ay += y * scale;
            az += z * scale;
            potential -= pull;
        }
        __syncthreads();
    }
    if (own < targets) out[own] = make_float4(ax, ay, az, potential);
}
