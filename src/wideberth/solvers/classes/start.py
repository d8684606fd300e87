"""Where the slacks of stacked problems are about, by steps that share one matrix.

The alternating direction method of multipliers (Boyd et al., Found. Trends Mach. Learn.
2011) on min ½Σq_jx_j² + Σc_i[s_i]_+ , s_i = u_i(x), with the metric τc_i on row i. In
shares a_i of c_i a step is

    (Q + τΣc_i e_i e_iᵀ) x = Σ c_i y_i (τ(1 − s_i) + a_i) e_i ,
    a_i ← min(max(g_i, 0), 1),   s_i ← (g_i − a_i)/τ    where   g_i = a_i + τu_i(x).

y_i² = 1: the matrix is the same whatever the labels, and all problems together take one
inverse and two products of matrices a step. The first step is least squares. After some
twenty steps x is far from exact, but most rows have settled: near the margin are those
with 0 < a_i < 1, and those whose slack is not large beside what slacks still move by.

Under noise Ω(x) is replaced by the parabola that touches it from above at the last x,
½(Ω(x)²/Ω + Ω). It adds (s/Ω)τ_j² to the diagonal, s = Σα_iρ_i: then every problem has
an inverse of its own, made anew at every look at the slacks.

Where a class is rare, or rows are tied, most rows stay between their bounds, however
long one waits; such problems are not told.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from wideberth.problem.limits import COARSE, LITTLE, TINY
from wideberth.solvers.classes.stack import Stack
from wideberth.solvers.newton.settings import SETTINGS

#: Metric τ of the rows (over digits and wine 0.1 and 0.3 take 2 % fewer passes and 0.5
#: 8 % more, by `python -m benchmarks.newton`).
_METRIC = 0.2
#: Factor by which each step is taken too far, as is usual in this method (Boyd et al.,
#: §3.4.3: 1.5 to 1.8; 1.5 takes 6 % more passes, 1.9 4 % fewer).
_RELAXATION = 1.7
#: Number of steps between two looks at the slacks (3 takes a sixth fewer passes, 7 a
#: tenth more; a look costs about as much as a step).
_STEPS = 5
#: Number of looks after which problems are left that are not told: a choice (as many
#: passes with 12, 5 % fewer with 6).
_MOST_LOOKS = 8
#: Number of steps until then.
MOST_START_STEPS = _STEPS * _MOST_LOOKS
#: Half width of the band around the margin that is near, in root mean squares of what
#: slacks have moved by since the last look (2 takes 8 % fewer passes and 4 as many, all
#: of them the same time).
_BAND = 3.0
#: Number of rows that are few however few columns there are: calls cost more than these
#: (with 100 half of 30 classes of 200 rows are left alone, and take twice the time).
_FEW_ROWS = 200


class Estimate(NamedTuple):
    """Points x, their slacks, which rows are near the margin, and the steps taken.

    `told` says of which problems these rows are no large share.
    """

    x: np.ndarray
    slack: np.ndarray
    near: np.ndarray
    told: np.ndarray
    steps: int


def few_rows(n: int, m: int) -> int:
    """Number of rows that are few, of n with m columns; a tenth of all is few too."""
    return min(max(SETTINGS.rows_per_feature * m, int(LITTLE * n), _FEW_ROWS), n)


def estimate(stack: Stack) -> Estimate:
    """Step until few rows are near the margin, wherever that may be hoped for."""
    n, m = stack.rows.shape
    start, few = _Multipliers(stack), few_rows(n, m)
    slack = start.look()
    while True:
        before, slack = slack, start.look()
        moved, free = slack - before, start.free()
        width = _BAND * np.sqrt(np.einsum("kn,kn->k", moved, moved) / n)
        near = free | (np.abs(slack) <= width[:, None])
        count, sound = near.sum(axis=1), np.isfinite(width)
        tied = free.sum(axis=1) > max(SETTINGS.copy_share * n, few)
        if start.looks == _MOST_LOOKS or ((count <= few) | tied | ~sound).all():
            break
    told = sound & (count <= max(few, SETTINGS.near_share * n))
    x, slack = start.x.astype(np.float64), slack.astype(np.float64)
    return Estimate(x, slack, near, told, start.looks * _STEPS)


class _Multipliers:
    """The iteration; `share` and `rest` are y_ia_i/τ and y_is_i.

    In float32, twice as quick, while its rounding stays far below the curvature of
    ½‖w‖².
    """

    def __init__(self, stack: Stack):
        self.stack, self.noisy = stack, stack.noisy
        metric = _METRIC * stack.weights
        size = float(metric @ np.einsum("nm,nm->n", stack.rows, stack.rows))
        real: Any = np.float32 if COARSE * size <= LITTLE else np.float64
        rows = stack.rows.astype(real)
        self.weighted: Any = rows * metric.astype(real)[:, None]
        self.columns = np.ascontiguousarray(rows.T)
        self.matrix = np.asarray(self.columns @ self.weighted, dtype=np.float64)
        self.matrix.reshape(-1)[:: self.matrix.shape[0] + 1] += stack.penalty
        self.inverse = np.linalg.inv(self.matrix)[None].astype(real)
        self.signs, self.radii = stack.signs.astype(real), stack.radii.astype(real)
        self.lowest = np.minimum(self.signs, 0.0) / _METRIC
        self.highest = np.maximum(self.signs, 0.0) / _METRIC
        self.share, self.rest = np.zeros_like(self.signs), np.zeros_like(self.signs)
        self.x: Any = np.zeros((len(stack.signs), stack.penalty.size), real)
        self.looks = 0

    def look(self) -> np.ndarray:
        """Take some steps; return the slacks at the last point."""
        self.looks += 1
        if self.noisy:
            self._bend()
        for _ in range(_STEPS):
            self._step()
        slack = 1.0 - (self.x @ self.columns) * self.signs
        if self.noisy:
            slack += self.radii * self.stack.omega(self.x)
        return slack

    def free(self) -> np.ndarray:
        """Rows strictly between their bounds."""
        return (self.share > self.lowest) & (self.share < self.highest)

    def _bend(self) -> None:
        """Inverses with the curvature (s/Ω)τ_j² of the noise."""
        stack, omega = self.stack, self.stack.omega(self.x)
        s = _METRIC * (self.share * self.signs) @ (stack.weights * stack.radii)
        bend = s[:, None] / np.maximum(omega, TINY) * stack.squares
        K, m = bend.shape
        matrix = np.repeat(self.matrix[None], K, axis=0)
        matrix.reshape(K, -1)[:, :: m + 1] += bend
        self.inverse = np.linalg.inv(matrix).astype(self.x.dtype)

    def _step(self) -> None:
        """One step; rows that are read, of shape (K, n), are written over."""
        share, rest = self.share, self.rest
        right: Any = self.signs - rest
        right += share
        if self.noisy:
            right += self._moves()
        self.x = ((right @ self.weighted)[:, None, :] @ self.inverse)[:, 0]
        slack = np.matmul(self.x, self.columns, out=right)
        np.subtract(self.signs, slack, out=slack)
        if self.noisy:
            slack += self._moves()
        slack *= _RELAXATION
        rest *= 1.0 - _RELAXATION
        slack += rest
        slack += share
        np.maximum(slack, self.lowest, out=share)
        np.minimum(share, self.highest, out=share)
        np.subtract(slack, share, out=rest)

    def _moves(self) -> np.ndarray:
        """y_iρ_iΩ(x)."""
        omega = self.stack.omega(self.x).astype(self.x.dtype)
        return self.signs * (self.radii * omega)
