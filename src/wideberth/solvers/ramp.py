"""Descent on the ramp loss: leave out what costs most, solve the rest, in turn (§11).

Every round solves a robust SVM, M_K of `problem/ramp.py`, from the point before, and
then takes the samples K anew that cost less as a constant. It ends, with a problem
solved to the tolerance asked for,

* "repeats": its solution leaves the same samples out, and a round more changes nothing;
* "stalls": a round gained less than ten times the tolerance;
* "cut short": by a limit of time or steps, or by the callback.

R never rises: a round that finds nothing better keeps the point before. What comes out
is a local minimum that depends on the start.

Rounds are solved with any solver. The early ones are rough: a round is expected to gain
a tenth of what the one before did, and is solved to a tenth of that. With several
starts the best result is kept. With many rows all this is done first on a sample of
them. All rows are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from wideberth.problem import Certificate, Pair, PrimalPoint, Problem
from wideberth.problem.limits import LITTLE, TINY
from wideberth.problem.ramp import Ramp, with_cost
from wideberth.problem.rounding import accurate_sum, chain
from wideberth.solvers.attempts import NUMERICAL, prove
from wideberth.solvers.base import Control, Solver
from wideberth.solvers.sampling import Sample, small_sample
from wideberth.solvers.shrinking import least_rows
from wideberth.solvers.starts import WarmStart, carry

#: Names of the starts there are, in the order in which they are tried.
STARTS = ("hinge", "class means", "trimmed")
#: How a descent ended.
Ending = Literal["repeats", "stalls", "cut short"]

#: Relative gap of the first rounds: a choice, an order of magnitude below what they
#: gain (`LITTLE`, twice).
ROUGH = LITTLE * LITTLE


@dataclass(frozen=True)
class LeftOut:
    """The samples K that are left out, what they cost, and R where that is known.

    They are those beyond the ramp at `point`, if there is one, with `alpha` as the dual
    weights that led there; `changed` says whether the ones before were others.
    """

    samples: np.ndarray  # their mask
    cost: float
    value: float = np.inf
    point: PrimalPoint | None = None
    alpha: np.ndarray | None = None
    changed: bool = True


@dataclass(frozen=True)
class Descended:
    """Where a descent ended: the samples left out, and the solution on the others.

    `certificate` is that of M_K; `objectives` are values of R, at the start and after
    every round.
    """

    level: float
    left: LeftOut
    found: Pair
    certificate: Certificate
    objectives: tuple[float, ...]
    start: str
    ending: Ending


class Descent:
    """Rounds of a ramp under the limits of a run, with any solver.

    The first round is solved to the relative gap `rough`.
    """

    def __init__(self, ramp: Ramp, control: Control, solver: Solver):
        self.ramp, self.control, self.solver = ramp, control, solver
        self.rough = max(ROUGH, control.tol)

    def go_on(self, left: LeftOut, name: str) -> Descended:
        """Rounds until the samples left out repeat, or hardly anything is gained."""
        control, tol = self.control, self.rough
        objectives: list[float] = [] if left.point is None else [left.value]
        while True:
            found, tol = self.round(left, tol)
            there = self.look(found, left)
            gain = (left.value - there.value) / max(there.value, TINY)
            repeats, stalls = not there.changed, not LITTLE * gain > control.tol
            ends, exact = repeats or stalls, tol <= control.tol
            if control.exhausted() or (ends and exact):
                # Those of a sum over the samples, some of which stand for many.
                roundings = chain(self.ramp.problem.n) + self.ramp.problem.chain
                proof = with_cost(found.certificate, left.cost, roundings)
                ending: Ending = "repeats" if repeats else "stalls"
                solved = proof.proves(control.tol) or not control.exhausted()
                if not (ends and exact and solved):
                    ending = "cut short"
                values = *objectives, there.value
                level = self.ramp.level
                return Descended(level, left, found, proof, values, name, ending)
            tol = min(max(LITTLE * LITTLE * gain, control.tol), tol)
            tol, left = control.tol if ends else tol, there
            objectives.append(left.value)

    @contextmanager
    def _one_round(self, cost: float, **changes) -> Iterator[Control]:
        """A control for one round; callback and trace get values with the cost of K."""
        control, callback = self.control, self.control.callback

        def with_costs(entry: dict) -> dict:
            return entry | {name: entry[name] + cost for name in ("primal", "dual")}

        def called(entry: dict) -> bool | None:
            return callback is not None and callback(with_costs(entry))

        called_back = None if callback is None else called
        inner = replace(control, callback=called_back, trace=[], **changes)
        yield inner
        control.steps, control.stopped = inner.steps, inner.stopped
        control.trace += map(with_costs, inner.trace)

    def run(self, starts: int = 1, start: WarmStart | None = None) -> Descended:
        """The best end of the first `starts` of `STARTS`, those that the data has.

        Where a `start` is given it is the only one.
        """
        if start is not None:
            return self.go_on(self.beyond(start.point, start.alpha), "init")
        found: list[Descended] = []
        for name in STARTS[:starts]:
            if found and self.control.exhausted():
                break
            begun = self._begin(name)
            if begun is not None:
                found.append(self.go_on(begun, name))
        return min(found, key=lambda each: each.objectives[-1])

    def beyond(self, point: PrimalPoint, alpha: np.ndarray) -> LeftOut:
        """What is left out at a point of the problem."""
        left = self.marked(self.ramp.left_out(point.slack))
        return replace(left, value=self.ramp.value(point), point=point, alpha=alpha)

    def marked(self, mask: np.ndarray) -> LeftOut:
        """These samples."""
        return LeftOut(mask, self.ramp.cost(mask))

    def _begin(self, name: str) -> LeftOut | None:
        """From where to descend; None where the data has no such start."""
        problem, coarse = self.ramp.problem, self._sampled
        if coarse is None:
            return self.first(name)
        coarse.control.steps = self.control.steps
        begun = coarse.first(name)
        if begun is None:
            return None
        found = coarse.go_on(begun, name).found.point
        self.control.steps = coarse.control.steps
        self.rough = max(LITTLE * coarse.control.tol, self.control.tol)
        point = problem.at(found.w, found.b)
        return self.beyond(point, np.where(point.slack > 0, problem.weights, 0.0))

    @cached_property
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

    def first(self, name: str) -> LeftOut | None:
        """What is left out at first; None where a class has no weight, so no mean.

        "hinge": the samples that a rough solution with the hinge loss has below a;
        "trimmed": those that it gets wrong; "class means": those on the wrong side of
        the middle between the weighted means.
        """
        if name == "hinge":
            return self.beyond(self._hinge.point, self._hinge.dual.alpha)
        if name == "trimmed":
            return self.marked(self._hinge.point.slack > 1)
        problem = self.ramp.problem
        upper = problem.y > 0
        sums = [accurate_sum(problem.weights[side]) for side in (upper, ~upper)]
        if min(sums) == 0:
            return None
        weights = problem.weights / np.where(upper, *sums)
        across = problem.rows.combine(weights)  # from one mean to the other
        margins, middle = problem.rows.margins(across), 0.0
        if problem.intercept is not None:
            middle = 0.5 * accurate_sum(weights * problem.y * margins)
        return self.marked(margins - problem.y * middle < 0)

    @cached_property
    def _hinge(self) -> Pair:
        """A rough solution with the hinge loss."""
        return self._solve(self.ramp.problem, self.rough, 0.0, None)

    def look(self, found: Pair, before: LeftOut) -> LeftOut:
        """What is left out at the point that a round found; no row is read."""
        point, problem = found.point, self.ramp.problem
        there = problem.at(point.w, point.b, point.margins)
        left = self.beyond(there, found.dual.alpha)
        return replace(left, changed=not np.array_equal(left.samples, before.samples))

    def round(self, left: LeftOut, tol: float) -> tuple[Pair, float]:
        """Solve M_K, from the point of K if there is one; the tolerance it went to.

        That is `tol`, or the tolerance of the run where the start meets `tol`.
        """
        rest, start = self.ramp.rest(left.samples), None
        if left.point is not None and left.alpha is not None:
            start = carry(rest, left.point, left.alpha)
            tol = self.control.tol if start.pair.meets(tol) else tol
        found = self._solve(rest, tol, left.cost, start)
        if start is not None and not found.point.value <= start.point.value:
            found = Pair(rest.at(start.point.w, start.point.b), found.dual)
        return found, tol

    def _solve(
        self, problem: Problem, tol: float, cost: float, start: WarmStart | None
    ) -> Pair:
        """Solve a convex problem; with second attempts if `tol` is that of the run."""
        rough = tol > self.control.tol
        changes: dict[str, float | None] = {"tol": tol}
        if rough:  # a rough gap decides hardly any sample
            changes |= {"aim": np.inf, "screening": None}
        solve = partial(self.solver.solve, start=start)
        with self._one_round(cost, **changes) as inner:
            if rough:
                try:
                    return solve(problem, inner)
                except NUMERICAL:
                    inner.tol = self.control.tol
            known = None
            if start is not None and start.pair.meets(inner.tol):  # margins afresh
                point = problem.at(start.point.w, start.point.b)
                known = Pair(point, start.dual)
            return prove(problem, inner, known, solve)
