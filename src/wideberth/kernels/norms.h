/* Norms of dense rows, by the widest vector instructions that the processor has. */

#ifndef WIDEBERTH_NORMS_H
#define WIDEBERTH_NORMS_H

#include <math.h>
#include <stddef.h>
#include "versions.h"

/* out_i = ‖x_i‖, rows of n_columns neighbours each, the next row `next` numbers on;
   eight partial sums at a time. */
#define NORMS(REAL)                                                                    \
    VERSIONS static void norms_##REAL(const REAL *x, ptrdiff_t n_rows,                 \
                                      ptrdiff_t n_columns, ptrdiff_t next,             \
                                      double *out)                                     \
    {                                                                                  \
        for (ptrdiff_t i = 0; i < n_rows; i++, x += next) {                            \
            double sums[8] = {0}, rest = 0;                                            \
            ptrdiff_t p = 0;                                                           \
            for (; p + 8 <= n_columns; p += 8)                                         \
                for (int j = 0; j < 8; j++)                                            \
                    sums[j] += (double)x[p + j] * x[p + j];                            \
            for (; p < n_columns; p++)                                                 \
                rest += (double)x[p] * x[p];                                           \
            for (int j = 0; j < 4; j++)                                                \
                sums[j] += sums[j + 4];                                                \
            out[i] = sqrt(rest + ((sums[0] + sums[2]) + (sums[1] + sums[3])));         \
        }                                                                              \
    }

NORMS(double)
NORMS(float)
#undef NORMS

#endif
