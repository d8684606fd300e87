"""Descent on the ramp loss over data that is read in chunks; see `descent.py`.

The rows left out are told by a point: a pass leaves out those beyond the ramp there, so
nothing as long as the data is kept. The start is a descent on a sample in memory; then
every round is a search over all rows, and one pass that sums up what they cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from wideberth.problem import Certificate, PrimalPoint, Problem
from wideberth.problem.arrays import concat, namespace
from wideberth.problem.limits import LITTLE, TINY
from wideberth.problem.ramp import Beyond, Ramp, with_cost
from wideberth.problem.rounding import accurate_sum, chain
from wideberth.solution import RampDescent
from wideberth.solvers.base import Control
from wideberth.solvers.driver import Driver
from wideberth.solvers.newton.solver import Newton
from wideberth.solvers.ramp.descent import Descent, ending_of, told, with_costs

if TYPE_CHECKING:
    from wideberth.solvers.chunks.chunked import Chunks
    from wideberth.solvers.chunks.distinct import Collapsed
    from wideberth.solvers.work import Work


@dataclass(frozen=True)
class _Look:
    """A question: what rows cost at a point, and which are left out there."""

    here: Beyond
    before: Beyond | None  # another point, to count rows that one alone leaves out
    keep: bool  # whether to hand over which are left out

    def __call__(self, number: int, problem: Problem) -> _Seen:
        """Sums over the rows of a chunk."""
        ramp, slack = self.here.ramp(problem), self.here.slack(problem)
        xp, left_out = namespace(slack), ramp.left_out(slack)
        loss = accurate_sum(problem.weights * xp.clip(slack, 0.0, ramp.most))
        changed = 0
        if self.before is not None:
            others = ramp.left_out(self.before.slack(problem))
            changed = int(xp.count_nonzero(left_out != others))
        which = {number: left_out} if self.keep else {}
        return _Seen(loss, ramp.cost(left_out), changed, which)

    def part(self, number: int) -> _Look:
        """What of this question concerns one chunk."""
        return self


@dataclass(frozen=True)
class _Seen:
    """Sums over rows: their loss, what those left out cost, how many of them changed.

    `which` are left out, by chunk, where that was asked for.
    """

    loss: float
    cost: float
    changed: int
    which: dict[int, Any]

    def __add__(self, other: _Seen) -> _Seen:
        return _Seen(
            self.loss + other.loss,
            self.cost + other.cost,
            self.changed + other.changed,
            self.which | other.which,
        )

    @property
    def left_out(self) -> Any:
        """A mask of all rows; None where it was not asked for."""
        if not self.which:
            return None
        return concat([self.which[number] for number in sorted(self.which)])


@dataclass(frozen=True)
class DescendedInChunks:
    """Where a descent ended: the search over the rows not left out, and a report.

    `passes` were made before that search.
    """

    search: Driver | Collapsed
    cost: float
    report: RampDescent
    passes: int
    #: That of the objective with what rows left out cost.
    certificate: Certificate


class DescentInChunks:
    """Rounds of one ramp over chunks, under the limits of a run."""

    def __init__(self, chunks: Chunks, level: float, control: Control):
        self.chunks, self.level, self.control = chunks, level, control
        self.passes = 1

    def run(self, starts: int, sampled: Work) -> DescendedInChunks:
        """Rounds until the rows left out repeat, or hardly anything is gained.

        The first pass handed over a sample of the rows.
        """
        control, (start, point) = self.control, self._begin(starts, sampled)
        here = Beyond(self.level, point.w, point.b)
        seen = self._look(here, None)
        value = _beside(point) + seen.loss
        objectives = [value]
        while True:
            search, before = self._search(here, seen.cost, value), self.passes
            self.passes += search.passes
            there = Beyond(self.level, search.point.w, search.point.b)
            after = self._look(there, here)
            lower = _beside(search.point) + after.loss
            objectives.append(lower)
            gain = (value - lower) / max(lower, TINY)
            stalls = not LITTLE * gain > control.tol
            if not after.changed or stalls or control.exhausted():
                solved = with_cost(search.certificate, seen.cost, chain(search.n))
                ending = ending_of(
                    not after.changed, stalls, solved.proves(control.tol)
                )
                report = RampDescent(
                    self.level, seen.left_out, tuple(objectives), start, ending
                )
                return DescendedInChunks(search, seen.cost, report, before, solved)
            here, seen, value = there, after, lower

    def _begin(self, starts: int, work: Work) -> tuple[str, PrimalPoint]:
        """Where a descent on a sample of the rows ends, and from where it began."""
        problem = work.problem.on_host()
        tol = max(self.control.tol, problem.rows.d / max(problem.n, 1))
        quiet = self.control.rougher(tol)
        found = Descent(Ramp(problem, self.level), quiet, Newton()).run(starts)
        self.control.steps = quiet.steps
        return found.start, found.outcome.point

    def _look(self, here: Beyond, before: Beyond | None) -> _Seen:
        """One pass over all rows."""
        self.passes += 1
        keep = self.chunks.spares(2 * (self.chunks.n or 0))
        nothing = _Seen(0.0, 0.0, 0, {})
        return sum(self.chunks.ask(_Look(here, before, keep)), nothing)

    def _search(self, here: Beyond, cost: float, value: float) -> Driver:
        """Solve the robust SVM without the rows left out at a point of this value."""
        control = self.control
        callback = control.callback and partial(told, control.callback, cost)
        inner = replace(control, callback=callback, trace=[])
        search = Driver(self.chunks.without(here), inner)
        search.run()
        if not search.point.value + cost <= value:
            search.consider(here.w, here.b)
        control.steps, control.stopped = inner.steps, inner.stopped
        control.trace += with_costs(inner.trace, cost)
        return search


def _beside(point: PrimalPoint) -> float:
    """What a point costs beside the losses of the rows."""
    return point.value - point.hinge
