"""Compiled: Gaussian measurements with errors of their own, a few rows at a time.

A row x = true + error with true ~ N(μ, Σ) and error ~ N(0, E) is N(μ_o, S) in the
cells o that are there, S = (Σ + E)_oo. Everything here needs M = L⁻¹ where S = LLᵀ:

    S⁻¹ = MᵀM,  g = S⁻¹(x_o − μ_o),  log N(x_o; μ_o, S) = Σ log M_jj − ½‖M(x_o − μ_o)‖²

up to the constant of π. Rows of M for cells that are missing are 0, and so are those of
cells that the ones before them determine already (S singular). Rows are treated LANES
at a time, the innermost index, so that processors compute several at once.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem.jit import jit

#: Rows that are treated together: compilers make vector instructions of a count that is
#: known and not small, and the squares of 30 features still fit a processor's cache.
LANES = 64
_EPS = float(np.finfo(np.float64).eps)
_LOG_TWO_PI = float(np.log(2.0 * np.pi))


@jit
def _load(values, variances, covariances, start, mean, spread, S, off, seen):
    """S, x − μ and which cells are there, of the rows from `start`."""
    n, d = values.shape
    correlated = covariances.shape[0] > 0
    for j in range(d):
        for i in range(j + 1):
            S[j, i, :] = spread[j, i]
        for lane in range(LANES):
            row = start + lane
            there = row < n and not np.isnan(values[row, j])
            seen[j, lane] = there
            off[j, lane] = values[row, j] - mean[j] if there else 0.0
            if there and correlated:
                for i in range(j + 1):
                    S[j, i, lane] += covariances[row, j, i]
            elif there:
                S[j, j, lane] += variances[row, j]


@jit
def _invert(S, off, seen, M, g, logs, pivots, sums):
    """M, g and the log densities of LANES rows; S is overwritten by L."""
    d = off.shape[0]
    logs[:] = 0.0
    for j in range(d):
        for i in range(j + 1):
            for lane in range(LANES):
                sums[lane] = S[j, i, lane]
            for p in range(i):
                for lane in range(LANES):
                    sums[lane] -= S[j, p, lane] * S[i, p, lane]
            if i < j:
                for lane in range(LANES):
                    S[j, i, lane] = sums[lane] * pivots[i, lane]
        for lane in range(LANES):
            pivots[j, lane] = 0.0
            if seen[j, lane] and sums[lane] > d * _EPS * S[j, j, lane]:
                pivots[j, lane] = 1.0 / np.sqrt(sums[lane])
                logs[lane] += np.log(pivots[j, lane]) - 0.5 * _LOG_TWO_PI
    g[:] = 0.0
    for j in range(d):
        for i in range(j):
            sums[:] = 0.0
            for p in range(i, j):
                for lane in range(LANES):
                    sums[lane] -= S[j, p, lane] * M[p, i, lane]
            for lane in range(LANES):
                M[j, i, lane] = sums[lane] * pivots[j, lane]
        for lane in range(LANES):
            M[j, j, lane] = pivots[j, lane]
        sums[:] = 0.0
        for i in range(j + 1):
            for lane in range(LANES):
                sums[lane] += M[j, i, lane] * off[i, lane]
        for lane in range(LANES):
            logs[lane] -= 0.5 * sums[lane] ** 2
        for i in range(j + 1):
            for lane in range(LANES):
                g[i, lane] += M[j, i, lane] * sums[lane]


@jit
def _square(M, j, i, sums):
    """Entry (j, i) of S⁻¹ = MᵀM for i ≤ j."""
    sums[:] = 0.0
    for p in range(j, M.shape[0]):
        for lane in range(LANES):
            sums[lane] += M[p, j, lane] * M[p, i, lane]


@jit
def _share(logs, log_shares, shares):
    """Responsibilities γ_k ∝ π_k N_k of LANES rows; their log densities Σπ_k N_k."""
    total = np.empty(LANES)
    for lane in range(LANES):
        largest = -np.inf
        for k in range(len(log_shares)):
            shares[k, lane] = log_shares[k] + logs[k, lane]
            largest = max(largest, shares[k, lane])
        norm = 0.0
        for k in range(len(log_shares)):
            shares[k, lane] = np.exp(shares[k, lane] - largest)
            norm += shares[k, lane]
        for k in range(len(log_shares)):
            shares[k, lane] /= norm
        total[lane] = largest + np.log(norm)
    return total


@jit
def add_sums(
    values,
    variances,
    covariances,
    log_shares,
    means,
    spreads,
    counts,
    slopes,
    bends,
):
    """Add Σγ, Σγg and Σγ(ggᵀ − S⁻¹) of all rows; return their log likelihood."""
    n, d = values.shape
    K = len(log_shares)
    S, off = np.empty((d, d, LANES)), np.empty((d, LANES))
    seen = np.empty((d, LANES), dtype=np.bool_)
    pivots, sums = np.empty((d, LANES)), np.empty(LANES)
    M, g = np.empty((K, d, d, LANES)), np.empty((K, d, LANES))
    logs, shares = np.empty((K, LANES)), np.empty((K, LANES))
    likelihood = 0.0
    for start in range(0, n, LANES):
        rows = len(values[start : start + LANES])
        for k in range(K):
            _load(
                values,
                variances,
                covariances,
                start,
                means[k],
                spreads[k],
                S,
                off,
                seen,
            )
            _invert(S, off, seen, M[k], g[k], logs[k], pivots, sums)
        total = _share(logs, log_shares, shares)
        for lane in range(rows):
            likelihood += total[lane]
        for k in range(K):
            shares[k, rows:] = 0.0
            counts[k] += shares[k].sum()
            for j in range(d):
                slopes[k, j] += (shares[k] * g[k, j]).sum()
                for i in range(j + 1):
                    _square(M[k], j, i, sums)
                    bend = 0.0
                    for lane in range(rows):
                        outer = g[k, j, lane] * g[k, i, lane]
                        bend += shares[k, lane] * (outer - sums[lane])
                    bends[k, j, i] += bend
    for k in range(K):
        for j in range(d):
            for i in range(j):
                bends[k, i, j] = bends[k, j, i]
    return likelihood


@jit
def rows_of(values, variances, covariances, mean, spread, logs, gradients, inverses):
    """Fill log densities, g and, where there is room for them, S⁻¹ of all rows."""
    n, d = values.shape
    S, off = np.empty((d, d, LANES)), np.empty((d, LANES))
    seen = np.empty((d, LANES), dtype=np.bool_)
    pivots, sums = np.empty((d, LANES)), np.empty(LANES)
    M, g, densities = np.empty((d, d, LANES)), np.empty((d, LANES)), np.empty(LANES)
    for start in range(0, n, LANES):
        rows = len(values[start : start + LANES])
        _load(values, variances, covariances, start, mean, spread, S, off, seen)
        _invert(S, off, seen, M, g, densities, pivots, sums)
        for lane in range(rows):
            logs[start + lane] = densities[lane]
            for j in range(d):
                gradients[start + lane, j] = g[j, lane]
        if len(inverses) > 0:
            for j in range(d):
                for i in range(j + 1):
                    _square(M, j, i, sums)
                    for lane in range(rows):
                        inverses[start + lane, j, i] = sums[lane]
                        inverses[start + lane, i, j] = sums[lane]
