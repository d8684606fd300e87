"""Last digits: points on the rays through (w,b) and through α that prove more.

Where weights are large, slacks that are zero but for rounding cost as much as the
whole objective: c_i = 10¹² turns 10⁻¹⁶ into 10⁻⁴. Robust margins are homogeneous,
ψ_i(tw,tb) = tψ_i(w,b), so a stretch by a few units of the last place puts such samples
safely beyond their target, where no rounding can make them count; it costs as little of
½‖w‖². With φ_i a robust margin less what it may be off by, the best stretch minimises

    ½t²(‖w‖² + λ_b b²) + Σ c_i [m_i − tφ_i]_+   over t > 0,

whose slope grows by c_i|φ_i| at t = m_i/φ_i and is known by one sort of these. The
dual's best multiple is closed form: D(tα) = tΣα_im_i − ½t²(‖w(α)‖² + λ_b b²).
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import DualPoint, Pair, PrimalPoint, Problem
from wideberth.problem.rounding import accurate_sum, slack_rounding


def polished(problem: Problem, found: Pair, tol: float) -> Pair:
    """The best pair on the two rays, where what was found proves less than `tol`."""
    if found.certificate.proves(tol):
        return found
    point = found.point
    dual = problem.dual_at(found.dual.alpha, sharp=True, near=point.w)
    sizes = problem.rows.magnitudes(point.w)
    sharp = problem.at(point.w, point.b, sizes=sizes)
    if (sharper := Pair(sharp, dual)).certificate.proves(tol):
        return sharper
    t = _best_stretch(problem, sharp, sizes)
    stretched = problem.at(t * point.w, t * point.b, sizes=t * sizes)
    pair = Pair(stretched, problem.stretched(dual, sharp=True))
    return best_of([found, sharper, pair])


def sparse(problem: Problem, found: Pair, tol: float) -> Pair:
    """What was found, with weights that are 0 where the noise makes them so.

    An interior point has none that are 0; those that are 0 in w(α) may be, while the
    tolerance is still proven: all of them but, at most, for a few of the largest, whose
    features are at their threshold.
    """
    point, dual = found.point, found.dual
    rest = np.flatnonzero(problem.noise.sets.left_out(dual.w) & (point.w != 0))
    if not rest.size or not found.certificate.proves(tol):
        return found
    rest = rest[np.argsort(np.abs(point.w[rest]))]
    most, step = rest.size, 1
    while most > 0:
        w = point.w.copy()
        w[rest[:most]] = 0.0
        pair = Pair(problem.at(w, point.b), dual)
        if pair.certificate.proves(tol):
            return pair
        most, step = most - step, 2 * step
    return found


def best_of(outcomes: list[Pair]) -> Pair:
    """The pair that proves most, rounding allowed for."""
    return Pair(
        min((outcome.point for outcome in outcomes), key=_cost),
        max((outcome.dual for outcome in outcomes), key=_worth),
    )


def _worth(dual: DualPoint) -> float:
    value = dual.value - dual.rounding
    return value if value == value else -np.inf


def _cost(point: PrimalPoint) -> float:
    cost = point.value + point.rounding
    return cost if cost == cost else np.inf


def _best_stretch(problem: Problem, point: PrimalPoint, sizes: np.ndarray) -> float:
    """The best multiple of (w,b) for margins that are worse than rounding makes them.

    Four times the bound: slacks must be seen to be negative after a stretch as well.
    """
    supports = problem.noise.supports(point.w)
    error = slack_rounding(problem, point.w, point.b, supports, sizes)
    targets, weights, fold = problem.targets, problem.weights, problem.folded
    margins = targets - point.slack - 4 * error
    penalty = (problem.intercept or 0.0) * point.b * point.b
    curvature = float(point.w @ point.w) + penalty
    # The slope for large t: of samples that cost something there, and of folded ones.
    slope = -accurate_sum(weights * np.minimum(margins, 0.0))
    slope += problem.outside.support(point.w)
    if fold is not None:
        slope -= fold.balance * point.b
        slope -= float(fold.d @ point.w)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = targets / margins  # t from which on a sample costs nothing, or something
    changing = (ends > 0) & (ends < np.inf) & (weights > 0)
    jumps = weights[changing] * np.abs(margins[changing])
    t = minimise_along(slope, curvature, ends[changing], jumps)
    return t if 0 < t < np.inf else 1.0


def minimise_along(
    slope: float, curvature: float, ends: np.ndarray, jumps: np.ndarray
) -> float:
    """The t at which `slope` + t·`curvature` − Σ_{ends_i > t} jumps_i comes to 0.

    That is the derivative, along a line, of a quadratic and of hinges whose slope grows
    by `jumps` at their `ends`; `slope` is that beyond all of them. It sorts the ends.
    """
    order = np.argsort(ends)
    ends, jumps = ends[order], jumps[order]
    # What the slope lacks of that before each end, and after all of them.
    lacking = np.append(jumps[::-1].cumsum()[::-1], 0.0)
    k = int(np.searchsorted(ends * curvature + slope >= lacking[1:], True))
    t = (float(lacking[k]) - slope) / curvature if curvature > 0 else np.inf
    return min(t, float(ends[k])) if k < ends.size else t
