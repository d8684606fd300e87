"""Descent on the ramp loss: leave out what costs most, solve the rest, in turn (§11).

Every round solves a robust SVM, M_K of `problem/ramp.py`, with any solver and from the
point before, and then takes the samples K anew that cost less as a constant. Early
rounds are rough: a round is expected to gain a tenth of what the one before did, and is
solved to a tenth of that. Beyond each solution R is looked at along the way that led
there, twice as far each time; with margins known that reads no row, and rounds that
each take some more samples out become few. It ends, with a problem solved to the
tolerance asked for,

* "repeats": its solution leaves the same samples out, and a round more changes nothing;
* "stalls": a round gained less than ten times the tolerance;
* "cut short": by a limit of time or steps, or by the callback.

R never rises: a round that finds nothing better keeps the point before. What comes out
is a local minimum that depends on the start, and where several are asked for the best
is kept: from the solution with the hinge loss, from the class means (what is on the
wrong side of the middle between them is left out first), and from the hinge trimmed
(what it gets wrong is left out first). With many rows all this is done on a sample of
them, and of that, and goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from wideberth.problem import Certificate, PrimalPoint, Problem
from wideberth.problem.limits import LITTLE, TINY
from wideberth.problem.presolve import Presolved
from wideberth.problem.ramp import Ramp
from wideberth.problem.rounding import accurate_sum
from wideberth.problem.validation import short
from wideberth.solution import Ending, RampDescent
from wideberth.solvers.attempts import NUMERICAL, prove
from wideberth.solvers.base import Control, Outcome, Solver
from wideberth.solvers.sampling import Sample, small_sample
from wideberth.solvers.shrinking import least_rows

#: Relative gap of the first rounds: a choice, an order of magnitude below what they
#: gain (`LITTLE`, twice).
ROUGH = LITTLE * LITTLE
#: Samples to leave out first, and a point with dual weights, where one is known.
_Begun = tuple[np.ndarray, PrimalPoint | None, np.ndarray | None]


@dataclass(frozen=True)
class Descended:
    """Where a descent ended: the samples left out, and the solution on the others.

    `outcome` is of the robust SVM without them; `objectives` are values of R, at the
    start and after every round.
    """

    ramp: Ramp
    left_out: np.ndarray
    outcome: Outcome
    objectives: list[float]
    start: str
    ending: Ending

    @property
    def value(self) -> float:
        """R where it ended."""
        return self.objectives[-1]

    @property
    def problem(self) -> Problem:
        """The robust SVM without the samples left out."""
        return self.ramp.rest(self.left_out)

    @property
    def certificate(self) -> Certificate:
        """That of M_K."""
        return self.ramp.certificate(self.outcome.certificate, self.left_out)

    def report(self, presolved: Presolved) -> RampDescent:
        """What is told of it, in the user's units."""
        return RampDescent(
            self.ramp.level,
            presolved.left_out(self.left_out),
            tuple(presolved.value(value) for value in self.objectives),
            self.start,
            self.ending,
        )


