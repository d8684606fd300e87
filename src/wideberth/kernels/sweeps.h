/* One epoch of dual coordinate ascent, by the widest vector instructions that the
   processor has; `sweeps.pyx` states the problem. The rows are dense with neighbouring
   columns, dense with a stride, or CSR, of float or double. */

#ifndef WIDEBERTH_SWEEPS_H
#define WIDEBERTH_SWEEPS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "versions.h"

/* Number of consecutive rows that are visited together: in random order such runs are
   about as good as single rows, and quicker where rows come from memory. */
#define RUN 4
/* Most Newton steps along a coordinate: rounding may keep them going. */
#define MOST_STEPS 100
/* Share of its slope at the start at which a coordinate counts as maximised. */
#define FLAT 1e-9
/* So much more of c − α as makes α + (c − α) at least c, rounded. */
#define ROUNDED_UP (1 + 2 * DBL_EPSILON)
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#define SMALLER(a, b) ((a) < (b) ? (a) : (b))

#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#define PREFETCH(place) __builtin_prefetch(place)
#else
#define INLINED static inline
#define PREFETCH(place) ((void)0)
#endif

typedef struct {
    /* The samples: y_i, m_i, c_i, ρ_i, ‖x_i‖². */
    const double *y, *targets, *weights, *radii, *squares;
    ptrdiff_t n_features;
    /* β = 1/λ_b, and the dual point: α, d, s, ‖d‖², b and Σα_iy_i. */
    double beta, *alpha, *d, s, norm2, b, balance;
    /* The rows to visit, in ascending order, and memory for an order of their runs. */
    ptrdiff_t *active, n_active, *runs;
    /* State of the generator of random numbers. */
    uint64_t random;
    /* Rows at a bound leave whose slack asks for it by more than `below` at 0 and by
       more than `above` at c_i: the largest slacks in an epoch that ask to leave these
       bounds. Both are read and written. */
    double below, above;
    /* Σ c_i[u_i]_+ − α_iu_i as the rows were visited, the rise of D, and what was read. */
    double gap, rise, entries;
    /* Whether rows are only looked at, in their order, and nothing moves. */
    int looks;
} Ascent;

/* A number below n < 2³² from splitmix64 (Steele, Lea and Flood, OOPSLA 2014). */
INLINED uint64_t number_below(uint64_t *random, uint64_t n)
{
    uint64_t z = (*random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    z ^= z >> 31;
    return ((z >> 32) * n) >> 32;
}

/* [‖d‖ − s]_+. */
INLINED double norm_of_w(const Ascent *at)
{
    double length = sqrt(at->norm2) - at->s;
    return length > 0 ? length : 0;
}

/* The derivative of D along the coordinate at t, and minus the second one. */
INLINED double slope_at(double t, double along, double square, double norm2, double s,
                        double radius, double linear, double beta, double *curvature)
{
    double q2 = norm2 + t * (2 * along + t * square), q = sqrt(q2 > 0 ? q2 : 0);
    double noise = s + t * radius, length = q - (noise > 0 ? noise : 0), rate, slope;
    double rest;
    if (length <= 0) {
        *curvature = beta;
        return linear - t * beta;
    }
    rate = (along + t * square) / q;
    slope = rate - radius; /* of ‖w‖ in t */
    rest = square - rate * rate;
    *curvature = beta + slope * slope + length * (rest > 0 ? rest : 0) / q;
    return linear - t * beta - length * slope;
}

/* The maximiser over low ≤ t ≤ high of D along one coordinate, by safeguarded Newton
   steps on the derivative from `slope` and `curvature` at 0. */
INLINED double maximiser(double slope, double curvature, double along, double square,
                         double norm2, double s, double radius, double linear,
                         double beta, double low, double high)
{
    double t = 0, ahead, tiny = FLAT * fabs(slope);
    int at_edge = 0;
    if (slope == 0 || (slope > 0 ? high <= 0 : low >= 0))
        return 0;
    if (slope > 0)
        low = 0;
    else
        high = 0;
    for (int k = 0; k < MOST_STEPS; k++) {
        if (curvature > 0)
            ahead = t + slope / curvature;
        else
            ahead = slope > 0 ? INFINITY : -INFINITY;
        if (!(low < ahead && ahead < high)) {
            if (at_edge) {
                ahead = 0.5 * (low + high);
            } else { /* the edge of the box that the slope points to */
                ahead = ahead >= high ? high : low;
                at_edge = 1;
            }
        }
        if (ahead == t)
            break;
        t = ahead;
        slope = slope_at(t, along, square, norm2, s, radius, linear, beta, &curvature);
        if (slope > 0)
            low = t;
        else
            high = t;
        if (fabs(slope) <= tiny || low == high)
            break;
    }
    return t;
}

#define REAL double
#define NAMED(name) name##_double
#include "sweeps_rows.h"
#undef REAL
#undef NAMED
#define REAL float
#define NAMED(name) name##_float
#include "sweeps_rows.h"
#undef REAL
#undef NAMED

#endif
