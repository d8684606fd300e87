"""Gaussian measurements with errors of their own, LANES rows at a time.

A row x = true + error with true ~ N(μ, Σ) and error ~ N(0, E) is N(μ_o, S) in the
cells o that are there, S = (Σ + E)_oo. Everything here needs M = L⁻¹ where S = LLᵀ:

    S⁻¹ = MᵀM,  g = S⁻¹(x_o − μ_o),  log N(x_o; μ_o, S) = Σ log M_jj − ½‖M(x_o − μ_o)‖²

up to the constant of π. Rows of M for cells that are missing are 0, and so are those of
cells that the ones before them determine already (S singular). The row within LANES is
the innermost index of every array, so that processors compute several at once.
"""

from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY, exp, isnan, log, sqrt

import numpy as np

cdef extern from "lanes.h" nogil:
    const Py_ssize_t LANES
    void subtract_products(
        double *out, const double *a, const double *b, Py_ssize_t count
    )

cdef double HALF_LOG_TWO_PI = 0.5 * np.log(2.0 * np.pi)


#: What is known of LANES rows of d cells: vectors of LANES numbers, how many is said.
cdef struct Lanes:
    Py_ssize_t d
    double *S  # d×d, its lower triangle: S, then L
    double *M  # d×d, Mᵀ, its upper triangle
    double *off  # d: x − μ, 0 where a cell is missing
    double *seen  # d: 1 where a cell is there, else 0
    double *pivots  # d: 1/L_jj, or 0
    double *white  # d: M(x − μ)
    double *g  # d
    double *volumes  # 1: ΠM_jj, as far as it is not in the log densities
    double *logs  # 1: log densities


def e_step(
    const double[:, :] values,
    const double[:, :] variances,
    const double[:, :, :] covariances,
    const double[:] log_shares,
    const double[:, :] means,
    const double[:, :, :] spreads,
):
    """The sums of an E step over rows measured with errors.

    Parameters
    ----------
    values, variances : (n, d) arrays
        Measurements, NaN where a cell is missing, and the diagonals of E.
    covariances : (n, d, d) or (0, d, d) array
        E of all rows, if it is not diagonal.
    log_shares, means, spreads : (K,), (K, d) and (K, d, d) arrays
        log π_k, μ_k and Σ_k of the Gaussians.

    Returns
    -------
    (float, (K,), (K, d) and (K, d, d) arrays)
        The log likelihood Σ log Σ_k π_kN_k, and with the responsibilities γ_k ∝ π_kN_k
        of each row Σγ, Σγg and Σγ(ggᵀ − S⁻¹).
    """
    cdef Py_ssize_t n = values.shape[0], d = values.shape[1], K = means.shape[0]
    cdef Py_ssize_t start = 0, k
    # Sums of the rows at the same place within LANES, which are added up in the end.
    cdef double[:, ::1] counts = np.zeros((K, LANES))
    cdef double[:, :, ::1] slopes = np.zeros((K, d, LANES))
    cdef double[:, :, :, ::1] bends = np.zeros((K, d, d, LANES))
    cdef double[:, ::1] memory = np.empty((K, _size(d)))
    cdef double[:, ::1] shares = np.empty((K, LANES)), scaled = np.empty((d, LANES))
    cdef double likelihood = 0.0
    cdef Lanes at
    with nogil:
        while start < n:
            for k in range(K):
                at = lanes_in(&memory[k, 0], d)
                load(&at, values, variances, covariances, start, means[k], spreads[k])
                invert(&at)
            likelihood += share(memory, d, log_shares, shares, min(LANES, n - start))
            for k in range(K):
                at = lanes_in(&memory[k, 0], d)
                add_sums(
                    &at, &shares[k, 0], &scaled[0, 0],
                    &counts[k, 0], &slopes[k, 0, 0], &bends[k, 0, 0, 0],
                )
            start += LANES
    lower = np.asarray(bends).sum(axis=-1)
    full = lower + np.tril(lower, -1).transpose(0, 2, 1)
    return (
        likelihood,
        np.asarray(counts).sum(axis=-1),
        np.asarray(slopes).sum(axis=-1),
        full,
    )


