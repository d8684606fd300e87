"""Samples that stand for all rows, and how far their solutions may be off.

They decide which rows a first working set needs; nothing here bears on correctness.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.arrays import (
    Array,
    counting,
    fill,
    host,
    masked,
    namespace,
    pick,
    quantile,
)
from wideberth.problem.limits import COPY_SHARE, FEW_ROWS, LITTLE, TINY
from wideberth.problem.rows import Rows
from wideberth.solvers.algebra import cholesky
from wideberth.solvers.blocks import LEAST_DISTANCE

#: Factor in the number of rows of a sample, (factor · n · √d)^⅔, at which solving it
#: costs about as much as the rows that its error leaves near the margin (2.2 and 12
#: take up to a tenth more passes on tall data).
SAMPLE_FACTOR = 6.0
#: Relative gap to which a sample of n rows is solved, times n/d; its sampling error
#: makes more a waste (flat from 0.001 to 0.03; at 0.1 a seventh more passes on tall
#: data).
SAMPLE_ACCURACY = 0.01
#: Largest relative gap to which a sample is solved, however loose the tolerance: rough
#: solutions cost passes later (1e-3 takes up to 1.8 times as many at tolerances of 1e-1
#: and 1e-2, 1e-5 as many; 4 tables of 30 000 to 60 000 rows).
_ROUGHEST = 1e-4
#: Half width of the bands that a sample leaves, in standard errors (3 takes from a
#: tenth fewer to twice as many passes on covtype's classes, against the rest).
SAMPLING_ERRORS = 5.0
#: Number of rows for each row of the sample that predicts the points of a path; a
#: sample of fewer than `FEW_ROWS` rows is not worth while (without it a path over
#: 60 000 rows takes 1.7 times the passes).
WALK_ROWS = 8
#: Largest share of the rows at which those near the margin are few, and share over
#: which the Hessian of a sample is smoothed (flat from 0.1 to 0.5 on average).
NEAR_SHARE = 0.2
#: Number of random projections that estimate a quadratic form for every row, to about
#: half of it: a choice, for bands are five standard errors wide.
_PROJECTIONS = 6
#: The golden ratio, whose multiples modulo 1 are spread the most evenly.
_GOLDEN = 0.5 * (1 + 5**0.5)


def sample_size(n: int, d: int) -> int:
    """Size of a sample of n rows: about as many as its error leaves near the margin."""
    return int((SAMPLE_FACTOR * n * d**0.5) ** (2 / 3))


def first_size(n: int, d: int) -> int:
    """Rows of a first sample of n, which is no smaller than what is solved directly."""
    return max(sample_size(n, d), FEW_ROWS)


def is_sampled(problem: Problem) -> bool:
    """Whether a problem has so many rows that a sample of them is solved first."""
    return first_size(problem.n, problem.rows.d) <= COPY_SHARE * problem.n


def small_sample(n: int) -> int:
    """Size of a sample of n rows that costs little beside them; 0 if n is too small."""
    size = n // WALK_ROWS
    return size if size >= FEW_ROWS else 0


def sample_accuracy(n: int, d: int) -> float:
    """Relative gap of a sample of n rows below which its sampling error dominates."""
    return SAMPLE_ACCURACY * d / max(n, 1)


def sample_goal(problem: Problem, target: float) -> float:
    """The relative gap to which a sample is solved, given the `target` of all rows.

    It is not much rougher where the target is loose.
    """
    goal = min(LITTLE * target, _ROUGHEST)
    return max(sample_accuracy(problem.n, problem.rows.d), goal)


def draw(rows: Rows, weights, k: int, seed) -> tuple[Array, Array]:
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
    """A mask of rows drawn at random; `chance` is one for each, or one for all."""
    luck = counting(y)
    luck *= _GOLDEN
    luck += float(np.random.default_rng(seed).random())
    luck -= namespace(y).floor(luck)
    return luck < chance


class Sample:
    """A part of the rows, for problems that differ in weights and radii alone."""

    def __init__(self, problem: Problem, size: int, rng):
        seed = int(rng.integers(2**31))
        drawn = draw(problem.rows, problem.weights, size, seed)
        self.index, self.chance = map(host, drawn)
        self.rows = problem.rows.take(self.index)

    def usable(self, problem: Problem) -> bool:
        """Whether some weight was drawn, and of two classes both were."""
        both = problem.m is not None or np.unique(self.rows.y).size == 2
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
        width = quantile(xp.abs(slack), NEAR_SHARE)
        width = max(width, typical, LEAST_DISTANCE)
        inside = xp.where(xp.abs(slack) <= width, problem.weights, 0.0)
        hessian = _bordered_gram(problem, inside / (2 * width))
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
        error *= SAMPLING_ERRORS
        own *= 2.0 * problem.weights
        error += masked(slack > 0, own)
        error += LEAST_DISTANCE
        return error


def _bordered_gram(problem: Problem, weights: np.ndarray) -> np.ndarray:
    """Σ weights_i (x_i,1)(x_i,1)ᵀ."""
    used = namespace(weights).nonzero(weights)[0]
    rows = problem.rows.take(used)
    return rows.curvature(pick(weights, used), rows.y[:, None])
