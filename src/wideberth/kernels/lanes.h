/* Sums of products of LANES rows side by side, by the widest vector instructions that
   the processor has. Where GCC compiles for glibc there are several versions of the
   function, and the loader chooses the best one; elsewhere there is a plain one. */

#ifndef WIDEBERTH_LANES_H
#define WIDEBERTH_LANES_H

#include <stddef.h>
#include <stdlib.h> /* says __GLIBC__ */

/* Number of rows: 16 take a tenth longer, and the squares of 30 features still fit a
   processor's cache. */
#define LANES 32

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define VERSIONS \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VERSIONS
#endif

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
