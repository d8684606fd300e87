"""Newton's method from problem to problem on the same rows: paths in C and in radius.

Neighbouring problems have neighbouring solutions. Predicted is

* at first, all samples at their bounds, where that is about the solution,
* the solution before,
* the line through the two before, linear in the step taken,
* the solution before, moved as a walk under the neighbouring radius moved,
* the solution before, moved as a walk over a sample of the rows moved, on tall data: it
  costs little, and on long strides it knows what a line cannot.

A start is about the lowest point on the ways from the first of these to the others. Of
its slacks matters which rows are on the wrong side of the margin, and how many are as
near to it as the farthest of these: so many would have been enough, where others did
not have to come back. The next working set holds a few more, and other rows are settled
from the start (`driver.py`). Nothing here bears on correctness.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.limits import LITTLE
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.batches import InMemory
from wideberth.solvers.driver import Driver
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.sampling import (
    Sample,
    SamplingError,
    sample_accuracy,
    sample_size,
    small_sample,
)
from wideberth.solvers.shrinking import nearest_width

#: Number of halvings of a way that the lowest point on it is sought by: a choice.
_HALVINGS = 6


class Walk:
    """Solves problems that differ in weights and radii alone, one after the other."""

    def __init__(self, problem: Problem, rng):
        self.rng = rng
        self.past: list[
            tuple[float, PrimalPoint]
        ] = []  # at most two, the last one last
        #: Rows that would have done before; at first, as many as are few.
        self.few = int(SETTINGS.near_share * problem.n)
        self.enough = self.few
        self.helper: Walk | None = None  # the walk over a sample of the rows
        self.sampling: SamplingError | None = None  # where it is all that is known
        most = small_sample(problem.n)
        if most:
            size = min(sample_size(problem.n, problem.rows.d), most)
            self.sample = Sample(problem, size, rng)
            if self.sample.usable(problem):
                self.helper = Walk(self.sample.of(problem), rng)

    def restart(self) -> None:
        """Begin anew, on the same rows."""
        self.past, self.enough = [], self.few
        if self.helper is not None:
            self.helper.restart()

    def accept(self, point: PrimalPoint, at: float) -> None:
        """Go on from a solution, found by a step or without one."""
        self.past = [*self.past[-1:], (at, point)]

    def step(
        self,
        problem: Problem,
        control: Control,
        at: float,
        *,
        beside: tuple[PrimalPoint | None, PrimalPoint] | None = None,
    ) -> Outcome:
        """Solve `problem`, which lies `at` on a scale where solutions move evenly.

        `beside` are solutions of another walk: where this one was, and where it goes.
        """
        predicted, start = self._predict(problem, at, beside), None
        if self.helper is not None:
            predicted.append(self._ask_helper(self.helper, problem, control, at))
        if predicted:
            start = lowest_between(problem, predicted)
        band = np.inf if start is None else self._band(start.slack)
        driver = Driver(InMemory(problem), control)
        outcome, sizes = driver.solve(start, band), driver.sizes
        if start is not None and self.past:
            known = start.slack, outcome.point.slack, self.enough
            self.enough = sizes[-1] if len(sizes) > 1 else rows_enough(*known)
        self.accept(outcome.point, at)
        return outcome

    def _predict(self, problem: Problem, at: float, beside) -> list[PrimalPoint]:
        if not self.past and beside is None:
            return _saturated(problem)
        if not self.past:
            return [_seen(problem, beside[1])]
        here, last = self.past[-1]
        predicted = [_seen(problem, last)]
        if len(self.past) > 1:
            before, start = self.past[0]
            stride = (at - here) / (here - before)
            predicted.append(_seen(problem, last, stride, start, last))
        if beside is not None:
            predicted.append(_seen(problem, last, 1.0, *beside))
        return predicted

    def _ask_helper(
        self, helper: Walk, problem: Problem, control: Control, at: float
    ) -> PrimalPoint:
        """The move of the walk over the sample; at first, where that walk is."""
        before = helper.past[-1:]
        accuracy = sample_accuracy(self.sample.rows.n, self.sample.rows.d)
        quiet = control.rougher(max(accuracy, 2 * control.tol))
        part = self.sample.of(problem)
        found = helper.step(part, quiet, at).point
        control.steps = quiet.steps
        end, self.sampling = without_margins(found), None
        if before and self.past:
            start = without_margins(before[0][1])
            return _seen(problem, self.past[-1][1], 1.0, start, end)
        doubt = 1 - self.sample.chance
        self.sampling = SamplingError(part, found, doubt, self.rng)
        return _seen(problem, end)

    def _band(self, slack: np.ndarray) -> float | SamplingError:
        """A band that holds as many rows as were enough before, and some more.

        All of them where a smaller copy would hold most, as where many are tied.
        """
        if self.sampling is not None:
            return self.sampling
        share = SETTINGS.walk_reserve * self.enough / max(slack.size, 1)
        if share > SETTINGS.copy_share:
            return np.inf
        return nearest_width(slack, share)


def _saturated(problem: Problem) -> list[PrimalPoint]:
    """The point of all samples at their bounds, where a path begins (theory §2).

    Where it is near the optimum: elsewhere all rows are quicker than a wrong guess.
    """
    if not problem.noise.proportional:
        return []
    dual = problem.dual_at(problem.weights)
    point = problem.at(dual.w)
    return [point] if point.value - dual.value <= LITTLE * point.scale else []


def lowest_between(problem: Problem, points: list[PrimalPoint]) -> PrimalPoint:
    """About the lowest point on the ways from the first one to the others in turn."""
    lowest, *others = points
    for other in sorted(others, key=lambda point: point.value):
        t = _best_share(problem, lowest, other)
        lowest = _seen(problem, lowest, t, lowest, other) if t else lowest
    return lowest


def _best_share(problem: Problem, start: PrimalPoint, end: PrimalPoint) -> float:
    """The share t of a way at which P is about least.

    Slacks u_i are taken for linear in t, as they are without noise, and what is folded
    too. Then P'(t) = m + t‖δ‖² + Σ_{u_i(t) > 0} c_iδu_i never falls, δ being the way of
    (w, √λ_b b), and m is known from P at both ends.
    """
    w, b, rise = end.w - start.w, end.b - start.b, end.slack - start.slack
    square = float(w @ w) + (problem.intercept or 0.0) * b * b
    linear = (end.value - end.hinge) - (start.value - start.hinge) - 0.5 * square
    slopes = problem.weights * rise

    def falls(t: float) -> bool:
        active = start.slack + t * rise > 0
        return linear + t * square + float(slopes @ active) < 0

    if falls(1.0):
        return 1.0
    t = 0.0
    for k in range(1, _HALVINGS + 1):
        t += 0.5**k if falls(t + 0.5**k) else 0.0
    return t


def rows_enough(predicted: np.ndarray, slack: np.ndarray, before: int = 0) -> int:
    """The fewest rows nearest to a predicted margin with all on its wrong side.

    But no less than half of what was enough `before`: few may be luck.
    """
    distance, wrong = np.abs(predicted), (predicted > 0) != (slack > 0)
    farthest = distance[wrong].max(initial=-1.0)
    return max(int(np.count_nonzero(distance <= farthest)), before // 2)


def without_margins(point: PrimalPoint) -> PrimalPoint:
    """The point without what is as long as the rows; margins are computed again."""
    none = np.empty(0)
    return replace(point, margins=none, slack=none)


def _seen(
    problem: Problem,
    point: PrimalPoint,
    t: float = 0.0,
    start: PrimalPoint | None = None,
    end: PrimalPoint | None = None,
) -> PrimalPoint:
    """A point of `problem`, moved by t times the way from `start` to `end`.

    Where all margins are known no row is read.
    """
    w, b, margins = point.w, point.b, point.margins
    known = margins.size == problem.n
    if start is not None and end is not None:
        w, b = w + t * (end.w - start.w), b + t * (end.b - start.b)
        known = known and start.margins.size == end.margins.size == problem.n
        margins = margins + t * (end.margins - start.margins) if known else margins
    return problem.at(w, b, margins if known else None)
