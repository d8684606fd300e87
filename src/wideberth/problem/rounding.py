"""Bounds on the rounding of primal and dual values (theory §5, last part).

Every bound is of the standard model, fl(a∘b) = (a∘b)(1+δ), |δ| ≤ u = 2⁻⁵³, and holds
for any order of summation; those of the products over rows are in `rows.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wideberth.kernels import sums
from wideberth.problem.arrays import at_least, constant, masked, namespace
from wideberth.problem.rows import gamma

if TYPE_CHECKING:
    from wideberth.noise.sets import SumOfSets
    from wideberth.problem.problem import Problem

#: Number of terms that are summed at a time: n of them are rounded 2¹¹ + n/2¹¹ times in
#: a row at most, which is least for four million.
_SUM_BLOCK = 1 << 11
#: Number of roundings of a sum by which a balanced Σα_i y_i may be off: a choice, which
#: the bounds below count.
OFF = 4


def accurate_sum(values) -> float:
    """Sum in two levels; the error is at most `sum_rounding(n)` times Σ|values|."""
    if isinstance(values, np.ndarray):
        return sums.total(values)
    xp, n = namespace(values), values.shape[0]
    if n < _SUM_BLOCK:
        return float(xp.sum(values))
    whole = n - n % _SUM_BLOCK
    blocks = xp.sum(xp.reshape(values[:whole], (-1, _SUM_BLOCK)), axis=1)
    return float(xp.sum(blocks) + xp.sum(values[whole:]))


def sum_of_products(a, b) -> float:
    """Σ a_ib_i, with the error of `accurate_sum`."""
    if isinstance(a, np.ndarray):
        return sums.product(a, b)
    return accurate_sum(a * b)


def hinge_sum(weights, slack) -> float:
    """Σ c_i[u_i]_+, with the error of `accurate_sum`."""
    if isinstance(slack, np.ndarray):
        return sums.hinge(weights, slack)
    return accurate_sum(weights * at_least(0.0, slack))


def class_sums(values, y) -> tuple[float, float]:
    """Σ values_i over y_i > 0 and over the others, with the error of `accurate_sum`."""
    if isinstance(y, np.ndarray):
        return sums.class_sums(values, y)
    xp, upper = namespace(y), y > 0
    return (
        accurate_sum(xp.where(upper, values, 0.0)),
        accurate_sum(xp.where(upper, 0.0, values)),
    )


def chain(n: int, terms: int | None = None) -> float:
    """Most roundings that a product of two numbers goes through in `accurate_sum`.

    It sums n of them, of which `terms` (by default all) are not zero: adding zero is
    exact. A block adds 2048 at most, then there are n/2048 blocks.
    """
    terms = n if terms is None else terms
    return min(terms, _SUM_BLOCK + n / _SUM_BLOCK) + 4


def sum_rounding(n: int) -> float:
    """Relative error bound of `accurate_sum` over n products of two numbers."""
    return gamma(chain(n))


def totals_rounding(problem: Problem) -> float:
    """Relative error bound of sums over all samples of a problem, folded ones too."""
    free, fold = chain(problem.n) + problem.chain, problem.folded
    return gamma(free if fold is None else max(free, fold.chain) + 1)


def _length(w: np.ndarray) -> float:
    """‖w‖."""
    return math.sqrt(w @ w)


def slack_rounding(problem: Problem, w, b, supports, sizes=None) -> np.ndarray:
    """Error of each slack; `supports` are κ_i(w)."""
    sizes = _length(w) * problem.rows.norms() if sizes is None else sizes
    per_slack = _per_slack(problem, b, sizes, supports, _target_sizes(problem))
    return per_slack + _noise_rounding(problem, w)


def _target_sizes(problem: Problem):
    """|m_i| of every sample; one number where all are 1."""
    return 1.0 if problem.m is None else abs(problem.m)


def _per_slack(problem: Problem, b, sizes, supports, targets):
    """Error of slacks, but for what the noise adds; `targets` are |m_i|."""
    per_slack = sizes + supports
    per_slack += targets
    per_slack += abs(b)
    per_slack *= problem.rows.margin_rounding + gamma(8)
    return per_slack


def _noise_rounding(problem: Problem, w):
    """What the noise adds to the error of each slack, or of all."""
    errors, turned = problem.noise.support_errors(w), problem.noise.sets.rotation_error
    return errors + turned * _length(w) * problem.rows.norms() if turned else errors


def _active_rounding(problem: Problem, w, b, supports, slack, sizes) -> float:
    """Σc_i times the error of slack i, over those that may be active."""
    scale = _length(w) if sizes is None else 1.0
    sizes = problem.rows.norms() if sizes is None else sizes
    added = _noise_rounding(problem, w)
    if isinstance(slack, np.ndarray):
        relative = problem.rows.margin_rounding + gamma(8)
        targets = constant(1.0, slack.size) if problem.m is None else problem.m
        added = added if isinstance(added, np.ndarray) else constant(added, slack.size)
        return sums.active_error(
            *(problem.weights, slack, sizes, supports, targets, added),
            *(scale, relative, b),
        )
    error = _per_slack(problem, b, scale * sizes, supports, _target_sizes(problem))
    error += added
    # Slacks that are negative whatever the rounding add nothing.
    return accurate_sum(masked(slack > -error, error) * problem.weights)


def primal_rounding(
    problem: Problem, w, b, supports, noise, slack, hinge, sizes
) -> float:
    """Error of P: that of each active slack, weighted, plus that of the sums.

    `supports` are κ_i(w); `noise` is that outside the hinges, `Problem.outside`.
    """
    norm_w = _length(w)
    active = _active_rounding(problem, w, b, supports, slack, sizes)
    error = active * (1 + gamma(64 + problem.chain))
    error += gamma(chain(problem.n) + problem.chain) * hinge
    squares = norm_w * norm_w + (problem.intercept or 0.0) * b * b
    error += gamma(problem.rows.d + 4) * squares
    error += problem.noise.sets.rotation_error * norm_w * norm_w
    g = gamma(problem.rows.d + 8)
    if problem.folded is not None:
        fold = problem.folded
        error += norm_w * (fold.rounding + g * fold.mass)
        g += gamma(fold.chain)
        error += g * (fold.size + fold.weight * abs(b))
    return error + g * noise + problem.outside.support_error(w)


@dataclass(frozen=True)
class DualSums:
    """Sums over the samples of a dual point, folded ones included.

    `total` = Σα_im_i, which is what D begins with; `size` = Σα_i|m_i| and `weight` =
    Σα_i, which rounding is relative to.
    """

    total: float
    size: float
    weight: float


def balance_rounding(problem: Problem, sums: DualSums) -> float:
    """Bound on |Σα_i y_i| beside a free intercept, where it would be 0 exactly."""
    g = totals_rounding(problem)
    return (OFF + 1) * g * sums.weight if problem.intercept == 0 else 0.0


def well_inside(problem: Problem, d, noise: SumOfSets, sums: DualSums, d_error) -> bool:
    """Whether d ∈ Σα_iρ_iU_i whatever the rounding of both and of Σα_i y_i = 0."""
    g, n_features = totals_rounding(problem) + gamma(64), problem.rows.d
    inscribed = noise.inscribed(n_features)
    if not inscribed > 0:
        return False
    moved = balance_rounding(problem, sums) * (
        problem.largest_norm + problem.largest_lipschitz
    )
    t = noise.gauge(d, 1.0)[1] * (1 + gamma(4 * n_features + 8))
    left = (1 - 4 * g - t) * (1 - g) * inscribed
    return d_error + moved + noise.axes_error <= left


def null_rounding(problem: Problem, b, sums: DualSums) -> float:
    """Error of D where w(α) = 0 for certain: that of Σα_im_i and of the penalty.

    An α whose balance is off moves Σα_im_i by at most the largest |m_i| of that.
    """
    g, weight = totals_rounding(problem), sums.weight
    error = g * (sums.size + weight * abs(b))
    error += balance_rounding(problem, sums) * (problem.largest_target + abs(b))
    if problem.intercept:
        error += g * weight / problem.intercept * (g * weight)
        error += 4 * g * problem.intercept * b * b
    return error


def nearest_rounding(n_features: int) -> float:
    """Relative error bound of w(α), the shortest d − δ with δ in a sum of sets."""
    return gamma(8 * n_features + 64)


def dual_rounding(
    problem: Problem,
    w,
    b,
    sums: DualSums,
    d_error: float,
    noise: SumOfSets,
    exact: bool,
    sizes: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Errors of D and of w(α): ∂D/∂d = −w, ∂D/∂α_i = m_i − ψ_i, −κ_i(w) by noise.

    `noise` is Σα_iρ_iU_i and the sets outside the hinges. With `exact`, w is the point
    nearest to d for certain. `sizes` bound ⟨w,δd⟩ for the error δd of d, and the
    largest Σ_j|w_jz_ij|, more sharply than ‖w‖ does.
    """
    g, norm_w, weight = totals_rounding(problem), _length(w), sums.weight
    d, norm = problem.rows.d, problem.noise.sets.norm(w)
    reach = noise.lipschitz(d)  # Σα_iL_i
    relative = gamma(problem.chain) + max(g, noise.rounding)
    prox_error = nearest_rounding(d) * (norm_w + reach)
    # In the user's axes L_α differs by at most sH‖w‖: its minimum by what moving the
    # centre by sH would change.
    center = d_error + relative * reach + prox_error + noise.axes_error
    error = g * (sums.size + weight * abs(b)) + relative * reach * norm
    along, largest = sizes or (norm_w * d_error, norm_w * problem.largest_norm)
    error += along + norm_w * (center - d_error) + center * center
    error += gamma(d + 4) * norm_w * norm_w
    if problem.intercept:
        center = float(np.hypot(center, g * weight / np.sqrt(problem.intercept)))
        error += g * weight / problem.intercept * (g * weight)
        error += 4 * g * problem.intercept * b * b
    elif problem.intercept is not None:
        # Σα_i y_i = 0 holds up to rounding; α is at most so far from where it is exact:
        moved = (OFF + 1) * g * weight
        support = problem.largest_lipschitz * norm
        steepest = problem.largest_target + largest + support
        shift = moved * (problem.largest_norm + problem.largest_lipschitz)
        error, center = error + moved * steepest + shift * shift, center + shift
    if not exact:
        opened, apart = noise.left_open(w, center)
        error, center = error + opened, center + apart
    return error, center
