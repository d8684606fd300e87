"""Newton's method under the contract of `base.py`: alone, and along paths."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.equivalent import span_of_rows
from wideberth.problem.presolve import Presolved
from wideberth.solvers.base import Control, Outcome, PathSolver, Solver
from wideberth.solvers.compiled.small import Guess, is_small, solve_small
from wideberth.solvers.driver import solve_in_memory
from wideberth.solvers.extended_rows import ExtendedRows
from wideberth.solvers.newton.smoothed import is_smooth, solve_smoothed
from wideberth.solvers.newton.walk import Walk, rows_enough, without_margins
from wideberth.solvers.sampling import is_sampled, sample_size, small_sample
from wideberth.solvers.shrinking import nearest_width

#: Largest number of margins that a path keeps for the next radius; beyond it they are
#: computed again, a pass for each point. It is a bound on memory, 128 MB.
_KEPT_MARGINS = 1 << 24
#: Passes over all rows that their Gram matrix takes the time of, up to which it is
#: cheap: with fewer features rows are often tied, which a smoothed hinge minds (tables
#: of 38 to 129 columns with categories take two to seven times as long with it, those
#: of 300 numbers half as long).
_GRAM_PASSES = 16.0
#: Passes over all rows that a Gram matrix of a sample may take the time of; with more,
#: a smoothed hinge is quicker than the solution of the sample (200 000×100, at 2.6, is
#: even, 100 000×100, at 5, and 150 000×200, at 6, are 1.3 and 1.6 times as quick).
_SAMPLE_PASSES = 4.0


class Newton(Solver):
    """Interior-point Newton steps on few of the rows.

    `driver.py` goes on from a point or from nothing, `smoothed.py` where rows and
    features are many, `walk.py` along paths; with more features than rows all is in the
    span of the rows.
    """

    name = "newton"

    def supports(self, problem):
        """Every shape that is a norm of scaled weights, and error bars."""
        if not problem.noise.proportional or hasattr(problem.noise.sets, "scales"):
            return None
        return (
            "The Newton solver needs noise of a shape that states its scales, unlike "
            f"{problem.noise.name!r}; use solver='conic' for that shape."
        )

    def run(self, problem, control, start=None, decided=None):
        """Start from a sample of the rows, where there is no other start.

        With many rows a sample tells more of them than a start that is somewhere near.
        """
        spanned = span_of_rows(problem)
        if not spanned.same:
            asked, control.tol = control.tol, 0.5 * control.tol
            found = solve_in_memory(spanned.problem, control)
            control.tol = asked
            return _expanded(problem, spanned, found)
        if start is not None and not small_sample(problem.n):
            width = nearest_width(start.point.slack)
            return solve_in_memory(problem, control, start.point, width)
        if not problem.rows.table_fits and smoothing_pays(problem):
            return solve_smoothed(problem, control)
        return solve_in_memory(problem, control)

    def along(self, problem, control):
        """Predict each solution from its neighbours along C and under the radius."""
        return _NewtonPath(self, problem, control)


class Compiled(Newton):
    """Newton's method, compiled where the data is small; see `compiled/small.py`."""

    name = "compiled"

    def run(self, problem, control, start=None, decided=None):
        """By the compiled engine, and if need be from the start by the other one."""
        found = None
        if is_small(problem):
            found = solve_small(problem, control, Guess.of(start), decided)
        if found is None:
            found = super().run(problem, control, start, decided)
        return found

    def along(self, problem, control):
        """Small problems from about known slacks: a proven start costs too much."""
        if is_small(problem):
            return _CompiledPath(self)
        return super().along(problem, control)


