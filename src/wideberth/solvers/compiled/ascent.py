"""Dual coordinate ascent in one compiled call, for small dense data (theory §6.2).

The rounds of `coordinate/solver.py` without screening and second-order steps: a look at
all rows, then sweeps over those in doubt. Where the weights c_i are small a few dozen
sweeps over few rows get there, in less time than Newton's method takes for its Gram
matrices; elsewhere the pace tells soon that they would not, and the run ends. Noise is
that of spheres, or none.

An intercept that is free, or hardly penalised, makes sweeps slow. They then have the
proximal term ½λ(b − b⁰)² of `coordinate/solver.py`, and are only to tell slacks near
those of the optimum.

What is found is evaluated by the caller. Orders are drawn from a fixed seed: the same
problem gives the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from wideberth.problem.jit import jit
from wideberth.solvers.coordinate.sweep import (
    RUN,
    dot_dense,
    draw_from,
    epoch,
    shuffled,
)


@jit
def ascend(X, y, c, radii, norms, penalty, pull, alpha, slack, goal, least, most, room):
    """Sweep α in place to the relative gap `goal`; return (sweeps, rows read, met).

    X is flat, n rows of d entries; `penalty` is λ_b, or λ in its place, or −1 without
    an intercept; `pull` is λb⁰. Between two looks there are at least so many sweeps, in
    all at most `room`. The run ends where the rows read, and those that its pace
    promises, are more than `most` times n. The slacks at the last look are left in
    `slack`.
    """
    n, size = y.size, X.size // y.size
    indices, indptr = np.empty(0, np.uint32), np.empty(0, np.int32)
    d, state = np.zeros(size), np.zeros(2)
    state[1] = pull
    for i in range(n):
        if alpha[i] > 0.0:
            for j in range(size):
                d[j] += alpha[i] * y[i] * X[i * size + j]
            state[0] += alpha[i] * radii[i]
            state[1] += alpha[i] * y[i]
    beta = 1.0 / penalty if penalty > 0.0 else 0.0
    active, before, epochs, sweeps, read = np.arange(n), math.inf, least, 0, n
    draw_from(0)
    while sweeps + epochs <= room:
        for _ in range(epochs):
            order = active[shuffled(active.size, RUN)]
            epoch(
                *(order, order, alpha, d, state, y, c, radii, norms, beta),
                *(X, indices, indptr, size, 1),
            )
            sweeps += 1
        read += epochs * active.size + n
        b = beta * state[1]
        primal, gap = _look(X, y, c, radii, penalty, b, alpha, d, state[0], slack)
        if gap <= goal * primal:
            return sweeps, read, True
        active = _doubtful(alpha, c, slack)
        if active.size == 0:
            break
        left, planned = 0.0, max(n // active.size, 2 * least)
        if gap < before < math.inf:
            left = epochs * math.log(gap / (goal * primal)) / math.log(before / gap)
            planned = max(int(min(float(planned), left)), least)
        if read + left * active.size > most * n:
            break
        before, epochs = gap, planned
    return sweeps, read, False


@jit
def _look(X, y, c, radii, penalty, b, alpha, d, s, slack):
    """P and complementarity at w(α) and b: all of the gap where b is that of α too."""
    size = d.size
    norm = math.sqrt(dot_dense(d, 0, 1, d))
    shrink = 1.0 - s / norm if norm > s else 0.0
    omega, hinge, gap = shrink * norm, 0.0, 0.0
    for i in range(y.size):
        margin = y[i] * (shrink * dot_dense(X, i * size, 1, d) + b)
        slack[i] = 1.0 - margin + radii[i] * omega
        positive = c[i] * max(slack[i], 0.0)
        hinge += positive
        gap += positive - alpha[i] * slack[i]
    value = hinge + 0.5 * omega * omega + 0.5 * max(penalty, 0.0) * b * b
    return value, max(gap, 0.0)


@jit
def _doubtful(alpha, c, slack):
    """Rows off a bound or on the wrong side, and those as near as these are off."""
    square, count, n = 0.0, 0, alpha.size
    doubt = np.empty(n, np.bool_)
    for i in range(n):
        wrong = alpha[i] < c[i] if slack[i] > 0 else alpha[i] > 0
        doubt[i] = wrong or 0.0 < alpha[i] < c[i]
        if doubt[i]:
            square += slack[i] * slack[i]
            count += 1
    near = math.sqrt(square / max(count, 1))
    for i in range(n):
        doubt[i] = doubt[i] or abs(slack[i]) <= near
    return np.flatnonzero(doubt)
