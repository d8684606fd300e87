"""Samples that stand for all rows, and how far their solutions may be off.

They decide which rows a first working set needs; nothing here bears on correctness.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.arrays import fill, namespace, pick, quantile
from wideberth.problem.limits import TINY
from wideberth.solvers.algebra import cholesky
from wideberth.solvers.newton_settings import SETTINGS

__all__ = ["Sample", "SamplingError", "sample_size"]


def sample_size(n: int, d: int) -> int:
    """As many of n rows as their sampling error will leave near the margin, roughly."""
    return int((SETTINGS.sample_factor * n * d**0.5) ** (2 / 3))


class Sample:
    """A random part of the rows, for problems that differ in weights and radii alone.

    Rows of large norm decide directions that few others touch; they are drawn more
    often, and weigh less in return: the sample's objective stays unbiased.
    """

    def __init__(self, problem: Problem, size: int, rng):
        squares = problem.rows.norms() ** 2
        relative = 0.5 + 0.5 * squares / max(float(squares.mean()), TINY)
        chance = np.minimum(relative * (size / problem.n), 1.0)
        self.index = np.flatnonzero(rng.random(problem.n) < chance)
        self.chance = chance[self.index]
        self.rows = problem.rows.take(self.index)

    @property
    def accuracy(self) -> float:
        """Relative gap below which its sampling error makes more a waste."""
        return SETTINGS.sample_accuracy * self.rows.d / max(self.rows.n, 1)

    def usable(self, problem: Problem) -> bool:
        """Whether both classes and some weight were drawn."""
        both = np.unique(self.rows.y).size == 2
        return both and bool(problem.weights[self.index].any())

    def of(self, problem: Problem) -> Problem:
        """The sample's problem, in place of the given one."""
        return replace(
            problem,
            rows=self.rows,
            weights=problem.weights[self.index] / self.chance,
            radii=problem.radii[self.index],
        )


class SamplingError:
    """How far margins may move from a sample's solution to the full one's.

    The solution w of a sample scatters about the full one's with covariance
    about H⁻¹VH⁻¹, V = Σ_{u>0} (1−π_i)c_i² z_i z_iᵀ with π_i the chance that row i was
    drawn, H the Hessian with the hinge smoothed; and a row unlike any in the sample
    moves its own margin by c_i z_iᵀH⁻¹z_i. Both quadratic forms are estimated for all
    rows by a few random projections. The constant takes part as a feature even without
    an intercept: on one-hot columns that widens the bands where they need it.
    """

    def __init__(
        self, problem: Problem, point: PrimalPoint, doubt, rng, projections: int = 6
    ):
        slack = point.slack
        xp = namespace(slack)
        width = max(
            quantile(xp.abs(slack), SETTINGS.walk_share), SETTINGS.least_distance
        )
        inside = xp.where(xp.abs(slack) <= width, problem.weights, 0.0)
        hessian = _bordered_gram(problem, inside / (2 * width))
        d = problem.rows.d
        hessian[np.diag_indices(d)] += 1.0
        hessian[d, d] += problem.intercept or 1e-6 * np.trace(hessian)
        active = xp.where(slack > 0, problem.weights, 0.0)
        noise = _bordered_gram(problem, doubt * active**2)
        k = projections
        normal = rng.normal(size=(d + 1, 2 * k)) / np.sqrt(k)
        factor = cholesky(hessian)
        self.known = bool(np.isfinite(noise).all())
        if factor is None or not self.known:
            self.known = False
            return
        self.own = scipy.linalg.solve_triangular(np.tril(factor).T, normal[:, :k])
        values, vectors = scipy.linalg.eigh(noise)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        self.scatter = scipy.linalg.cho_solve((factor, True), root @ normal[:, k:])
        if problem.intercept is None:
            self.own[d], self.scatter[d] = 0.0, 0.0

    def __call__(self, problem: Problem) -> np.ndarray:
        if not self.known:
            return fill(problem.weights, problem.n, np.inf)
        scatter, own = problem.rows.projected_squares(self.scatter, self.own)
        return 5.0 * namespace(scatter).sqrt(scatter) + 2.0 * own * problem.weights


def _bordered_gram(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """Σ weights_i (x_i,1)(x_i,1)ᵀ."""
    used = namespace(weights).nonzero(weights)[0]
    rows = problem.rows.take(used)
    return rows.curvature(pick(weights, used), rows.y[:, None])