def densities(
    const double[:, :] values,
    const double[:, :] variances,
    const double[:, :, :] covariances,
    const double[:] mean,
    const double[:, :] spread,
    bint with_inverses,
):
    """Log densities, g and S⁻¹ of rows measured with errors, under one Gaussian.

    Parameters
    ----------
    values, variances, covariances
        As of `e_step`.
    mean, spread : (d,) and (d, d) arrays
        μ and Σ.
    with_inverses : bool
        Whether S⁻¹ is wanted; otherwise it is an array of no rows.

    Returns
    -------
    ((n,), (n, d) and (n, d, d) or (0, d, d) arrays)
        log N(x_o; μ_o, S), g and S⁻¹, 0 in cells that are missing.
    """
    cdef Py_ssize_t n = values.shape[0], d = values.shape[1]
    cdef Py_ssize_t start = 0, rows, j, i, lane
    cdef double[::1] logs = np.empty(n)
    cdef double[:, ::1] gradients = np.empty((n, d))
    cdef double[:, :, ::1] inverses = np.empty((n if with_inverses else 0, d, d))
    cdef double[::1] memory = np.empty(_size(d)), minus = np.empty(LANES)
    cdef Lanes at = lanes_in(&memory[0], d)
    if not (  # no bounds are checked below, and a Gaussian may come from a file
        variances.shape[0] == n and variances.shape[1] == d == mean.shape[0]
        and spread.shape[0] == d == spread.shape[1]
        and (covariances.shape[0] == 0 or covariances.shape[0] == n)
        and covariances.shape[1] == d == covariances.shape[2]
    ):
        raise ValueError("measurements and Gaussian are not of the same features")
    with nogil:
        while start < n:
            rows = min(LANES, n - start)
            load(&at, values, variances, covariances, start, mean, spread)
            invert(&at)
            for lane in range(rows):
                logs[start + lane] = at.logs[lane]
                for j in range(d):
                    gradients[start + lane, j] = at.g[j * LANES + lane]
            if with_inverses:
                for j in range(d):
                    for i in range(j + 1):
                        fill(&minus[0], 0.0)
                        subtract_products(
                            &minus[0], at.M + (j * d + j) * LANES,
                            at.M + (i * d + j) * LANES, d - j,
                        )
                        for lane in range(rows):
                            inverses[start + lane, j, i] = -minus[lane]
                            inverses[start + lane, i, j] = -minus[lane]
            start += LANES
    return np.asarray(logs), np.asarray(gradients), np.asarray(inverses)


def _size(d):
    """How many numbers `Lanes` of d cells hold."""
    return (2 * d * d + 5 * d + 2) * LANES


cdef Lanes lanes_in(double *memory, Py_ssize_t d) noexcept nogil:
    cdef Lanes at
    at.d, at.S = d, memory
    at.M = at.S + d * d * LANES
    at.off = at.M + d * d * LANES
    at.seen = at.off + d * LANES
    at.pivots = at.seen + d * LANES
    at.white = at.pivots + d * LANES
    at.g = at.white + d * LANES
    at.volumes = at.g + d * LANES
    at.logs = at.volumes + LANES
    return at


cdef void load(
    Lanes *at,
    const double[:, :] values,
    const double[:, :] variances,
    const double[:, :, :] covariances,
    Py_ssize_t start,
    const double[:] mean,
    const double[:, :] spread,
) noexcept nogil:
    """S, x − μ and which cells are there, of the rows from `start`."""
    cdef Py_ssize_t j, i, lane, d = at.d, rows = min(LANES, values.shape[0] - start)
    cdef bint correlated = covariances.shape[0] > 0
    cdef double value
    for j in range(d):
        for i in range(j + 1):
            fill(at.S + (j * d + i) * LANES, spread[j, i])
        fill(at.off + j * LANES, 0.0)
        fill(at.seen + j * LANES, 0.0)
        for lane in range(rows):
            value = values[start + lane, j]
            if isnan(value):
                continue
            at.off[j * LANES + lane] = value - mean[j]
            at.seen[j * LANES + lane] = 1.0
            if correlated:
                for i in range(j + 1):
                    at.S[(j * d + i) * LANES + lane] += covariances[start + lane, j, i]
            else:
                at.S[(j * d + j) * LANES + lane] += variances[start + lane, j]


