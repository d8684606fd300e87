"""Newton's method for smooth sets per sample, their kinks rounded off (theory §8).

The conditions are those of `measured_engine.py` with slacks that are convex instead of
affine: rows g_i = z_i − ∇κ_i(w) that turn with w, and the curvature of the noise,

    H = Q + Σθ_i g_ig_iᵀ + Σα_i∇²κ_i(w) .

r_i is rounded off to √(r_i² + ε²), and ε² is μ. The dual point has δ_i = ∇κ_i(w),
rounded off likewise, which lies in ρ_iU_i. Two Gram matrices and no number per cell is
kept; but where the optimum lies on a kink ε falls faster than Newton's method can
follow, and nothing more comes of it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from wideberth.solvers.measured_engine import MeasuredEngine
from wideberth.solvers.newton_settings import SETTINGS


class RoundedOff(MeasuredEngine):
    """The quicker of the two methods."""

    def __init__(self, problem, start=None, model=None):
        super().__init__(problem, start, model)
        self._turn()

    def _begin(self):
        self.supports = self.problem.noise.supports(self.w)
        self.slack = 1.0 - self.Z @ self.x + self.problem.radii * self.supports

    def shrink(self, keep: np.ndarray, problem, model) -> None:
        """Go on with the rows `keep` (a mask) alone, which form `problem`."""
        self._adopt(problem, model)
        self.Z, self.moved = self.Z[keep], self.moved[keep]
        self.room, self.force = self.room[:, keep], self.force[:, keep]
        self._begin()
        self._turn()

    def _turn(self) -> None:
        """The rows g_i at x for the present ε, Σα_ig_i, and the gap."""
        problem, alpha = self.problem, self.alpha
        self.sizes = np.sqrt(self.supports**2 + self.mu)
        self.slack = self.slack + problem.radii * (self.sizes - self.supports)
        move = problem.noise.gradients(self.w, self.sizes)
        move *= problem.radii[:, None]
        attained = float(alpha @ (move @ self.w))
        self.rows = np.array(self.Z)
        self.rows[:, : self.d] -= move
        self.combined = self.rows.T @ alpha + self.folded
        self._measure(self.supports, attained)

    def _step(self) -> bool:
        ratio = self.force / self.room
        share = 1.0 / (ratio[0] + ratio[1])  # θ/c
        bars, alpha = self.problem.noise, self.alpha
        noise = bars.curvature(alpha * self.problem.radii, self.w, self.sizes)
        factor = self._matrix(self.rows * np.sqrt(self.c * share)[:, None], noise)
        if factor is None:
            return False
        _, d_room, d_force = self._direction(factor, share, ratio)
        length = min(self._hinge_room(d_room, d_force), 1.0)
        aims = self._centred(d_room, d_force, length) - d_room * d_force
        dx, d_room, d_force = self._direction(factor, share, ratio, aims)
        length = min(1.0, SETTINGS.to_boundary * self._hinge_room(d_room, d_force))
        if not self._possible(length, dx):
            return False
        before = self.true_slack
        self.x = self.x + length * dx
        self.room = self.room + length * d_room
        self.force = self.force + length * d_force
        self._begin()
        self._turn()
        self.moved = np.abs(self.true_slack - before)
        return bool(np.isfinite(self.gap))

    def _direction(self, factor, share, ratio, aims=None):
        """Newton direction for room·force → aims, 0 if None."""
        residual = self.slack
        if aims is not None:
            aims = aims / self.room
            residual = residual - aims[0] + aims[1]
        right = self.combined - self.penalty * self.x
        right += self.rows.T @ (self.c * share * residual)
        dx = lapack.dpotrs(factor, right, lower=1)[0]
        da = share * (residual - self.rows @ dx)
        return dx, *self._hinge_moves(da, ratio, aims)
