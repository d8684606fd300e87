"""Attempts at a proof: what is tried, in which order, and until when.

`prove` is the loop. The first attempt is the solver asked for. Where it ends "out of
precision" others follow, each a change of problem (`changes.py`) and a solver, while
the status of the best pair so far says that there is something left to gain. All of
them are evaluated on the problem as given, so nothing is taken on trust.

Weights c_i out of all proportion are what defeats the usual solvers:

* *Weights that span many orders.* The engine of `interior.py` keeps (1−a_i)p_i
  and a_iq_i, a_i = α_i/c_i, near one μ: its barrier weighs sample i by c_i, and those
  of little weight, which nothing holds back from their bounds, cut its steps short.
  `even_barrier` keeps the products of α_i itself near one μ, as textbooks do: slower
  where weights are alike, indifferent to their span.
* *Weights beyond any use*: see `cap_weights`.

Last digits. Where weights are large, slacks that are zero but for rounding cost as much
as the whole objective: c_i = 10¹² turns 10⁻¹⁶ into 10⁻⁴. Robust margins are
homogeneous, ψ_i(tw,tb) = tψ_i(w,b), so a stretch by a few units of the last place puts
such samples safely beyond their target, where no rounding can make them count; it costs
as little of ½‖w‖². With φ_i a robust margin less what it may be off by, the best
stretch minimises

    ½t²(‖w‖² + λ_b b²) + Σ c_i [m_i − tφ_i]_+   over t > 0,

whose slope grows by c_i|φ_i| at t = m_i/φ_i and is known by one sort of these. The
dual's best multiple is closed form: D(tα) = tΣα_im_i − ½t²(‖w(α)‖² + λ_b b²).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from wideberth.noise import L2
from wideberth.noise.sets import Noise
from wideberth.problem import Pair, PrimalPoint, Problem
from wideberth.problem.arrays import host, is_foreign, like
from wideberth.problem.changes import cap_weights, centre_columns, span_of_rows
from wideberth.problem.endpoints import null_certificate
from wideberth.problem.limits import LITTLE, MOST_STEPS, QUICK_GRAM
from wideberth.problem.rounding import (
    accurate_sum,
    class_sums,
    slack_rounding,
    sum_rounding,
)
from wideberth.problem.rows import gamma
from wideberth.screening import Reduction, null_point
from wideberth.solvers import conic
from wideberth.solvers.base import Control
from wideberth.solvers.interior import InteriorPoint, even_barrier

#: Largest c_i‖z_i‖² that solvers are handed; squares of it stay within float64.
LARGEST_PUSH = 1e30
#: The same of the last attempt (1e8 loses four certificates of `make torture`).
_SMALL_PUSH = 1e6

#: What an attempt may end with whose arithmetic fails.
NUMERICAL = (ArithmeticError, np.linalg.LinAlgError, conic.ConicError)
#: What is tried: a solver, or one on another form of the problem.
Solve = Callable[[Problem, Control], Pair | None]


def prove(
    problem: Problem,
    control: Control,
    found: Pair | None = None,
    first: Solve | None = None,
) -> Pair:
    """The best pair of points of what is known and of all attempts that are needed.

    An attempt whose arithmetic fails has found nothing. Where all of them fail the
    answer is w = 0 and α = 0, which prove little but harm nobody.
    """
    if found is not None:
        found = polished(problem, found, control.tol)
    attempts: Iterator[Solve] = _second_attempts(problem)
    for attempt in attempts if first is None else chain([first], attempts):
        if found and control.status(found.certificate) != "out of precision":
            break
        try:
            new = attempt(problem, control)
        except NUMERICAL:
            continue
        if new is not None:
            new = null_if_optimal(problem, new, control.tol)
            new = polished(problem, new, control.tol)
            found = new if found is None else best_of([found, new])
    if found is None:
        zero = np.zeros(problem.rows.d), np.zeros(problem.n)
        found = Pair(problem.at(zero[0]), problem.dual_at(zero[1]))
    return middle_of_best(problem, sparse(problem, found, control.tol), control.tol)


def affordable(problem: Problem) -> bool:
    """Whether the problem is small enough for second attempts."""
    return problem.n * min(problem.rows.d, problem.n) ** 2 <= QUICK_GRAM


def null_if_optimal(problem: Problem, found: Pair, tol: float) -> Pair:
    """The null model in place of w ≈ 0, where a dual point proves it (theory §2).

    P(0) ≥ P* + ½‖w*‖² and ‖w−w*‖² ≤ 2·gap: a w that is too long for w = 0 to be within
    `tol` of the optimum is left alone, unread.
    """
    point, dual = found.point, found.dual
    longest = 8 * (tol * abs(point.scale) + found.gap)
    if not float(point.w @ point.w) <= longest:
        return found
    value = problem.null_value()  # quicker than a point, but for its rounding
    most = (1 + LITTLE) * tol * max(value, problem.least_scale)
    if not value - dual.value <= most:
        return found
    null = Pair(null_point(problem), dual)
    if not null.gap <= tol * null.point.scale:
        return found
    if is_foreign(problem.y):
        return on_host(problem, found, partial(null_if_optimal, tol=tol))
    if problem.noise.proportional:
        known = found if dual.w.any() else null
        noisy = bool(problem.radii.any()) or problem.outside.scale > 0
        if noisy or problem.folded is None:  # else w(α) = 0 is the only proof
            null = null_pair(problem, start=dual.alpha) or known
        else:
            null = known
    return polished(problem, null, tol) if null.meets(tol) else found


def on_host(
    problem: Problem, found: Pair, change: Callable[[Problem, Pair], Pair]
) -> Pair:
    """What `change` makes of a pair, on a copy of foreign rows in NumPy."""
    here, alpha = problem.on_host(), host(found.dual.alpha)
    known = Pair(here.at(found.point.w, found.point.b), here.dual_at(alpha))
    best = change(here, known)
    if best is known:
        return found
    alpha = like(best.dual.alpha, problem.weights)
    return Pair(problem.at(best.point.w, best.point.b), problem.dual_at(alpha))


def null_pair(
    problem: Problem, alpha: np.ndarray | None = None, start: np.ndarray | None = None
) -> Pair | None:
    """w = 0 with a dual point that proves it, or None.

    That is `alpha` where it is known; otherwise a closed form or, from dual weights to
    `start` with, some steps are tried (`null_certificate`).
    """
    if alpha is None and not is_foreign(problem.y):
        steps = 0 if start is None else 2 * MOST_STEPS
        alpha = null_certificate(problem, start, steps)
    if alpha is None:
        return None
    return Pair(null_point(problem), problem.dual_at(alpha))


# -- second attempts -----------------------------------------------------------------


def _second_attempts(problem: Problem) -> Iterator[Solve]:
    """The null model, and for small problems the even barrier on other forms of them.

    Each is needed by a case of `make torture`. The w and α of every form are those of
    the problem as given.
    """
    yield lambda problem, control: null_pair(problem)
    if not (problem.noise.proportional and affordable(problem)):
        return
    form = problem
    if not (bool(problem.radii.any()) or problem.outside.scale > 0):
        form = replace(problem, noise=Noise(L2(), problem.radii))  # all shapes do
    if problem.intercept == 0 and problem.n * problem.rows.d <= QUICK_GRAM:
        yield partial(_by_even_barrier, form=centre_columns(form))
    yield partial(_by_even_barrier, form=cap_weights(form, LARGEST_PUSH))
    lighter = cap_weights(form, _SMALL_PUSH)
    if lighter is not form:
        yield partial(_by_even_barrier, form=lighter)


def _by_even_barrier(problem: Problem, control: Control, form: Problem) -> Pair:
    """One run of the engine on the samples of some weight, in a form of a problem."""
    used = Reduction.without(form)
    spanned = span_of_rows(used.problem)
    small = spanned.problem
    with np.errstate(all="ignore"):  # what comes of it is checked
        method = InteriorPoint(small, barrier=even_barrier(small))
        best, smallest = (method.w, method.alpha), np.inf
        for _ in range(MOST_STEPS):
            if control.exhausted() or method.relative_gap <= LITTLE * control.target:
                break
            control.steps += 1
            if not method.step():
                break
            if method.relative_gap < smallest:
                smallest, best = method.relative_gap, (method.w, method.alpha)
        w, _, alpha = spanned.outward(best[0], 0.0, best[1])
        if not (np.isfinite(w).all() and np.isfinite(alpha).all()):
            raise FloatingPointError("the engine left the range of float64")
        return Pair(problem.at(w), problem.dual_at(used.unfold(alpha), near=w))


# -- last digits -----------------------------------------------------------------------


def polished(problem: Problem, found: Pair, tol: float) -> Pair:
    """The best multiples of (w,b) and α, where those found do not prove `tol`."""
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
    """What was found, with weights set to 0 where the noise makes them 0.

    An interior point has no weight of 0. Those that are 0 in w(α) are set to 0, as long
    as the tolerance is still proven: a few of the largest may have to stay, whose
    features are at their threshold.
    """
    if not problem.noise.separable:
        return found
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


def middle_of_best(problem: Problem, found: Pair, tol: float) -> Pair:
    """What was found, with the middle b of the best ones where b is not unique.

    It is not where a free b has slope 0, and the engines end anywhere between (§4.4).
    """
    if problem.intercept != 0 or is_foreign(problem.y):
        return found
    point, weights = found.point, problem.weights
    balance = 0.0 if problem.folded is None else problem.folded.balance
    mass, other = class_sums(weights * (point.slack > 0), problem.y)
    error = sum_rounding(problem.n) * (accurate_sum(weights) + abs(balance))
    if not abs(mass - other + balance) <= error:
        return found
    step = _to_the_middle(problem.y * point.slack, weights, error)
    if not np.isfinite(step):
        step = problem.best_intercept(point.slack)
    if abs(step) <= gamma(8) * (abs(point.b) + float(abs(point.slack).max())):
        return found
    pair = Pair(problem.at(point.w, point.b + step, point.margins), found.dual)
    if found.certificate.proves(tol) and not pair.certificate.proves(tol):
        return found
    return pair


def _to_the_middle(breaks, weights, error: float) -> float:
    """From 0, where P is flat in b, to the middle of the breaks on both sides of it.

    Infinite where there is none on one side, and NaN where one is at 0.
    """
    breaks = breaks[weights > error]  # others do not end what is flat
    below, above = breaks[breaks < 0], breaks[breaks > 0]
    if below.size + above.size < breaks.size:
        return np.nan
    return 0.5 * float(below.max(initial=-np.inf) + above.min(initial=np.inf))


def best_of(pairs: list[Pair]) -> Pair:
    """The lowest primal and the highest dual point, rounding allowed for."""
    costs = [pair.point.value + pair.point.rounding for pair in pairs]
    worths = [pair.dual.value - pair.dual.rounding for pair in pairs]
    lowest = np.argmin(np.nan_to_num(costs, nan=np.inf, posinf=np.inf))
    highest = np.argmax(np.nan_to_num(worths, nan=-np.inf, neginf=-np.inf))
    return Pair(pairs[lowest].point, pairs[highest].dual)


def _best_stretch(problem: Problem, point: PrimalPoint, sizes: np.ndarray) -> float:
    """The best multiple of (w,b), each robust margin lowered by its rounding.

    By four times the bound, so that slacks are still seen to be negative afterwards.
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
    # By how much the slope is less before each end, and (0) after all of them.
    lacking = np.append(jumps[::-1].cumsum()[::-1], 0.0)
    k = int(np.searchsorted(ends * curvature + slope >= lacking[1:], True))
    t = (float(lacking[k]) - slope) / curvature if curvature > 0 else np.inf
    return min(t, float(ends[k])) if k < ends.size else t
