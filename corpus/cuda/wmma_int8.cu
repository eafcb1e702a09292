// Integer gemm on tensor cores, with the result clamped to bytes.
// needs sm_72: integer tensor cores
#include <mma.h>
using namespace nvcuda::wmma;

extern "C" __global__ void wmma_int8(const signed char* __restrict__ a, const signed char* __restrict__ b,
                                     signed char* __restrict__ c, int n, int k, float scale) {
    __shared__ int tile[16 * 16];
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    fragment<accumulator, 16, 16, 16, int> sum;
    fill_fragment(sum, 0);
    for (int start = 0; start < k; start += 16) {
        fragment<matrix_a, 16, 16, 16, signed char, row_major> left;
        fragment<matrix_b, 16, 16, 16, signed char, col_major> right;
        load_matrix_sync(left, a + row * k + start, k);
        load_matrix_sync(right, b + column * k + start, k);
        mma_sync(sum, left, right, sum);
    }
    store_matrix_sync(tile, sum, 16, mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) {
        const int value = __float2int_rn(tile[i] * scale);
        c[(row + i / 16) * n + column + i % 16] = static_cast<signed char>(max(-128, min(127, value)));
    }
}
