"""A working set: what a pass handed over, solved as exactly as it deserves.

A sample is solved no further than its sampling error lets it mean something, anything
else to half of the gap that is asked for: its dual point proves something about all
rows. Where that is not reached, second attempts follow (`attempts.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Certificate, DualPoint, PrimalPoint, Problem, equal_rows
from wideberth.problem.arrays import host, is_foreign, like
from wideberth.problem.equal_rows import merge_equal_rows
from wideberth.problem.limits import LITTLE
from wideberth.solvers.attempts import affordable, prove
from wideberth.solvers.base import Control, Outcome
from wideberth.solvers.newton.rounds import dual_with_others, solve_groups, solve_near
from wideberth.solvers.polish import sparse
from wideberth.solvers.tall.proofs import Proof
from wideberth.solvers.tall.subsample import sample_goal
from wideberth.solvers.tall.work import PerRow, Work


@dataclass(frozen=True)
class WorkingSet:
    """The work of a pass as a problem in memory, gathered at the point `here`.

    A `first` one is a sample of all rows, of which no point is worth starting from.
    """

    work: Work
    problem: Problem
    here: PrimalPoint
    first: bool

    @property
    def grouped(self) -> bool:
        """Whether it has groups in place of rows."""
        return self.work.grouping is not None

    def solve(
        self,
        control: Control,
        proven: Certificate,
        from_nothing: Callable[[Problem, Control], Outcome],
    ) -> Outcome:
        """Solve the distinct ones of the rows, given what is `proven` of all rows.

        Rows in memory were looked through before, and groups are no rows. A first
        sample is solved by `from_nothing`.
        """
        problem, merged = self.problem, self._merged
        equal, apart = None, self.work.batches.counter is None and not self.grouped
        many = problem.n >= equal_rows.MANY_SAMPLES
        if apart and many and not is_foreign(problem.y):
            equal = merge_equal_rows(problem)
        if equal is None:
            return self._solve(control, proven, from_nothing, merged)
        marked = np.zeros(equal.problem.n, dtype=bool)
        marked[equal.label[merged]] = True
        distinct = replace(self, problem=equal.problem)
        found = distinct._solve(control, proven, from_nothing, marked)
        margins = found.point.margins[equal.label]
        point = problem.at(found.point.w, found.point.b, margins)
        alpha = equal.dealt(found.dual.alpha)
        return Outcome(point, replace(found.dual, alpha=alpha))

    @property
    def _merged(self) -> np.ndarray:
        """A mask of the rows that stand for cells, which come last."""
        return np.arange(self.problem.n) >= self.problem.n - self.work.merged

    def _solve(self, control, proven, from_nothing, merged) -> Outcome:
        """Solve all of its rows, of which those `merged` are never left behind."""
        work, problem = self.work, self.problem
        inner = control.rougher(self._goal(control.target, proven))
        if self.grouped:
            found = solve_groups(problem, inner)
        elif self.first and not is_foreign(problem.y):
            found = from_nothing(problem, inner)
        else:
            found = self._solve_near(inner, merged)
        if problem.noise.proportional and (work.exact or not found.meets(LITTLE)):
            found = _solve_again(problem, inner, found)
        if work.exact:
            found = sparse(problem, found, inner.tol)
        control.steps = inner.steps
        return found

    def _goal(self, target: float, proven: Certificate) -> float:
        """The relative gap to which it is solved."""
        if not self.work.exact:
            return sample_goal(self.problem, target)
        goal = 0.5 * target
        if self.grouped:
            goal = max(goal, LITTLE * min(proven.relative_gap, 0.01))
        return goal

    def _solve_near(self, control: Control, merged) -> Outcome:
        """Solve rows that are near the margin where they were gathered."""
        here = None if self.first else self.here
        return solve_near(self.problem, control, here, merged, self.work.model)

    def known_proof(self) -> Proof | None:
        """The proof before with the noise of all rows as it is here, if they have sets.

        It costs no step.
        """
        work, here = self.work, self.here
        if not work.exact or work.alpha is None:
            return None
        dual = dual_with_others(self.problem, work.model, work.alpha, here.w)
        return Proof(dual, here, work.split(dual.alpha))

    def proof(self, dual: DualPoint) -> Proof:
        """A dual point of it as one of all rows."""
        work, here = self.work, self.here
        if not self.grouped:
            return work.proof(dual, here)
        shares = PerRow.beside(work.batches, work.n)
        work.share_out(dual.alpha, self.problem.weights, shares)
        return Proof(dual, here, shares=shares)


def _solve_again(problem: Problem, control: Control, found: Outcome) -> Outcome:
    """What was found, or where it proves less than `tol` the best of second attempts.

    These are for few rows, which come to NumPy for them from wherever they live.
    """
    if found.certificate.proves(control.tol):
        return found
    if not is_foreign(problem.y):
        return prove(problem, control, found)
    if not affordable(problem):
        return found
    here = problem.on_host()
    start = Outcome(
        here.at(found.point.w, found.point.b), here.dual_at(host(found.dual.alpha))
    )
    best = _solve_again(here, control, start)
    alpha = like(best.dual.alpha, problem.weights)
    return Outcome(problem.at(best.point.w, best.point.b), problem.dual_at(alpha))
