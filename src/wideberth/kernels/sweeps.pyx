"""Exact dual coordinate ascent over dense or CSR rows (theory §6.2).

    max D(α) = Σm_iα_i − ½[‖d‖ − s]_+² − ½β(Σα_iy_i)²,   0 ≤ α_i ≤ c_i,
    d = Σα_iz_i,  z_i = y_ix_i,  s = Σα_iρ_i,  β = 1/λ_b (0 without an intercept)

d, s and Σα_iy_i may include constants, as those of folded samples. Along one coordinate
D depends on ‖d‖², ⟨d,z_i⟩, ‖z_i‖², s, ρ_i and Σα_iy_i alone, so its maximiser costs one
read of the row, a few scalar Newton steps, and, if α_i moves, one update of d. Without
noise the first step is exact (Hsieh et al., ICML 2008). Sums of what was added and taken
away may round to less than 0; ‖d‖² and s are kept ≥ 0, for beside d = 0 an s < 0 would
give a w ≠ 0 without a direction.

Random orders come from the generator below: the same seed gives the same order on every
platform. Nothing here certifies; callers evaluate what they get.
"""

from libc.math cimport INFINITY, fabs, sqrt
from libc.stdint cimport uint64_t

import numpy as np
import scipy.sparse as sp

ctypedef fused real:
    float
    double

ctypedef fused index:
    int
    long long

cdef enum:
    #: Number of consecutive rows that are visited together; longer runs cost epochs.
    RUN = 4
    #: Number of Newton steps along a coordinate, at most: rounding may keep them going.
    MOST_STEPS = 100

#: Share of its slope at the start at which a coordinate counts as maximised.
cdef double FLAT = 1e-9


#: The samples, the dual point, and the rows to visit.
cdef struct Ascent:
    const double *y
    const double *targets  # m_i
    const double *weights  # c_i
    const double *radii  # ρ_i
    const double *norms  # ‖x_i‖
    Py_ssize_t n
    double beta
    double *alpha
    double *d
    Py_ssize_t n_features
    double s
    double balance  # Σα_iy_i
    Py_ssize_t *active
    Py_ssize_t n_active
    Py_ssize_t *runs  # memory for the order of the runs
    uint64_t random


def layout(X):
    """The rows of a dense or CSR matrix as the first arguments of `sweep`.

    CSR, or a flat array with the distances from row to row and from column to column.
    """
    if sp.issparse(X):
        return X.data, X.indices, X.indptr, 0, 0
    if not (X.flags.c_contiguous or X.flags.f_contiguous):
        X = np.ascontiguousarray(X)
    nothing = np.empty(0, dtype=np.intc)
    next_row, next_column = (X.shape[1], 1) if X.flags.c_contiguous else (1, X.shape[0])
    return X.ravel(order="K"), nothing, nothing, next_row, next_column


def sweep(
    const real[::1] data,
    const index[::1] indices,
    const index[::1] indptr,
    Py_ssize_t next_row,
    Py_ssize_t next_column,
    const double[::1] y,
    const double[::1] targets,
    const double[::1] weights,
    const double[::1] radii,
    const double[::1] norms,
    double beta,
    Py_ssize_t[::1] active,
    const uint64_t[::1] seeds,
    double[::1] alpha,
    double[::1] d,
    double s,
    double balance,
):
    """Maximise D over each α_i of the active rows in turn, once for every seed.

    Parameters
    ----------
    data, indices, indptr, next_row, next_column
        The rows x_i, from `layout`.
    y, targets, weights, radii, norms : arrays of n
        y_i = ±1, m_i, c_i, ρ_i and ‖x_i‖.
    beta : float
        β.
    active : array of int
        The rows to visit.
    seeds : array of uint64
        Each draws the order of one epoch.
    alpha, d : arrays of n and of the features
        α and d: read and updated.
    s, balance : float
        s and Σα_iy_i.

    Returns
    -------
    (float, float)
        s and Σα_iy_i after the last epoch.
    """
    cdef Py_ssize_t[::1] runs = _memory_for_runs(active.shape[0])
    cdef Ascent at
    cdef Py_ssize_t k
    if active.shape[0] == 0:
        return s, balance
    at.y, at.targets, at.weights = &y[0], &targets[0], &weights[0]
    at.radii, at.norms, at.n, at.beta = &radii[0], &norms[0], y.shape[0], beta
    at.alpha, at.d, at.n_features = &alpha[0], &d[0], d.shape[0]
    at.s, at.balance = s, balance
    at.active, at.n_active, at.runs = &active[0], active.shape[0], &runs[0]
    with nogil:
        for k in range(seeds.shape[0]):
            at.random = seeds[k]
            epoch(&data[0], &indices[0], &indptr[0], next_row, next_column, &at)
    return at.s, at.balance