class Descent:
    """Rounds of one ramp, under the limits of a run."""

    def __init__(self, ramp: Ramp, control: Control, solver: Solver):
        self.ramp, self.control, self.solver = ramp, control, solver
        self.rough = max(ROUGH, control.tol)  # relative gap of the first round

    def run(self, starts: int = 1, start: Outcome | None = None) -> Descended:
        """The best of the first so many starts, of those that the data has.

        Where a start is given it is the only one.
        """
        if start is not None:
            return self.go_on(start.point, start.dual.alpha, "init")
        found: list[Descended] = []
        for name in list(STARTS)[:starts]:
            if found and self.control.exhausted():
                break
            begun = self._begin(name)
            if begun is not None:
                found.append(self._descend(*begun, name))
        return min(found, key=lambda each: each.value)

    def go_on(self, point: PrimalPoint, alpha: np.ndarray, name: str) -> Descended:
        """The descent from a point of the problem and its dual weights."""
        return self._descend(self.ramp.left_out(point.slack), point, alpha, name)

    # -- starts --------------------------------------------------------------------

    def _begin(self, name: str) -> _Begun | None:
        """From where to descend; None where the data has no such start."""
        problem, coarse = self.ramp.problem, self._sampled()
        if coarse is None:
            return STARTS[name](self)
        begun = coarse._begin(name)
        if begun is None:
            return None
        found = coarse._descend(*begun, name).outcome.point
        self.control.steps = coarse.control.steps
        self.rough = max(LITTLE * coarse.control.tol, self.control.tol)
        point = problem.at(found.w, found.b)
        alpha = np.where(point.slack > 0, problem.weights, 0.0)
        return self.ramp.left_out(point.slack), point, alpha

    def _sampled(self) -> Descent | None:
        """The same on a sample of the rows, where there are many."""
        problem = self.ramp.problem
        n, d = small_sample(problem.n), problem.rows.d
        if n < least_rows(problem):
            return None
        sample = Sample(problem, n, self.control.rng)
        if not sample.usable(problem):
            return None
        # The optimum of a sample of n rows is off by about d/n.
        quiet = self.control.rougher(max(self.control.tol, d / n))
        return Descent(Ramp(sample.of(problem), self.ramp.level), quiet, self.solver)

    def from_hinge(self) -> _Begun:
        """The samples that a solution with the hinge loss, a rough one, has below a."""
        found = self._solve(self.ramp.problem, self.rough, 0.0, None)
        return self.ramp.left_out(found.point.slack), found.point, found.dual.alpha

    def from_means(self) -> _Begun | None:
        """Those on the wrong side of the middle between the weighted class means."""
        problem = self.ramp.problem
        upper = problem.y > 0
        sums = [accurate_sum(problem.weights[side]) for side in (upper, ~upper)]
        if min(sums) == 0:
            return None
        shares = problem.weights / np.where(upper, *sums)
        across = problem.rows.combine(shares)  # from one mean to the other
        margins, middle = problem.rows.margins(across), 0.0
        if problem.intercept is not None:
            middle = 0.5 * accurate_sum(shares * problem.y * margins)
        return margins - problem.y * middle < 0, None, None

    def trimmed(self) -> _Begun:
        """Those that a solution with the hinge loss, a rough one, gets wrong."""
        found = self._solve(self.ramp.problem, self.rough, 0.0, None)
        return found.point.slack > 1, None, None

    # -- rounds --------------------------------------------------------------------

    def _descend(self, left_out, point, alpha, name: str) -> Descended:
        ramp, control = self.ramp, self.control
        value, tol = np.inf, self.rough
        objectives = []
        if point is not None:
            value = ramp.value(point)
            objectives.append(value)
        while True:
            rest, begun = ramp.rest(left_out), None
            if point is not None:
                begun = _moved(rest, point, alpha)
                tol = control.tol if begun.meets(tol) else tol
            found = self._solve(rest, tol, ramp.cost(left_out), begun)
            if begun is not None and not found.point.value <= begun.point.value:
                found = Outcome(rest.at(begun.point.w, begun.point.b), found.dual)
            there = ramp.problem.at(found.point.w, found.point.b, found.point.margins)
            lower = ramp.value(there)
            gain = (value - lower) / max(lower, TINY)
            repeats = bool(np.array_equal(ramp.left_out(there.slack), left_out))
            stalls = not LITTLE * gain > control.tol
            cut = control.exhausted()
            if cut or ((repeats or stalls) and tol <= control.tol):
                objectives.append(lower)
                ending = ending_of(repeats, stalls, tol <= control.tol)
                return Descended(ramp, left_out, found, objectives, name, ending)
            if repeats or stalls:
                tol = control.tol
            else:
                tol = min(max(LITTLE * LITTLE * gain, control.tol), tol)
                if point is not None:
                    there, lower = self._farther(point, there, lower)
            left_out, point, alpha = ramp.left_out(there.slack), there, found.dual.alpha
            value = lower
            objectives.append(value)

    def _farther(self, start: PrimalPoint, end: PrimalPoint, value: float):
        """The lowest R on the way through `end`, twice as far each time."""
        problem, t = self.ramp.problem, 2.0
        d_w, d_b, change = end.w - start.w, end.b - start.b, end.margins - start.margins
        while not self.control.exhausted():
            margins = start.margins + t * change
            point = problem.at(start.w + t * d_w, start.b + t * d_b, margins)
            lower = self.ramp.value(point)
            if not lower < value:
                break
            end, value, t = point, lower, 2 * t
        return end, value

    def _solve(self, problem: Problem, tol: float, cost: float, begun) -> Outcome:
        """Solve a convex problem; to the tolerance asked for by all means there are."""
        control, rough = self.control, tol > self.control.tol
        callback = control.callback and partial(told, control.callback, cost)
        inner = replace(control, tol=tol, callback=callback, trace=[])
        if rough:  # nothing is told of it, and its gap decides hardly a sample
            inner.aim, inner.screening = np.inf, None
        solve = partial(self.solver.solve, start=begun)
        found = None
        if rough:
            try:
                found = solve(problem, inner)
            except NUMERICAL:
                inner.tol = control.tol
        if found is None:
            known = None
            if begun is not None and begun.meets(inner.tol):  # margins afresh
                point = problem.at(begun.point.w, begun.point.b)
                known = Outcome(point, begun.dual)
            found = prove(problem, inner, known, solve)
        control.steps, control.stopped = inner.steps, inner.stopped
        control.features = inner.features
        control.trace += with_costs(inner.trace, cost)
        return found


def ending_of(repeats: bool, stalls: bool, solved: bool) -> Ending:
    """The word for how a descent ended, its last problem being `solved` or not."""
    if not solved or not (repeats or stalls):
        return "cut short"
    return "repeats" if repeats else "stalls"


#: The starts there are, in the order in which they are tried.
STARTS: dict[str, Callable[[Descent], _Begun | None]] = {
    "hinge": Descent.from_hinge,
    "class means": Descent.from_means,
    "trimmed": Descent.trimmed,
}


def check_starts(starts) -> int:
    """How many starts a descent is made from."""
    if isinstance(starts, bool) or starts not in range(1, len(STARTS) + 1):
        raise ValueError(
            f"starts={short(starts)} must be 1, 2 or 3: from the hinge, from the class "
            "means too, and from the hinge trimmed."
        )
    return int(starts)


def _moved(problem: Problem, point: PrimalPoint, alpha: np.ndarray) -> Outcome:
    """A point of other weights, with the dual weights that these leave of α."""
    there = problem.at(point.w, point.b, point.margins)
    dual = problem.dual_at(np.minimum(alpha, problem.weights), near=point.w)
    return Outcome(there, dual)


def with_costs(trace: list[dict], cost: float) -> list[dict]:
    """Entries of a trace with what samples left out cost."""
    values = ("primal", "dual")
    return [entry | {name: entry[name] + cost for name in values} for entry in trace]


def told(callback, cost: float, entry: dict):
    """A callback that hears of the objective with what samples left out cost."""
    return callback(with_costs([entry], cost)[0])
