// Products of warp groups: operands in shared memory without swizzling, as blocks of 8 rows of 16 bytes.
#pragma once
#include "matrix.cuh"
#define F4(d, k) "+f"(d[k]), "+f"(d[k + 1]), "+f"(d[k + 2]), "+f"(d[k + 3])
#define F8(d, k) F4(d, k), F4(d, k + 4)
#define F16(d) F8(d, 0), F8(d, 8)
#define R4(d, k) "+r"(d[k]), "+r"(d[k + 1]), "+r"(d[k + 2]), "+r"(d[k + 3])
#define R8(d, k) R4(d, k), R4(d, k + 4)
#define D4 "{%0,%1,%2,%3}"
#define D8 "{%0,%1,%2,%3,%4,%5,%6,%7}"
#define D16 "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}"
#define F32S(d, k) F8(d, k), F8(d, k + 8), F8(d, k + 16), F8(d, k + 24)
#define R32S(d, k) R8(d, k), R8(d, k + 8), R8(d, k + 16), R8(d, k + 24)
#define P32 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define P64 P32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define P128 P64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
#define D32 "{" P32 "}"
#define D64 "{" P64 "}"
#define D128 "{" P128 "}"

// Where 8x16-byte blocks begin; the next one in the depth is 128 bytes on, the next eight rows are 256 bytes on.
DEV u64 descriptor(const void *p, u32 lead = 128, u32 stride = 256) {
    return (u64)((shared_address(p) & 0x3ffff) >> 4) | ((u64)(lead >> 4) << 16) | ((u64)(stride >> 4) << 32);
}
DEV void group_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEV void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> DEV void group_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
// An accumulator that is read after a wait: the compiler must not take the value from before.
template <int N> DEV void settle(float (&d)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++) asm volatile("" : "+f"(d[k])::"memory");
}
template <int N> DEV void settle(u32 (&d)[N]) {
#pragma unroll
    for (int k = 0; k < N; k++) asm volatile("" : "+r"(d[k])::"memory");
}
// Fills shared memory with inputs, each made into a number by `make`.
template <typename F> DEV void fill(u32 *s, u32 words, const u32 *in, u32 n, F make) {
    for (u32 k = threadIdx.x; k < words; k += blockDim.x) s[k] = make(in[(blockIdx.x * 8191 + k) & (n - 1)]);
    fence_async();
    __syncthreads();
}