def _memory_for_runs(n):
    return np.empty(n // RUN + 2, dtype=np.intp)


# -- one epoch -------------------------------------------------------------------------


cdef void epoch(
    const real *data,
    const index *indices,
    const index *indptr,
    Py_ssize_t next_row,
    Py_ssize_t next_column,
    Ascent *at,
) noexcept nogil:
    """Maximise D over each α_i of the active rows, in random order.

    Short runs of rows that follow each other, cut at a random place, come in random
    order: about as good as a full permutation for the ascent, and quicker where rows
    come from memory.
    """
    cdef Py_ssize_t r, k, i, cut, n_runs
    cdef double y, along, square, step, low, high, linear
    cdef double norm2 = dot(at.d, at.d, at.n_features)
    cut = below(&at.random, RUN)
    n_runs = (at.n_active + cut + RUN - 1) // RUN
    shuffle(at.runs, n_runs, &at.random)
    for r in range(n_runs):
        k = at.runs[r] * RUN - cut
        for k in range(max(k, 0), min(k + RUN, at.n_active)):
            i = at.active[k]
            y, low, high = at.y[i], -at.alpha[i], at.weights[i] - at.alpha[i]
            linear = at.targets[i] - y * at.balance * at.beta
            along = y * dot_row(
                data, indices, indptr, next_row, next_column, i, at.d, at.n_features
            )
            square = at.norms[i] * at.norms[i]
            step = best_step(
                along, square, norm2, at.s, at.radii[i], linear, at.beta, low, high
            )
            if step == 0.0:
                continue
            at.alpha[i] = at.weights[i] if step == high else max(step - low, 0.0)
            add_row(
                data, indices, indptr, next_row, next_column, i, y * step, at.d,
                at.n_features,
            )
            norm2 = max(norm2 + step * (2.0 * along + step * square), 0.0)
            at.s = max(at.s + step * at.radii[i], 0.0)
            at.balance += step * y


cpdef inline double best_step(
    double along,
    double square,
    double norm2,
    double s,
    double radius,
    double linear,
    double beta,
    double low,
    double high,
) noexcept nogil:
    """The maximiser over low ≤ t ≤ high of D along one coordinate.

    `along` is ⟨d,z_i⟩, `square` ‖z_i‖², `norm2` ‖d‖², `linear` m_i − βy_iΣα_jy_j. By
    safeguarded Newton steps on the derivative.
    """
    cdef double t = 0.0, slope, curvature, ahead, tiny
    cdef bint at_edge = False
    cdef int k
    if s <= 0.0 and radius == 0.0 and square + beta > 0.0:  # no noise: a parabola
        return min(max((linear - along) / (square + beta), low), high)
    slope = slope_at(0.0, along, square, norm2, s, radius, linear, beta, &curvature)
    if slope == 0.0 or (high <= 0.0 if slope > 0.0 else low >= 0.0):
        return 0.0
    if slope > 0.0:
        low = 0.0
    else:
        high = 0.0
    tiny = FLAT * fabs(slope)
    for k in range(MOST_STEPS):
        if curvature > 0.0:
            ahead = t + slope / curvature
        else:
            ahead = INFINITY if slope > 0.0 else -INFINITY
        if not low < ahead < high:
            if at_edge:
                ahead = 0.5 * (low + high)
            else:  # the edge of the box that the slope points to
                ahead = min(max(ahead, low), high)
                at_edge = True
        if ahead == t:
            break
        t = ahead
        slope = slope_at(t, along, square, norm2, s, radius, linear, beta, &curvature)
        if slope > 0.0:
            low = t
        else:
            high = t
        if fabs(slope) <= tiny or low == high:
            break
    return t


cdef inline double slope_at(
    double t,
    double along,
    double square,
    double norm2,
    double s,
    double radius,
    double linear,
    double beta,
    double *curvature,
) noexcept nogil:
    """The derivative of D along the coordinate at t; minus the second is written."""
    cdef double q = sqrt(max(norm2 + t * (2.0 * along + t * square), 0.0))
    cdef double length = q - max(s + t * radius, 0.0)  # ‖w‖ at t
    cdef double rate, slope
    if length <= 0.0:
        curvature[0] = beta
        return linear - t * beta
    rate = (along + t * square) / q
    slope = rate - radius  # of ‖w‖ in t
    curvature[0] = beta + slope * slope + length * max(square - rate * rate, 0.0) / q
    return linear - t * beta - length * slope


# -- rows ------------------------------------------------------------------------------


cdef inline double dot_row(
    const real *data,
    const index *indices,
    const index *indptr,
    Py_ssize_t next_row,
    Py_ssize_t next_column,
    Py_ssize_t i,
    const double *d,
    Py_ssize_t size,
) noexcept nogil:
    """⟨x_i,d⟩, four partial sums at a time."""
    cdef double sums[4]
    cdef double total = 0.0
    cdef Py_ssize_t j, p = 0
    if next_row > 0 and next_column == 1:
        return dot(data + i * next_row, d, size)
    for j in range(4):
        sums[j] = 0.0
    if next_row > 0:
        data += i * next_row
        while p + 4 <= size:
            for j in range(4):
                sums[j] += d[p + j] * data[(p + j) * next_column]
            p += 4
        while p < size:
            total += d[p] * data[p * next_column]
            p += 1
    else:
        p, size = indptr[i], indptr[i + 1]
        while p + 4 <= size:
            for j in range(4):
                sums[j] += d[indices[p + j]] * data[p + j]
            p += 4
        while p < size:
            total += d[indices[p]] * data[p]
            p += 1
    return total + ((sums[0] + sums[1]) + (sums[2] + sums[3]))


cdef inline double dot(const real *x, const double *d, Py_ssize_t size) noexcept nogil:
    """⟨x,d⟩, eight partial sums at a time."""
    cdef double sums[8]
    cdef double total = 0.0
    cdef Py_ssize_t j, p = 0
    for j in range(8):
        sums[j] = 0.0
    while p + 8 <= size:
        for j in range(8):
            sums[j] += d[p + j] * x[p + j]
        p += 8
    while p < size:
        total += d[p] * x[p]
        p += 1
    for j in range(8):
        total += sums[j]
    return total


cdef inline void add_row(
    const real *data,
    const index *indices,
    const index *indptr,
    Py_ssize_t next_row,
    Py_ssize_t next_column,
    Py_ssize_t i,
    double step,
    double *d,
    Py_ssize_t size,
) noexcept nogil:
    """d += step·x_i."""
    cdef Py_ssize_t p
    data += i * next_row
    if next_row == 0:
        for p in range(indptr[i], indptr[i + 1]):
            d[indices[p]] += step * data[p]
    elif next_column == 1:
        for p in range(size):
            d[p] += step * data[p]
    else:
        for p in range(size):
            d[p] += step * data[p * next_column]


# -- random orders ---------------------------------------------------------------------


cdef inline uint64_t below(uint64_t *random, uint64_t n) noexcept nogil:
    """A number below n < 2³² from splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    cdef uint64_t z
    random[0] += <uint64_t> 0x9E3779B97F4A7C15
    z = random[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    z = z ^ (z >> 31)
    return ((z >> 32) * n) >> 32


cdef inline void shuffle(
    Py_ssize_t *order, Py_ssize_t n, uint64_t *random
) noexcept nogil:
    """Write a random order of range(n) (Fisher and Yates, from inside out)."""
    cdef Py_ssize_t k, j
    for k in range(n):
        j = below(random, k + 1)
        order[k] = order[j]
        order[j] = k
