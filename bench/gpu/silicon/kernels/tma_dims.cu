// Tensor copies in one, three, four and five dimensions, loads and stores: UTMALDG.1D UTMALDG.3D UTMALDG.4D UTMALDG.5D UTMASTG.1D UTMASTG.3D UTMASTG.4D UTMASTG.5D
// tensormap: yes
#include "async.cuh"
// Pairs of maps of `in` and `out` from the end of the input: 2, 1, 3, 4 and 5 dimensions; boxes are 256 words each.
DEV u64 map_of(const u32 *in, u32 n, u32 pair) { return global_address(in + n - 64 * (pair + 1)); }
#define BAR "r"(shared_address(&bar[k]))
#define LOAD(D, PLACES, ...) \
    asm volatile("cp.async.bulk.tensor." D ".shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {" PLACES "}], [%2];" ::"r"(shared_address(s[k])), "l"(from), BAR, __VA_ARGS__ : "memory")
#define STORE(D, PLACES, ...) \
    asm volatile("cp.async.bulk.tensor." D ".global.shared::cta.bulk_group [%0, {" PLACES "}], [%1];" ::"l"(to), "r"(shared_address(t[k])), __VA_ARGS__ : "memory")
KERNEL kernel(PARAMS) {
    __shared__ u64 bar[2];
    __shared__ __align__(128) u32 s[2][256], t[2][256];
    u32 x = get(in, n, 0);
    Chains w(x);
    if (tid() < 2) bar_init(&bar[tid()], 1);
    fence_init();
    __syncthreads();
    for (u32 r = 0; r < 8; r++) {
        const u32 k = r & 1, b = blockIdx.x, kind = r >> 1;  // stores of blocks and rounds never meet: each dimension has its own quarter
        const u64 from = map_of(in, n, kind + 1), to = from + 128;
        if (tid() == 0) {
            bulk_wait_read<1>();
            bar_expect(&bar[k], 1024);
            if (kind == 0) LOAD("1d", "%3", "r"(b * 4096 + r * 256));
            else if (kind == 1) LOAD("3d", "%3, %4, %5", "r"(32 * (r & 1)), "r"(4 * b), "r"(2 * b));
            else if (kind == 2) LOAD("4d", "%3, %4, %5, %6", "r"(16 * (r & 1)), "r"(4 * b), "r"(2 * (b & 3)), "r"(2 * b));
            else LOAD("5d", "%3, %4, %5, %6, %7", "r"(8 * (r & 1)), "r"(4 * (b & 3)), "r"(2 * b), "r"(2 * (b & 1)), "r"(2 * (b >> 1)));
        }
        w.step(x);
        bar_wait(&bar[k], (r >> 1) & 1);
        const u32 v = s[k][tid() ^ 37];
        w.step(v);
        t[k][tid()] = w.a;
        fence_async();
        __syncthreads();
        if (tid() == 0) {
            // The slowest place tells the dimensions apart: quarters of the output.
            if (kind == 0) STORE("1d", "%2", "r"(b * 4096 + (r & 1) * 256));
            else if (kind == 1) STORE("3d", "%2, %3, %4", "r"(32 * (r & 1)), "r"(4 * b), "r"(16 + 2 * b));
            else if (kind == 2) STORE("4d", "%2, %3, %4, %5", "r"(16 * (r & 1)), "r"(4 * b), "r"(2 * b), "r"(8));
            else STORE("5d", "%2, %3, %4, %5, %6", "r"(8 * (r & 1)), "r"(4 * b), "r"(0), "r"(0), "r"(6));
            bulk_commit();
        }
        x = mix(x, v);
        __syncthreads();
    }
    if (tid() == 0) bulk_wait<0>();
    out[1000000 + gid()] = w.end();
}
