// fp64: a stencil of 7 points that marches through z, with what it read before kept in registers.
#include "device.h"

GLOBAL void stencil64(int nx, int ny, int nz, const double *__restrict in, double *__restrict out, double c0, double c1) {
    int x = index() + 1, y = block_y() + 1;
    if (x >= nx - 1 || y >= ny - 1)
        return;
    int plane = nx * ny, at = y * nx + x;
    double below = in[at], here = in[at + plane];
    for (int z = 1; z < nz - 1; z++) {
        int p = at + z * plane;
        double above = in[p + plane];
        out[p] = c0 * here + c1 * (below + above + in[p - 1] + in[p + 1] + in[p - nx] + in[p + nx]);
        below = here;
        here = above;
    }
}

// A polynomial in straight code, with a division and a square root.
GLOBAL void poly64(int n, const double2 *in, double2 *out) {
    int i = index();
    if (i >= n)
        return;
    double2 v = in[i];
    double2 r = 1.0 / 5040.0;
    r = r * v + 1.0 / 720.0;
    r = r * v + 1.0 / 120.0;
    r = r * v + 1.0 / 24.0;
    r = r * v + 1.0 / 6.0;
    r = r * v + 0.5;
    r = r * v + 1.0;
    r = r * v + 1.0;
    double length = __nvvm_sqrt_rn_d(r.x * r.x + r.y * r.y);
    out[i] = r / length;
}
