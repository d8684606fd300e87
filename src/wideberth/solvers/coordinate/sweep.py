"""Epochs of exact dual coordinate ascent, compiled (theory §6.2).

    max D(α) = Σα_i − ½[‖d‖ − s]_+² − ½λ_b b²,   0 ≤ α_i ≤ c_i,
    d = Σα_i z_i (+ what is folded),  s = Σα_iρ_i,  b = β Σα_i y_i,  β = 1/λ_b

Along one coordinate D depends on ‖d‖², ⟨d,z_i⟩, ‖z_i‖², s, ρ_i and b alone, so its
maximiser costs one read of the row, a few scalar Newton steps, and, if α_i moves, one
update of d. Without noise the first step is exact (Hsieh et al., ICML 2008). Sums of
what was added and taken away may round to less than 0; ‖d‖² and s are held above it,
for beside d = 0 an s < 0 would leave a w ≠ 0 without a direction.

Indices come as unsigned integers: numba then skips the test for negative ones, which
halves the time of a sparse dot product. Reassociating its sum (fastmath) would make it
use gather instructions, which are slower than plain loads on current processors; that
of a dense row, which lies in one piece, takes a sixth of the time so.
"""

from __future__ import annotations

import math

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.jit import jit, jit_reordered
from wideberth.problem.layouts import SparseRows
from wideberth.problem.limits import MOST_STEPS
from wideberth.problem.rows import Rows
from wideberth.solvers.coordinate.face import inverse_penalty

#: Consecutive rows that are visited together; longer runs cost epochs.
RUN = 4
#: Share of its slope at the start at which a coordinate counts as maximised.
_FLAT = 1e-9


class Sweeper:
    """Chosen rows of a problem, ready to be swept: copied where few, else in place."""

    def __init__(self, problem: Problem, chosen: np.ndarray):
        few = 2 * chosen.size < problem.n
        self.rows = problem.rows.take(chosen) if few else problem.rows
        self.chosen = None if few else chosen
        self.norms = problem.rows.norms()[chosen]
        self.weights, self.radii = problem.weights[chosen], problem.radii[chosen]
        self.beta = inverse_penalty(problem)

    def epochs(self, seeds: np.ndarray, alpha, d, state) -> None:
        """Maximise D over each chosen α_i in turn, once for every seed.

        A seed draws the order. Updates alpha, d and state = (s, Σα_i y_i), folded
        samples included.
        """
        self.rows.passes.add(alpha.size * seeds.size)
        _sweep(
            seeds,
            np.arange(alpha.size) if self.chosen is None else self.chosen,
            alpha,
            d,
            state,
            self.rows.y,
            self.weights,
            self.radii,
            self.norms,
            self.beta,
            *_layout(self.rows),
        )


def _layout(rows: Rows) -> tuple:
    """The rows as flat arrays: CSR, or dense with two strides and no indices."""
    X = rows.X
    if isinstance(rows, SparseRows):
        unsigned = np.uint32 if X.indices.dtype == np.int32 else np.uint64
        return X.data, X.indices.view(unsigned), X.indptr, 0, 0
    nothing = np.empty(0, dtype=np.int32)
    if X.flags.f_contiguous and not X.flags.c_contiguous:
        return X.T.reshape(-1), nothing.view(np.uint32), nothing, 1, rows.n
    return X.reshape(-1), nothing.view(np.uint32), nothing, rows.d, 1


@jit
def _sweep(seeds, chosen, alpha, *others):
    for seed in seeds:
        draw_from(seed)
        order = shuffled(alpha.size, RUN)
        epoch(order, chosen[order], alpha, *others)


