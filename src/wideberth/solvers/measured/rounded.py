"""Newton's method for smooth sets per sample, their kinks rounded off (theory §8).

The conditions are those of `engine.py` with slacks that are convex instead of
affine: rows g_i = z_i − ∇κ_i(w) that turn with w, and the curvature of the noise,

    H = Q + Σθ_i g_ig_iᵀ + Σα_i∇²κ_i(w) .

r_i is rounded off to √(r_i² + ε²), and ε² is μ/2: with μ random problems take an eighth
more steps, and below a fifth of it this method fails more often. The dual point has
δ_i = ∇κ_i(w), rounded off likewise, which lies in ρ_iU_i. But where the optimum lies on
a kink ε falls faster than Newton's method can follow, and nothing more comes of it.

A step reads the rows and their errors three times, block by block: at x, where all sums
of both directions' right sides are taken but one; along the predictor, with that one;
and along the corrector. The corrector aims at products of `target` − d_room·d_force,
with a target that is not known until the predictor is; its right side is linear in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.arrays import by_columns, fill, host, like
from wideberth.problem.error_bars import SmoothBars
from wideberth.solvers.measured.engine import MeasuredEngine
from wideberth.solvers.newton.algebra import cholesky
from wideberth.solvers.newton.settings import SETTINGS


class _Block(NamedTuple):
    """Some rows, and their sets."""

    rows: slice
    Z: np.ndarray
    bars: SmoothBars
    radii: np.ndarray


class RoundedOff(MeasuredEngine):
    """The quicker of the two methods."""

    def __init__(self, problem, start=None, model=None):
        self.blocks: list[_Block] | None = None
        super().__init__(problem, start, model)
        self._turn()

    def _begin(self):
        supports = self.problem.noise.ellipsoids.supports(self.w)
        products = self.Z @ like(self.x, self.Z)
        self.slack = 1.0 - products + self.problem.radii * supports

    def shrink(self, keep: np.ndarray, problem, model) -> None:
        """Go on with the rows `keep` (a mask) alone, which form `problem`."""
        self._adopt(problem, model)
        self.Z, self.moved = by_columns(self.Z[keep]), self.moved[keep]
        self.room, self.force = self.room[:, keep], self.force[:, keep]
        self.blocks = None
        self._turn()

    def _visit(self) -> list[_Block]:
        """All rows with their sets, a cacheful in each block; counted as one read."""
        problem = self.problem
        if self.blocks is None:
            self.blocks = [
                _Block(rows, self.Z[rows, :], bars.by_columns(), problem.radii[rows])
                for rows, bars in problem.noise.ellipsoids.blocks()
            ]
        problem.rows.passes.add(problem.n)
        return self.blocks

    def _turn(self) -> None:
        """Visit the rows at x for the present ε: the gap, and sums for a step."""
        problem, xp, d, w, mu = self.problem, self.xp, self.d, self.w, self.mu
        self.sizes, supports, products = (fill(self.c, problem.n, 0.0) for _ in "123")
        self.ratio, self.inverse = self.force / self.room, 1.0 / self.room
        self.share = 1.0 / (self.ratio[0, :] + self.ratio[1, :])  # θ/c
        theta, alpha = self.c * self.share, self.alpha
        lead = theta * (self.inverse[1, :] - self.inverse[0, :])
        push, x = alpha * problem.radii, like(self.x, self.Z)
        sums, matrix = np.zeros((3, self.x.size)), np.diag(self.penalty)
        for J, Z, bars, radii in self._visit():
            products[J] = Z @ x
            supports[J] = bars.supports(w)
            sizes = xp.sqrt(supports[J] ** 2 + 0.5 * mu)
            slack = 1.0 - products[J] + radii * sizes
            images, self.sizes[J] = bars.images(w), sizes
            rows = xp.asarray(Z, copy=True)
            rows[:, :d] -= images * (radii / sizes)[:, None]
            sums += host(xp.stack((alpha[J], theta[J] * slack, lead[J])) @ rows)
            rows *= xp.sqrt(theta[J])[:, None]
            matrix += host(rows.T @ rows)
            images *= (xp.sqrt(push[J] / sizes) / sizes)[:, None]
            noise = bars.pressure(push[J], sizes)
            noise = noise if noise.ndim == 2 else np.diag(noise)
            matrix[:d, :d] += noise - host(images.T @ images)
        if self.model is not None:
            matrix[:d, :d] += self.model.curvature
        self.matrix = matrix
        self.combined, self.sums = sums[0] + self.folded, sums[1:]
        noise = problem.radii * supports
        self.slack = 1.0 - products + problem.radii * self.sizes
        attained = float(alpha @ (noise * supports / self.sizes))
        self._measure(1.0 - products + noise, noise, attained)

    def _step(self) -> bool:
        factor = cholesky(self.matrix)
        if factor is None:
            return False
        ratio, inverse, theta = self.ratio, self.inverse, self.c * self.share
        right = self.combined - self.penalty * self.x
        right += self.sums[0]
        dx, last = lapack.dpotrs(factor, right, lower=1)[0], np.zeros_like(right)
        da, off = 0.0 * self.slack, 0.0 * self.room
        for block in self._visit():  # one read for both directions
            J = block.rows
            da[J] = self.share[J] * (self.slack[J] - self._along(block, dx))
            move = self.xp.stack([-da[J], da[J]])
            off[:, J] = -move * (ratio[:, J] * move + self.force[:, J])
            lead = off[:, J] * inverse[:, J]
            last += self._sum(block, theta[J] * (lead[0, :] - lead[1, :]))
        d_room, d_force = self._hinge_moves(da, ratio, None)
        length = min(self._hinge_room(d_room, d_force), 1.0)
        target = self._centred(d_room, d_force, length)
        aims = (target - off) * inverse
        right += target * self.sums[1] + last
        dx = lapack.dpotrs(factor, right, lower=1)[0]
        residual = self.slack - aims[0, :] + aims[1, :]
        for block in self._visit():
            J = block.rows
            da[J] = self.share[J] * (residual[J] - self._along(block, dx))
        d_room, d_force = self._hinge_moves(da, ratio, aims)
        length = min(1.0, SETTINGS.to_boundary * self._hinge_room(d_room, d_force))
        if not self._possible(length, dx):
            return False
        before = self.true_slack
        self.x = self.x + length * dx
        self.room = self.room + length * d_room
        self.force = self.force + length * d_force
        self._turn()
        self.moved = self.xp.abs(self.true_slack - before) / length
        return bool(np.isfinite(self.gap))

    def _along(self, block: _Block, dx: np.ndarray) -> np.ndarray:
        """⟨g_i,dx⟩ of the rows of a block."""
        J, Z, bars, radii = block
        push = bars.along(self.w, dx[: self.d], self.sizes[J])
        return Z @ like(dx, Z) - radii * push

    def _sum(self, block: _Block, a: np.ndarray) -> np.ndarray:
        """Σ a_ig_i over the rows of a block."""
        J, Z, bars, radii = block
        total = host(Z.T @ a)
        total[: self.d] -= bars.pull(a * radii, self.w, self.sizes[J])
        return total
