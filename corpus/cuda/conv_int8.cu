// A quantised convolution with four-way byte dot products, bit-field work and saturation.
// needs sm_61: byte dot products
extern "C" __global__ void conv_int8(const int* __restrict__ image, const int* __restrict__ filter, int* __restrict__ out,
                                     int width, int channels) {
    __shared__ int weights[9 * 64];
    for (int i = threadIdx.x; i < 9 * channels; i += blockDim.x) weights[i] = filter[blockIdx.y * 9 * channels + i];
    __syncthreads();
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int channel = 0; channel < channels; ++channel)
#pragma unroll
        for (int tap = 0; tap < 9; ++tap)
            sum = __dp4a(image[(channel * 3 + tap / 3) * width + x + tap % 3], weights[channel * 9 + tap], sum);
    const int low = __vmins4(sum, 0x7f7f7f7f), high = __vabsdiffs4(sum, x);
    out[blockIdx.y * width + x] = __byte_perm(low, high, 0x5140) + __funnelshift_l(low, high, x) + __sad(low, high, sum);
}
