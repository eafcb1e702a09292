// FP4 multiplications with block scales, the tensor-core form of consumer Blackwell.
// only sm_120a sm_121a: block-scaled mma.sync
extern "C" __global__ void mma_block_scale(const uint4* __restrict__ a, const uint2* __restrict__ b,
                                           const unsigned* __restrict__ scales, float4* __restrict__ c, int steps) {
    float sum[4] = {};
    for (int step = 0; step < steps; ++step) {
        const uint4 left = a[step * 32 + threadIdx.x];
        const uint2 right = b[step * 32 + threadIdx.x];
        asm volatile(
            "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 "
            "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3}, %10, {0, 0}, %11, {0, 0};"
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
            : "r"(left.x), "r"(left.y), "r"(left.z), "r"(left.w), "r"(right.x), "r"(right.y), "r"(scales[2 * step]),
              "r"(scales[2 * step + 1]));
    }
    c[threadIdx.x] = make_float4(sum[0], sum[1], sum[2], sum[3]);
}