class _CompiledPath(PathSolver):
    """Guesses from the points before: the line through them, linear in log C."""

    carries = False
    uses_decisions = False

    def __init__(self, solver: Newton):
        super().__init__(solver)
        self.newton = solver
        self.extended: ExtendedRows | None = None
        self.first: Outcome | None = None  # under the radius before
        self.past: list[tuple[float, Outcome]] = []  # at most two, the last one last
        self.enough = 0  # rows that would have done before

    def next_radius(self):
        self.past, self.enough = [], 0

    def accept(self, outcome, C):
        if not self.past:
            self.first = outcome
        self.past = [*self.past[-1:], (C, outcome)]

    def solve(self, problem, control, C, start, decided):
        self.extended = ExtendedRows.of(problem, self.extended)
        guess = self._guess(C)
        found = solve_small(problem, control, guess, None, self.extended)
        if found is None:
            found = Newton.run(self.newton, problem, control)
        if guess is not None and self.past:
            known = guess.slack, found.point.slack, self.enough
            self.enough = rows_enough(*known)
        self.accept(found, C)
        return control.judge(found)

    def _guess(self, C: float) -> Guess | None:
        if not self.past:
            return Guess.of(self.first)
        here, last = self.past[-1]
        slack = last.point.slack
        if len(self.past) > 1:
            before, earlier = self.past[0]
            stride = np.log(C / here) / np.log(here / before)
            slack = slack + stride * (slack - earlier.point.slack)
        return Guess(C / here * last.dual.alpha, slack, last.point.b, self.enough)


def smoothing_pays(problem: Problem) -> bool:
    """Whether Gram matrices, of all rows or of a sample, would take most of the time.

    Small data has none that matter, nor has data of few features.
    """
    rows, n = problem.rows, problem.n
    if rows.table_fits or not is_smooth(problem):
        return False
    if rows.gram_passes() <= _GRAM_PASSES:
        return False
    size = sample_size(n, rows.d)
    return not is_sampled(problem) or size * rows.gram_passes() > _SAMPLE_PASSES * n


def _expanded(problem: Problem, spanned: Presolved, found: Outcome) -> Outcome:
    """What was found in the span of the rows, evaluated on the problem as given."""
    w, b, alpha = spanned.outward(found.point.w, found.point.b, found.dual.alpha)
    return Outcome(problem.at(w, b), problem.dual_at(alpha))


class _NewtonPath(PathSolver):
    """Predictions from the walk along C and from that under the radius before."""

    carries = False  # its predictions do
    #: Its working sets hold the same few rows, and need no copy of the data first.
    uses_decisions = False

    def __init__(self, solver: Newton, problem: Problem, control: Control):
        super().__init__(solver)
        self.spanned = span_of_rows(problem)
        self.rows = self.spanned.problem.rows
        self.walk = Walk(self.spanned.problem, control.rng)
        self.before: list[PrimalPoint | None] = []  # solutions under the radius before
        self.here: list[PrimalPoint | None] = []  # those under this radius, so far

    def next_radius(self):
        self.before, self.here = self.here, []
        self.walk.restart()

    def accept(self, outcome, C):
        if not self.spanned.same:  # the solution is not known in the span
            self.here.append(None)
            self.walk.restart()
            return
        self.walk.accept(outcome.point, np.log(C))
        self._remember()

    def solve(self, problem, control, C, start, decided):
        # The way back from the span of the rows takes the other half of the tolerance.
        asked = control.tol
        control.tol = asked if self.spanned.same else 0.5 * asked
        found = self.walk.step(
            replace(problem, rows=self.rows),
            control,
            np.log(C),
            beside=self._neighbours(),
        )
        control.tol = asked
        self._remember()
        if not self.spanned.same:
            found = _expanded(problem, self.spanned, found)
        return control.judge(found)

    def _remember(self) -> None:
        """Keep the last point for the next radius, with its margins if they are few."""
        last = self.walk.past[-1][1]
        few = (len(self.here) + 1) * self.rows.n <= _KEPT_MARGINS
        self.here.append(last if few else without_margins(last))

    def _neighbours(self) -> tuple[PrimalPoint | None, PrimalPoint] | None:
        """Solutions under the radius before: at the last C, and at this one."""
        j = len(self.here)
        if j >= len(self.before):
            return None
        start, end = self.before[j - 1] if j else None, self.before[j]
        if end is None or (start is None and self.walk.past):
            return None
        return start, end
