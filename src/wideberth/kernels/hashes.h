/* Hashes of dense rows, by the widest vector instructions that the processor has. */

#ifndef WIDEBERTH_HASHES_H
#define WIDEBERTH_HASHES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "versions.h"

/* The bits of a number, −0 as 0, their two halves in one of 32 bits. */
static inline uint64_t mixed(double value)
{
    uint64_t bits;
    value += 0.0;
    memcpy(&bits, &value, sizeof bits);
    return (bits ^ (bits >> 32)) & UINT32_MAX;
}

/* hash_i += Σ_p r_p·mixed(s_i x_ip), rows of n_columns neighbours each, the next row
   `next` numbers on. */
#define HASHES(REAL)                                                                   \
    VERSIONS static void hashes_##REAL(const REAL *x, ptrdiff_t n_rows,                \
                                       ptrdiff_t n_columns, ptrdiff_t next,            \
                                       const double *signs, const uint32_t *factors,   \
                                       uint64_t *hashes)                               \
    {                                                                                  \
        for (ptrdiff_t i = 0; i < n_rows; i++, x += next) {                            \
            uint64_t total = hashes[i];                                                \
            double sign = signs[i];                                                    \
            for (ptrdiff_t p = 0; p < n_columns; p++)                                  \
                total += factors[p] * mixed(sign * x[p]);                              \
            hashes[i] = total;                                                         \
        }                                                                              \
    }

HASHES(double)
HASHES(float)
#undef HASHES

#endif
