"""Samples that stand for all rows, and how far their solutions may be off.

They decide which rows a first working set needs; nothing here bears on correctness.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.arrays import counting, fill, masked, namespace, pick, quantile
from wideberth.problem.limits import LITTLE, TINY
from wideberth.problem.rows import Rows
from wideberth.solvers.algebra import cholesky
from wideberth.solvers.newton.settings import SETTINGS

#: Number of random projections that estimate a quadratic form for every row, to about
#: half of it: a choice, for bands are five standard errors wide.
_PROJECTIONS = 6
#: The golden ratio, whose multiples modulo 1 are spread the most evenly.
_GOLDEN = 0.5 * (1 + 5**0.5)


def sample_size(n: int, d: int) -> int:
    """As many of n rows as their sampling error will leave near the margin, roughly."""
    return int((SETTINGS.sample_factor * n * d**0.5) ** (2 / 3))


def first_size(n: int, d: int) -> int:
    """Rows of a first sample of n, which is no smaller than what is solved directly."""
    return max(sample_size(n, d), SETTINGS.direct_rows)


def is_sampled(problem: Problem) -> bool:
    """Whether a problem has so many rows that a sample of them is solved first."""
    return first_size(problem.n, problem.rows.d) <= SETTINGS.copy_share * problem.n


def small_sample(n: int) -> int:
    """Rows of a sample whose solution may be found beside that of n; 0 of too few."""
    size = n // SETTINGS.walk_rows
    return size if size >= SETTINGS.direct_rows else 0


def sample_accuracy(n: int, d: int) -> float:
    """Relative gap of a sample of n rows beyond which its error makes more a waste."""
    return SETTINGS.sample_accuracy * d / max(n, 1)


def sample_goal(problem: Problem, target: float) -> float:
    """The relative gap to which a sample is solved, where all rows are to a target.

    A rough one would mislead, and cost passes, even where the target is loose.
    """
    accuracy = sample_accuracy(problem.n, problem.rows.d)
    return max(accuracy, 0.5 * LITTLE * target)


def draw(rows: Rows, weights, k: int, seed) -> tuple[Any, Any]:
    """Places of about k rows, and the chance each had.

    Half of it goes by c_i‖z_i‖²: rows of large norm decide directions that few others
    touch. The other half is the same for both classes, however rare one is. Rows drawn
    often weigh less in return: a sample's objective is unbiased. The multiples of an
    irrational number, from a random start on, are spread more evenly than random ones.
    """
    chance = chances(rows, weights, k)
    places = namespace(chance).nonzero(lucky(rows.y, chance, seed))[0]
    return places, namespace(chance).clip(pick(chance, places), 0.0, 1.0)


def chances(rows: Rows, weights, k: float):
    """The chance of each row to be among k that are drawn."""
    y, n, xp = rows.y, rows.n, namespace(rows.y)
    chance = rows.norms() * rows.norms()
    chance *= weights
    chance *= 0.5 * k / n / max(float(xp.mean(chance)), TINY)
    above = int(xp.count_nonzero(y > 0))
    above_each, below_each = (0.25 * k / max(count, 1) for count in (above, n - above))
    chance += 0.5 * (above_each + below_each) + 0.5 * (above_each - below_each) * y
    return chance


def lucky(y, chance, seed):
    """A mask of rows, each drawn with its chance or with the same one."""
    luck = counting(y)
    luck *= _GOLDEN
    luck += float(np.random.default_rng(seed).random())
    luck -= namespace(y).floor(luck)
    return luck < chance


class Sample:
    """A part of the rows, for problems that differ in weights and radii alone."""

    def __init__(self, problem: Problem, size: int, rng):
        seed = int(rng.integers(2**31))
        self.index, self.chance = draw(problem.rows, problem.weights, size, seed)
        self.rows = problem.rows.take(self.index)

    def usable(self, problem: Problem) -> bool:
        """Whether both classes and some weight were drawn."""
        both = np.unique(self.rows.y).size == 2
        return both and bool(problem.weights[self.index].any())

    def of(self, problem: Problem) -> Problem:
        """The sample's problem, in place of the given one."""
        weights = problem.weights[self.index] / self.chance
        return problem.take(self.index, rows=self.rows, weights=weights)


class SamplingError:
    """How far margins may move from a sample's solution to the full one's.

    The solution w of a sample scatters about the full one's with covariance
    about H⁻¹VH⁻¹, V = Σ_{u>0} (1−π_i)c_i² z_i z_iᵀ with π_i the chance that row i was
    drawn, H the Hessian with the hinge smoothed; and a row unlike any in the sample
    moves its own margin by c_i z_iᵀH⁻¹z_i, if it is below it: beyond the margin rows
    do not pull. Both quadratic forms are estimated for all rows by a few random
    projections. Features that the noise leaves out stay out, but for a few at their
    threshold. The constant takes part as a feature even without an intercept: on
    one-hot columns that widens the bands where they need it.
    """

    def __init__(self, problem: Problem, point: PrimalPoint, doubt, rng):
        slack = point.slack
        xp = namespace(slack)
        typical = LITTLE * float(xp.mean(xp.abs(slack)))  # where most are tied at 0
        width = quantile(xp.abs(slack), SETTINGS.near_share)
        width = max(width, typical, SETTINGS.least_distance)
        inside = xp.where(xp.abs(slack) <= width, problem.weights, 0.0)
        hessian = _bordered_gram(problem, inside / (2 * width))
        self.least = SETTINGS.least_band * (1 + float(xp.mean(xp.abs(slack))))
        d = problem.rows.d
        hessian[np.diag_indices(d)] += 1.0
        hessian[d, d] += problem.intercept or 1e-6 * np.trace(hessian)
        active = xp.where(slack > 0, problem.weights, 0.0)
        noise = _bordered_gram(problem, doubt * active**2)
        small = np.abs(point.w) <= LITTLE * LITTLE * np.abs(point.w).max(initial=0.0)
        out = np.flatnonzero(problem.noise.sets.left_out(np.where(small, 0.0, point.w)))
        hessian[out], hessian[:, out], noise[out], noise[:, out] = 0.0, 0.0, 0.0, 0.0
        hessian[out, out] = 1.0
        k = _PROJECTIONS
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
        self.own[out], self.scatter[out] = 0.0, 0.0

    def __call__(self, problem: Problem, slack) -> np.ndarray:
        """How far the margins of these rows may move, given their slacks."""
        if not self.known:
            return fill(problem.weights, problem.n, np.inf)
        scatter, own = problem.rows.projected_squares(self.scatter, self.own)
        error = namespace(scatter).sqrt(scatter)
        error *= SETTINGS.sampling_errors
        own *= 2.0 * problem.weights
        error += masked(slack > 0, own)
        error += self.least
        return error


def _bordered_gram(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """Σ weights_i (x_i,1)(x_i,1)ᵀ."""
    used = namespace(weights).nonzero(weights)[0]
    rows = problem.rows.take(used)
    return rows.curvature(pick(weights, used), rows.y[:, None])