@jit
def epoch(
    order,
    positions,
    alpha,
    d,
    state,
    y,
    weights,
    radii,
    norms,
    beta,
    data,
    indices,
    indptr,
    next_row,
    next_column,
):
    """Maximise D over each α_i in this `order`; rows are at these `positions`."""
    norm2 = dot_dense(d, 0, 1, d)
    s, balance = state[0], state[1]
    for k in range(order.size):
        i, row = order[k], positions[k]
        label, low, high = y[row], -alpha[i], weights[i] - alpha[i]
        if next_row:
            along = label * dot_dense(data, row * next_row, next_column, d)
        else:
            start, stop = indptr[row], indptr[row + 1]
            along = label * _dot_sparse(data, indices, start, stop, d)
        linear = 1.0 - label * balance * beta
        radius, square = radii[i], norms[i] * norms[i]
        step = _best_step(along, square, norm2, s, radius, linear, beta, low, high)
        if step == 0.0:
            continue
        alpha[i] = weights[i] if step == high else max(step - low, 0.0)
        if next_row:
            _add_dense(data, row * next_row, next_column, label * step, d)
        else:
            _add_sparse(data, indices, start, stop, label * step, d)
        norm2 = max(norm2 + step * (2.0 * along + step * square), 0.0)
        s = max(s + step * radius, 0.0)
        balance += step * label
    state[0], state[1] = s, balance


@jit
def draw_from(seed):
    """Let the next orders be those of a seed; it takes as long as a hundred rows."""
    np.random.seed(seed)  # noqa: NPY002  (numba's own generator, not NumPy's)


@jit
def shuffled(n, run):
    """A random order of range(n) that keeps neighbours together.

    Short runs of consecutive rows, cut at a random place, come in random order: about
    as good as a full permutation for the ascent, and quicker where rows come from
    memory.
    """
    start = np.random.randint(run)  # noqa: NPY002
    runs = np.random.permutation((n + start + run - 1) // run)  # noqa: NPY002
    order, k = np.empty(n, np.int64), 0
    for r in runs:
        for i in range(max(r * run - start, 0), min(r * run - start + run, n)):
            order[k] = i
            k += 1
    return order


@jit
def _dot_sparse(data, indices, start, stop, d):
    total = 0.0
    for p in range(start, stop):
        total += d[indices[p]] * data[p]
    return total


@jit_reordered
def dot_dense(data, start, stride, d):
    """⟨d, x⟩ of a dense row x."""
    total = 0.0
    if stride == 1:
        row = data[start : start + d.size]
        for j in range(d.size):
            total += d[j] * row[j]
        return total
    for j in range(d.size):
        total += d[j] * data[start + j * stride]
    return total


@jit
def _add_sparse(data, indices, start, stop, step, d):
    for p in range(start, stop):
        d[indices[p]] += step * data[p]


@jit
def _add_dense(data, start, stride, step, d):
    for j in range(d.size):
        d[j] += step * data[start + j * stride]


@jit
def _slope(t, along, square, norm2, s, radius, linear, beta):
    """Derivative of D along the coordinate at t, and minus its second one."""
    q2 = norm2 + t * (2.0 * along + t * square)
    q = math.sqrt(max(q2, 0.0))
    length = q - max(s + t * radius, 0.0)  # ‖w‖ at t
    if length <= 0.0:
        return linear - t * beta, beta
    rate = (along + t * square) / q
    slope = rate - radius  # of ‖w‖ in t
    curvature = beta + slope * slope + length * max(square - rate * rate, 0.0) / q
    return linear - t * beta - length * slope, curvature


@jit
def _best_step(along, square, norm2, s, radius, linear, beta, low, high):
    """Maximiser over low ≤ t ≤ high of D along one coordinate: safeguarded Newton."""
    if s <= 0.0 and radius == 0.0:  # no noise so far: a parabola
        curvature = square + beta
        if curvature <= 0.0:
            return high
        return min(max((linear - along) / curvature, low), high)
    slope, curvature = _slope(0.0, along, square, norm2, s, radius, linear, beta)
    if (slope >= 0.0 and high <= 0.0) or (slope <= 0.0 and low >= 0.0):
        return 0.0
    if slope > 0.0:
        low = 0.0
    else:
        high = 0.0
    t, tiny, at_edge = 0.0, _FLAT * abs(slope), False
    for _ in range(MOST_STEPS):
        ahead = t + slope / curvature if curvature > 0.0 else math.inf * slope
        if not low < ahead < high:
            if at_edge:
                ahead = 0.5 * (low + high)
            else:  # the edge of the box that the slope points to
                ahead = min(max(ahead, low), high)
                at_edge = True
        if ahead == t:
            break
        t = ahead
        slope, curvature = _slope(t, along, square, norm2, s, radius, linear, beta)
        if slope > 0.0:
            low = t
        else:
            high = t
        if abs(slope) <= tiny or low == high:
            break
    return t
