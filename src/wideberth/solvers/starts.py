"""Warm starts: where a solver begins, from what is known of other problems.

Users give points (`init`), a ramp hands those of one round to the next, and along a
path (of folds and classes too) each problem starts from its neighbours. All of them
make a `WarmStart`. Nothing here bears on correctness.

Along a path a `Predictor` takes the lowest point on the lines from the first of these
to the others:

* the solution before; at first that of all samples at their bounds, if it is near,
* the line through the two solutions before, linear in log C,
* the solution before, moved as the path under the neighbouring radius moved,
* the solution before, moved as a path over a sample of the rows moved, on tall data:
  that costs little, and over long steps in C it is better than a line.

Rows whose slack has another sign at the solution than was predicted must be in its
working set. After every point it is counted how many rows lie as near to the margin as
the farthest of these, and the next working set holds a few more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from wideberth.problem import DualPoint, Pair, PrimalPoint, Problem
from wideberth.problem.limits import LITTLE, TINY
from wideberth.solvers.attempts import minimise_along
from wideberth.solvers.base import Control, Solver
from wideberth.solvers.sampling import (
    NEAR_SHARE,
    Sample,
    SamplingError,
    sample_accuracy,
    sample_size,
    small_sample,
)

#: Largest number of margins that a path keeps for the next radius; beyond it they are
#: computed again, a pass for each point. It is a bound on memory, 128 MB.
_KEPT_MARGINS = 1 << 24

#: A way from the solution before: so many times the way between two points.
Line = tuple[float, PrimalPoint, PrimalPoint]


@dataclass(frozen=True)
class WarmStart:
    """Where a solver begins: a primal point, and dual weights within their bounds.

    Z·alpha is `combined`, where it is known. `rows` says what the first working set
    should hold: so many rows nearest to the margin, those that the error of a sample
    may carry across it, or None where nothing is known.
    """

    problem: Problem
    point: PrimalPoint
    alpha: np.ndarray
    combined: np.ndarray | None = None
    rows: int | SamplingError | None = None

    @cached_property
    def pair(self) -> Pair:
        """The primal and the dual point."""
        dual = self.problem.dual_at(self.alpha, self.combined, near=self.point.w)
        return Pair(self.point, dual)

    @property
    def dual(self) -> DualPoint:
        """The dual point, computed when first asked for."""
        return self.pair.dual


def carry(
    problem: Problem, point: PrimalPoint, alpha: np.ndarray, combined=None
) -> WarmStart:
    """Points of a problem on the same rows, as a start of this one.

    Margins are known, and Z·alpha may be, so that no row is read. α is cut to the
    weights here.
    """
    there = problem.at(point.w, point.b, point.margins)
    return WarmStart(problem, there, np.minimum(alpha, problem.weights), combined)


def carry_scaled(problem: Problem, last: Pair, scale: float) -> WarmStart:
    """A solution under other weights, α being `scale` times it.

    Multiplied so, Z·alpha is off by one rounding more, which bounds allow for. Beside
    folded samples it is computed afresh.
    """
    point, dual = last.point, last.dual
    combined = scale * dual.d if problem.folded is None else None
    return carry(problem, point, scale * dual.alpha, combined)


def at_bounds(problem: Problem, alpha: np.ndarray) -> WarmStart:
    """The points of α, all of whose entries are at their bounds (theory §2)."""
    dual = problem.dual_at(alpha)
    point = problem.at(dual.w, dual.b if problem.intercept else None)
    start = WarmStart(problem, point, dual.alpha)
    vars(start)["pair"] = Pair(point, dual)
    return start


def best_multiple(problem: Problem, last: Pair, ratio: float) -> tuple[float, float]:
    """The factor t ≤ ratio on α of the largest D, for weights `ratio` times as large.

    D(tα) = tΣα_im_i − ½t²L with L = ‖w(α)‖² + λ_b b²: t is the ratio where all samples
    are at their bounds, and 1 where none is, for then a larger C changes nothing. The
    second number is the relative gap of tα and w, where P(w) has grown by
    (ratio − 1)Σc_i[u_i]_+. Nothing is proven, but no vector as long as the rows is
    read. Folded samples, those of the quantile loss, grow with the weights: t is the
    ratio, and all of P but its square grows.
    """
    point, dual, penalty = last.point, last.dual, problem.intercept or 0.0
    square = float(dual.w @ dual.w) + penalty * dual.b * dual.b
    total, growing = dual.value + 0.5 * square, point.hinge
    t = min(total / square, ratio) if square > 0 else ratio
    if problem.folded is not None:
        growing = point.value - 0.5 * float(point.w @ point.w)
        growing, t = growing - 0.5 * penalty * point.b * point.b, ratio
    primal = point.value + (ratio - 1) * growing
    gap = primal - (t * total - 0.5 * t * t * square)
    return t, gap / max(primal, problem.least_scale, TINY)


class Predictor:
    """Starts along a path: C ascends, for one radius after the other.

    `past` holds at most two solutions and the C of each, the last one last; `first` the
    first one; `before` the points under the radius before and `here` those under this
    one, by the place of C; `rows` the size of the next working set, at first
    `few_rows`. Solvers without predictions start from the `nearest` solution.
    """

    def __init__(self, problem: Problem, solver: Solver, rng: np.random.Generator):
        self.solver, self.rng = solver, rng
        self.past: list[tuple[float, Pair]] = []
        self.first: tuple[float, Pair] | None = None
        self.bounds: WarmStart | None = None
        self.before: list[PrimalPoint] = []
        self.here: list[PrimalPoint] = []
        self.few_rows = self.rows = int(NEAR_SHARE * problem.n)
        self.helper: Predictor | None = None  # the path over a sample of the rows
        most = small_sample(problem.n)
        if most and solver.predicted and not solver.quick:
            size = min(sample_size(problem.n, problem.rows.d), most)
            self.sample = Sample(problem, size, rng)
            if self.sample.usable(problem):
                self.helper = Predictor(self.sample.of(problem), solver, rng)

    @property
    def nearest(self) -> tuple[float, Pair] | None:
        """C and the solution before, or else the first one under the radius before."""
        return self.past[-1] if self.past else self.first

    def next_radius(self) -> None:
        """C starts anew, under another radius."""
        self.before, self.here, self.past, self.rows = self.here, [], [], self.few_rows
        if self.helper is not None:
            self.helper.next_radius()

    def accept(
        self, found: Pair, C: float, foreseen: np.ndarray | None, needed: int = 0
    ) -> None:
        """Take in the solution at C, and the slacks that it began with.

        `needed` is the size of its last working set; 0 where the first one was enough.
        """
        if foreseen is not None and self.past:
            slack = found.point.slack
            self.rows = needed or rows_enough(foreseen, slack, self.rows)
        self.first, self.bounds = self.first if self.past else (C, found), None
        self.past = [*self.past[-1:], (C, found)]
        fits = (len(self.here) + 1) * found.point.slack.shape[0] <= _KEPT_MARGINS
        self.here.append(found.point if fits else without_margins(found.point))

    def known(self, problem: Problem, tol: float, C: float) -> Pair | None:
        """A solution that takes no step: the one before, or all samples at bounds."""
        if self.nearest is None:
            if problem.intercept == 0:  # b is not unique there
                return None
            pair = self._bounds(problem).pair
            return pair if pair.meets(tol) else None
        before, last = self.nearest
        scale, gap = best_multiple(problem, last, C / before)
        if not gap <= tol:
            return None
        pair = carry_scaled(problem, last, scale).pair
        if not pair.meets(tol):
            return None
        # Afresh: one more rounding of Zᵀα is allowed for, those of a row are not.
        dual = problem.dual_at(pair.dual.alpha, near=pair.point.w)
        return Pair(pair.point, dual)

    def start(self, problem: Problem, control: Control, C: float) -> WarmStart | None:
        """Where to begin at this C; None where nothing is known."""
        if not self.solver.predicted:
            if self.nearest is not None:  # samples at their bounds stay there
                return carry_scaled(problem, self.nearest[1], C / self.nearest[0])
            return None if problem.intercept == 0 else self._bounds(problem)
        predicted, sampling = self._predicted(problem, C), None
        if self.helper is not None:
            point, sampling = self._ask_helper(self.helper, problem, control, C)
            predicted.append(point)
        if not predicted:
            return None
        point = lowest_between(problem, predicted)
        alpha = np.where(point.slack > 0, problem.weights, 0.0)
        if self.past:
            before, last = self.past[-1]
            alpha = np.minimum(C / before * last.dual.alpha, problem.weights)
        return WarmStart(problem, point, alpha, rows=sampling or self.rows)

    def foresee(
        self, problem: Problem, C: float
    ) -> tuple[np.ndarray, int, tuple[np.ndarray, float]]:
        """About the slacks at this C, by one line, rows for them, and the model there.

        For solvers that are `quick`: nothing is evaluated after the first C.
        """
        if self.past:
            last = self.past[-1][1].point
        elif self.before:
            last = _moved(problem, self.before[0])
        else:
            last = self._bounds(problem).point
        slack, w, b = last.slack, last.w, last.b
        for t, start, end in self._lines(C)[-1:] if self.past else []:
            if start.slack.size == end.slack.size == slack.size:
                slack = slack + t * (end.slack - start.slack)
                w, b = w + t * (end.w - start.w), b + t * (end.b - start.b)
        return slack, self.rows, (w, b)

    def _bounds(self, problem: Problem) -> WarmStart:
        """All samples at their bounds, at the first C of all."""
        if self.bounds is None:
            self.bounds = at_bounds(problem, problem.weights * (problem.targets > 0))
        return self.bounds

    def _predicted(self, problem: Problem, C: float) -> list[PrimalPoint]:
        """The solution before, and where lines lead from there."""
        j = len(self.here)
        beside = self.before[j] if j < len(self.before) else None
        if not self.past:
            if beside is not None:
                return [_moved(problem, beside)]
            if self.first is not None or not problem.noise.proportional:
                return []
            full = self._bounds(problem)
            return [full.point] if full.pair.gap <= LITTLE * full.point.scale else []
        last = self.past[-1][1].point
        return [
            _moved(problem, last),
            *(_moved(problem, last, *line) for line in self._lines(C)),
        ]

    def _lines(self, C: float) -> list[Line]:
        """Where the next solution may lie, from the one before."""
        lines, j = list[Line](), len(self.here)
        if j < len(self.before):
            lines.append((1.0, self.before[j - 1], self.before[j]))
        if len(self.past) > 1:
            (first, start), (here, end) = self.past
            stride = np.log(C / here) / np.log(here / first)
            lines.append((stride, start.point, end.point))
        return lines

    def _ask_helper(
        self, helper: Predictor, problem: Problem, control: Control, C: float
    ) -> tuple[PrimalPoint, SamplingError | None]:
        """The solution before, moved as the path over the sample moves.

        At first it is the point of that path, with the error of the sample.
        """
        accuracy = sample_accuracy(self.sample.rows.n, self.sample.rows.d)
        quiet = control.rougher(max(accuracy, 2 * control.tol))
        part, past = self.sample.of(problem), helper.past
        start = helper.start(part, quiet, C)
        found = self.solver.solve(part, quiet, start=start)
        slack = None if start is None else start.point.slack
        helper.accept(found, C, slack, quiet.rows_needed)
        control.steps = quiet.steps
        end = without_margins(found.point)
        if past and self.past:
            here, before = self.past[-1][1].point, without_margins(past[-1][1].point)
            return _moved(problem, here, 1.0, before, end), None
        doubt = 1 - self.sample.chance
        return _moved(problem, end), SamplingError(part, found.point, doubt, self.rng)


def lowest_between(problem: Problem, points: list[PrimalPoint]) -> PrimalPoint:
    """About the lowest point on the lines from the first one to the others in turn."""
    lowest, *others = points
    for other in sorted(others, key=lambda point: point.value):
        t = _best_step(problem, lowest, other)
        lowest = _moved(problem, lowest, t, lowest, other) if t > 0 else lowest
    return lowest


def _best_step(problem: Problem, start: PrimalPoint, end: PrimalPoint) -> float:
    """The t in [0, 1] at which P is about least on the line from `start` to `end`.

    Slacks u_i are taken for linear in t, as they are without noise, and what is folded
    too. Then P'(t) = m + t‖δ‖² + Σ_{u_i(t) > 0} c_iδu_i never falls, δ being the way of
    (w, √λ_b b), and m is known from P at both ends.
    """
    w, b, rise = end.w - start.w, end.b - start.b, end.slack - start.slack
    square = float(w @ w) + (problem.intercept or 0.0) * b * b
    linear = (end.value - end.hinge) - (start.value - start.hinge) - 0.5 * square
    active = end.slack > 0
    slope = linear + float((problem.weights * rise) @ active)
    changing = np.flatnonzero(active != (start.slack > 0))
    rise = np.abs(rise[changing])
    ends, jumps = np.abs(start.slack[changing]) / rise, problem.weights[changing] * rise
    t = minimise_along(slope, square, ends, jumps)
    return min(max(t, 0.0), 1.0)


def rows_enough(predicted: np.ndarray, slack: np.ndarray, before: int = 0) -> int:
    """The fewest rows nearest to a predicted margin with all on its wrong side.

    It is at least half of the number `before`: few may be luck.
    """
    distance, wrong = np.abs(predicted), (predicted > 0) != (slack > 0)
    farthest = distance[wrong].max(initial=-1.0)
    return max(int(np.count_nonzero(distance <= farthest)), before // 2)


def without_margins(point: PrimalPoint) -> PrimalPoint:
    """The point without what is as long as the rows; margins are computed again."""
    return replace(point, margins=(none := np.empty(0)), slack=none)


def _moved(
    problem: Problem,
    point: PrimalPoint,
    t: float = 0.0,
    start: PrimalPoint | None = None,
    end: PrimalPoint | None = None,
) -> PrimalPoint:
    """A point of `problem`, moved by t times the line from `start` to `end`.

    Where all margins are known no row is read.
    """
    w, b, margins = point.w, point.b, point.margins
    known = margins.size == problem.n
    if start is not None and end is not None:
        w, b = w + t * (end.w - start.w), b + t * (end.b - start.b)
        known = known and start.margins.size == end.margins.size == problem.n
        margins = margins + t * (end.margins - start.margins) if known else margins
    return problem.at(w, b, margins if known else None)
