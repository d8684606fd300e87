/* Sums of products of LANES rows side by side, by the widest vector instructions that
   the processor has. */

#ifndef WIDEBERTH_LANES_H
#define WIDEBERTH_LANES_H

#include <stddef.h>
#include "versions.h"

/* Number of rows: 16 take a tenth longer, and the squares of 30 features still fit a
   processor's cache. */
#define LANES 32

/* out −= Σ_p a_p·b_p, lane by lane; a and b are vectors of LANES numbers each, one
   after the other, and out is none of them. */
VERSIONS
static void subtract_products(double *out, const double *a, const double *b,
                              ptrdiff_t count)
{
    double sums[LANES];
    if (count <= 0)
        return;
    for (int lane = 0; lane < LANES; lane++)
        sums[lane] = a[lane] * b[lane];
    for (count--; count > 0; count--) {
        a += LANES;
        b += LANES;
        for (int lane = 0; lane < LANES; lane++)
            sums[lane] += a[lane] * b[lane];
    }
    for (int lane = 0; lane < LANES; lane++)
        out[lane] -= sums[lane];
}

#endif
