"""Newton's method for boxes per sample (theory §8).

With w = p − q, p, q ≥ 0, the noise ρ_i⟨e_i,|w|⟩ is linear: rows (z_i − ρ_ie_i) and
(−z_i − ρ_ie_i) and a plain hinge in 2d variables that may not be negative, which have
multipliers s ≥ 0. ½(‖p‖² + ‖q‖²) keeps p and q from being positive both.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.limits import TINY
from wideberth.solvers.measured.engine import MeasuredEngine
from wideberth.solvers.newton.algebra import cholesky
from wideberth.solvers.newton.settings import SETTINGS


class SignedParts(MeasuredEngine):
    """The iteration in x = (p, q, b)."""

    def __init__(self, problem, start=None, model=None):
        super().__init__(problem, start, model)
        self.below = self.mu * float(np.mean(self.c)) / self.x[: 2 * self.d]
        self.part = self.below * self.x[: 2 * self.d] / self.mu  # of a bound in μ
        self._turn()

    def _begin(self):
        problem, w = self.problem, self.x[: self.d]
        z, moves = (
            self.Z[:, : self.d],
            problem.radii[:, None] * problem.noise.boxes.block(slice(None)),
        )
        rest = self.Z[:, self.d :]
        self.Z = np.hstack((z - moves, -z - moves, rest))
        fold, ends = self.folded[: self.d], self.folded[self.d :]
        settled = problem.outside.box(self.d)
        self.folded = np.concatenate((fold - settled, -fold - settled, ends))
        self.penalty = np.concatenate((np.ones(2 * self.d), self.penalty[self.d :]))
        inside = max(
            SETTINGS.start_inside * float(np.abs(w).max(initial=0.0)),
            SETTINGS.least_distance,
        )
        parts = np.maximum(w, 0.0) + inside, np.maximum(-w, 0.0) + inside
        self.x = np.concatenate((*parts, self.x[self.d :]))
        self.slack = 1.0 - self.Z @ self.x

    @property
    def w(self):
        """Weights of the features."""
        return self.x[: self.d] - self.x[self.d : 2 * self.d]

    def _turn(self) -> None:
        """Σα_i times the rows, the slacks and the gap."""
        self.slack = 1.0 - self.Z @ self.x
        self.combined = self.Z.T @ self.alpha + self.folded
        hinge = float(self.c @ np.maximum(self.slack, 0.0))
        quadratic = 0.5 * float(self.penalty @ (self.x * self.x))
        self.primal = quadratic + hinge - float(self.folded @ self.x)
        if self.problem.folded is not None:
            self.primal += self.problem.folded.total
        near = np.maximum(self.combined[: 2 * self.d], 0.0)
        stationarity = quadratic - float(self.combined @ self.x)
        stationarity += 0.5 * float(near @ near)
        if self.free:
            balance, penalty = float(self.combined[-1]), self.problem.intercept
            if penalty:
                stationarity += 0.5 * balance * balance / penalty
            else:
                stationarity += balance * self.b + abs(balance) * (1 + abs(self.b))
        self.gap = max(hinge - float(self.alpha @ self.slack), 0.0)
        self.gap += max(stationarity, 0.0)
        self.true_slack = self.slack

    def _step(self) -> bool:
        ratio = self.force / self.room
        share = 1.0 / (ratio[0] + ratio[1])  # θ/c
        scaled = self.Z * np.sqrt(self.c * share)[:, None]
        matrix = scaled.T @ scaled
        diagonal, parts = self.penalty.copy(), self.x[: 2 * self.d]
        diagonal[: 2 * self.d] += self.below / parts
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += diagonal
        factor = cholesky(matrix)
        if factor is None:
            return False
        known = factor, share, ratio
        dx, d_room, d_force, ds = self._direction(known)
        length = min(self._longest(dx, d_room, d_force, ds), 1.0)
        target = self._centred(d_room, d_force, length)
        aims = target - d_room * d_force
        bound = target * self.part - dx[: 2 * self.d] * ds
        dx, d_room, d_force, ds = self._direction(known, aims, bound)
        length = self._longest(dx, d_room, d_force, ds)
        length = min(1.0, SETTINGS.to_boundary * length)
        if not self._possible(length, dx):
            return False
        before = self.slack
        self.x = self.x + length * dx
        self.room = np.maximum(self.room + length * d_room, TINY)
        self.force = self.force + length * d_force
        self.below = self.below + length * ds
        self._turn()
        self.moved = np.abs(self.slack - before)
        return bool(np.isfinite(self.gap))

    def _direction(self, known, aims=None, bound=0.0):
        """Newton direction for room·force → aims and parts·s → bound, 0 if None."""
        factor, share, ratio = known
        residual, parts = self.slack, self.x[: 2 * self.d]
        if aims is not None:
            aims = aims / self.room
            residual = residual - aims[0] + aims[1]
        right = self.combined - self.penalty * self.x
        right += self.Z.T @ (self.c * share * residual)
        right[: 2 * self.d] += bound / parts
        dx = lapack.dpotrs(factor, right, lower=1)[0]
        da = share * (residual - self.Z @ dx)
        ds = (bound - self.below * dx[: 2 * self.d]) / parts - self.below
        return dx, *self._hinge_moves(da, ratio, aims), ds

    def _longest(self, dx, d_room, d_force, ds) -> float:
        bounds = (
            np.min(dx[: 2 * self.d] / self.x[: 2 * self.d]),
            np.min(ds / self.below),
        )
        rate = max(-float(bounds[0]), -float(bounds[1]), TINY)
        return min(self._hinge_room(d_room, d_force), 1.0 / rate)