cdef void invert(Lanes *at) noexcept nogil:
    """M, g and the log densities; S is overwritten by L."""
    cdef Py_ssize_t j, i, lane, d = at.d
    cdef double *cell
    cdef double *pivots
    cdef double *white
    fill(at.logs, 0.0)
    fill(at.volumes, 1.0)
    for j in range(d):
        pivots, white = at.pivots + j * LANES, at.white + j * LANES
        for i in range(j):  # L_ji = (S_ji − Σ_p L_jp L_ip)/L_ii
            cell = at.S + (j * d + i) * LANES
            subtract_products(cell, at.S + j * d * LANES, at.S + i * d * LANES, i)
            scale(cell, at.pivots + i * LANES)
        cell = at.S + (j * d + j) * LANES
        for lane in range(LANES):
            pivots[lane] = d * DBL_EPSILON * cell[lane]  # for now: what counts as 0
        subtract_products(cell, at.S + j * d * LANES, at.S + j * d * LANES, j)
        for lane in range(LANES):
            if at.seen[j * LANES + lane] > 0.0 and cell[lane] > pivots[lane]:
                pivots[lane] = 1.0 / sqrt(cell[lane])
                at.volumes[lane] *= pivots[lane]
                at.logs[lane] -= HALF_LOG_TWO_PI
                if not 1e-150 < at.volumes[lane] < 1e150:  # the next might overflow
                    at.logs[lane] += log(at.volumes[lane])
                    at.volumes[lane] = 1.0
            else:
                pivots[lane] = 0.0
        for i in range(j):  # M_ji = −Σ_p L_jp M_pi / L_jj
            cell = at.M + (i * d + j) * LANES
            fill(cell, 0.0)
            subtract_products(
                cell, at.S + (j * d + i) * LANES, at.M + (i * d + i) * LANES, j - i
            )
            scale(cell, pivots)
        copy(at.M + (j * d + j) * LANES, pivots)
        copy(white, at.off + j * LANES)  # L·white = x − μ
        subtract_products(white, at.S + j * d * LANES, at.white, j)
        for lane in range(LANES):
            white[lane] *= pivots[lane]
            at.logs[lane] -= 0.5 * white[lane] * white[lane]
    for lane in range(LANES):
        at.logs[lane] += log(at.volumes[lane])
    for i in range(d):  # −g = −Mᵀ·white
        fill(at.g + i * LANES, 0.0)
        subtract_products(
            at.g + i * LANES, at.M + (i * d + i) * LANES, at.white + i * LANES, d - i
        )
        for lane in range(LANES):
            at.g[i * LANES + lane] = -at.g[i * LANES + lane]


cdef double share(
    double[:, ::1] memory,
    Py_ssize_t d,
    const double[:] log_shares,
    double[:, ::1] shares,
    Py_ssize_t rows,
) noexcept nogil:
    """Write γ_k ∝ π_kN_k, 0 beyond the rows; return Σ log Σ_kπ_kN_k over the rows."""
    cdef Py_ssize_t k, lane, K = log_shares.shape[0]
    cdef double total = 0.0, largest, norm
    for k in range(K):
        fill(&shares[k, 0], 0.0)
    for lane in range(rows):
        largest, norm = -INFINITY, 0.0
        for k in range(K):
            shares[k, lane] = log_shares[k] + lanes_in(&memory[k, 0], d).logs[lane]
            largest = max(largest, shares[k, lane])
        for k in range(K):
            shares[k, lane] = exp(shares[k, lane] - largest)
            norm += shares[k, lane]
        for k in range(K):
            shares[k, lane] /= norm
        total += largest + log(norm)
    return total


cdef void add_sums(
    const Lanes *at,
    const double *shares,
    double *scaled,
    double *counts,
    double *slopes,
    double *bends,
) noexcept nogil:
    """Add γ, γg and γ(ggᵀ − S⁻¹), lane by lane; `scaled` is memory for d vectors."""
    cdef Py_ssize_t j, i, p, lane, d = at.d
    cdef double *out
    for lane in range(LANES):
        counts[lane] += shares[lane]
    for j in range(d):
        for p in range(j, d):
            for lane in range(LANES):
                scaled[p * LANES + lane] = (
                    shares[lane] * at.M[(j * d + p) * LANES + lane]
                )
        for i in range(j + 1):
            out = bends + (j * d + i) * LANES
            subtract_products(
                out, scaled + j * LANES, at.M + (i * d + j) * LANES, d - j
            )
            for lane in range(LANES):
                out[lane] += (
                    shares[lane] * at.g[j * LANES + lane] * at.g[i * LANES + lane]
                )
        for lane in range(LANES):
            slopes[j * LANES + lane] += shares[lane] * at.g[j * LANES + lane]


cdef inline void fill(double *vector, double value) noexcept nogil:
    cdef Py_ssize_t lane
    for lane in range(LANES):
        vector[lane] = value


cdef inline void copy(double *vector, const double *other) noexcept nogil:
    cdef Py_ssize_t lane
    for lane in range(LANES):
        vector[lane] = other[lane]


cdef inline void scale(double *vector, const double *factors) noexcept nogil:
    cdef Py_ssize_t lane
    for lane in range(LANES):
        vector[lane] *= factors[lane]
