"""Last digits: points on the rays through (w,b) and through α that prove more.

Where weights are large, slacks that are zero but for rounding cost as much as the
whole objective: c_i = 10¹² turns 10⁻¹⁶ into 10⁻⁴. Robust margins are homogeneous,
ψ_i(tw,tb) = tψ_i(w,b), so a stretch by a few units of the last place puts such samples
safely beyond the margin, where no rounding can make them count; it costs as little of
½‖w‖². The dual's best multiple is closed form: D(tα) = tΣα_i − ½t²(‖w(α)‖² + λ_b b²).
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import DualPoint, PrimalPoint, Problem
from wideberth.problem.rounding import slack_rounding
from wideberth.solvers.base import Outcome

__all__ = ["best_of", "polished"]

#: Slacks up to which samples are taken to lie on the margin.
_ON_MARGIN = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)


def polished(problem: Problem, found: Outcome, tol: float) -> Outcome:
    """The best pair on the two rays, where what was found proves less than `tol`."""
    if found.certificate.proves(tol):
        return found
    point, dual = found.point, problem.dual_at(found.dual.alpha, sharp=True)
    sizes = problem.rows.magnitudes(point.w)
    sharp = problem.at(point.w, point.b, sizes=sizes)
    if Outcome(sharp, dual).certificate.proves(tol):
        return Outcome(sharp, dual)
    points = [point, sharp, *_stretched(problem, sharp, sizes)]
    stretched = Outcome(sharp, problem.stretched(dual, sharp=True))
    return best_of([*(Outcome(p, dual) for p in points), stretched])


def best_of(outcomes: list[Outcome]) -> Outcome:
    """The pair that proves most, rounding allowed for."""
    return Outcome(
        min((outcome.point for outcome in outcomes), key=_cost),
        max((outcome.dual for outcome in outcomes), key=_worth),
    )


def _worth(dual: DualPoint) -> float:
    value = dual.value - dual.rounding
    return value if value == value else -np.inf


def _cost(point: PrimalPoint) -> float:
    cost = point.value + point.rounding
    return cost if cost == cost else np.inf


def _stretched(problem: Problem, point: PrimalPoint, sizes: np.ndarray):
    """Multiples of (w,b) that put samples near the margin beyond it."""
    used = problem.weights > 0
    error = slack_rounding(problem, point.w, point.b, sizes)
    safe = point.slack + 4 * error
    for width in _ON_MARGIN:
        near = used & (np.abs(point.slack) <= width)
        if near.any() and (lack := float(safe[near].max())) > 0:
            t = 1 / (1 - lack) if lack < 0.5 else 1.0
            yield problem.at(t * point.w, t * point.b, sizes=t * sizes)
