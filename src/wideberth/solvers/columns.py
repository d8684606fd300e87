"""Sparse models of wide data: few of the columns at a time (theory §10).

Under boxes, or a norm penalty of their kind, most weights of wide data are 0. The
interior-point method runs on the columns J alone. Its w, 0 elsewhere, is a point of the
whole problem of the same value; its α is a dual point there too, whose value is

    D(α) = D_J(α) − ½Σ_{j∉J} [|d_j| − sτ_j]_+² ,   d = Σα_iz_i ,

by one product over all columns. It says what each column left out costs: those that
cost most come into J, and the method goes on from where it is, with weights 0 for them.
The gap of the whole problem is proven, whatever J was. Rows that settle on a side of
the margin are left behind on the way, as in `shrinking.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wideberth.problem import DualPoint, Pair, Problem
from wideberth.problem.limits import COPY_SHARE, FEW_FEATURES, LITTLE, MOST_STEPS
from wideberth.screening import Partition, Reduction
from wideberth.solvers.attempts import best_of
from wideberth.solvers.base import Control, Solver
from wideberth.solvers.driver import PATIENCE
from wideberth.solvers.interior import InteriorPoint
from wideberth.solvers.shrinking import assume, unsettled, wrongly_settled

if TYPE_CHECKING:
    from wideberth.solvers.starts import WarmStart

_NONE = np.empty(0, dtype=np.intp)


class FewColumns(Solver):
    """The interior-point method on few of the columns, for sparse models."""

    name = "columns"

    def supports(self, problem):
        """Boxes shared by all samples, which leave most features without weight."""
        if problem.noise.proportional and problem.noise.separable:
            return None
        return (
            "The solver by columns needs noise that leaves features out ('linf' or a "
            f"Box), not {problem.noise.name!r}; use solver='newton' for that shape."
        )

    def run(self, problem, control, start=None, decided=None):
        """Begin with the columns of the start, and with those that it makes likely."""
        rounds = ColumnRounds(problem, control)
        if start is None:
            return rounds.solve(_NONE)
        used = likely(problem, start.dual.d, start.dual.s)
        return rounds.solve(np.union1d(used, np.flatnonzero(start.point.w)), start)


def likely(problem: Problem, d: np.ndarray, s: float) -> np.ndarray:
    """Columns with |d_j| ≥ sτ_j.

    They are those that w(α) uses, s being Σα_iρ_i and what the norm costs.
    """
    return np.flatnonzero(np.abs(d) >= s * problem.noise.shape.scales)


class ColumnRounds:
    """One problem, solved by rounds: steps on some columns, verification on all.

    `small` is the problem of the `columns` J, `work` the rows of that which the engine
    has not left behind; rows of no weight it never has.
    """

    def __init__(self, problem: Problem, control: Control):
        self.problem, self.control = problem, control
        self.best: Pair | None = None
        self.target = 0.5 * control.target
        self.pinned = np.zeros(problem.n, dtype=bool)  # settled wrongly before
        self.unused = problem.weights == 0

    def solve(self, columns: np.ndarray, start: WarmStart | None = None) -> Pair:
        """Rounds from these columns on until the problem's gap is small enough."""
        control, problem = self.control, self.problem
        dual = problem.dual_at(problem.weights if start is None else start.alpha)
        columns = np.union1d(columns, self._wanted(dual, columns))
        columns = columns if columns.size else self._near(dual)
        self._begin(columns)
        goal, smallest, idle = LITTLE * LITTLE, np.inf, 0
        while True:
            moving = self._run(goal)
            found = self._verify()
            best = found if self.best is None else best_of([self.best, found])
            self.best = best
            met = best.meets(control.target)
            met = met or (goal <= self.target and best.meets(control.tol))
            better = best.gap < (1 - LITTLE) * smallest
            idle, smallest = 0 if better else idle + 1, min(smallest, best.gap)
            if met or control.exhausted() or idle > PATIENCE:
                return best
            new = self._wanted(found.dual, self.columns)
            goal = self._goal(new, goal)
            wrong = wrongly_settled(self.work, found.point.slack) & ~self.unused
            self.pinned |= wrong
            near = self._near(found.dual)
            if wrong.any() or not moving or new.size > LITTLE * self.columns.size:
                self._begin(np.union1d(self.columns, new))
            elif not new.size and near.size <= COPY_SHARE * self.columns.size:
                self._begin(near)
                goal = LITTLE * LITTLE
            elif new.size:
                self._widen(np.union1d(self.columns, new))

    def _goal(self, new: np.ndarray, before: float) -> float:
        """The relative gap on the columns to go to next.

        Once no column is missing all of it; beyond that where rounding asks for more.
        """
        if new.size:
            assert self.best is not None
            return max(LITTLE * self.best.certificate.relative_gap, self.target)
        return self.target if before > self.target else LITTLE * before

    def _near(self, dual: DualPoint) -> np.ndarray:
        """Columns whose weights may turn out not to be 0; one at least to work on."""
        near = likely(self.problem, dual.d, (1 - LITTLE) * dual.s)
        return near if near.size else np.array([np.argmax(np.abs(dual.d))])

    def _begin(self, columns: np.ndarray) -> None:
        """Start the engine on these columns, and all rows."""
        self.columns = columns
        self.small = self.problem.with_features(columns)
        self.work = Reduction.without(self.small)
        self.engine = InteriorPoint(self.work.problem)

    def _widen(self, columns: np.ndarray) -> None:
        """Go on with more columns, and the rows that are left."""
        places = np.searchsorted(columns, self.columns)
        self.columns, self.small = columns, self.problem.with_features(columns)
        before, self.work = self.work, Reduction.of(self.small)
        if before.free.size < self.small.n:
            removed, saturated = before.settled == 0, before.settled > 0
            removed[before.free] = False
            bounds = self.small.weights
            settled = Partition(removed, saturated, bounds, bounds)
            self.work = self.work.shrink(settled)
        self.engine.widen(self.work.problem, places)

    def _run(self, goal: float) -> bool:
        """Step to the goal, leaving rows behind as they settle; False if stuck."""
        engine, last = self.engine, np.inf
        for _ in range(MOST_STEPS):
            if engine.relative_gap <= goal:
                engine.resync()
            if engine.relative_gap <= goal or self.control.exhausted():
                return True
            if 2 * min(engine.relative_gap, self.control.tol) > last:
                return True  # all that rounding allows, and enough
            last = engine.relative_gap
            self.control.steps += 1
            if not engine.step():
                return False
            near = unsettled(engine, self.pinned[self.work.free])
            if near is not None:
                self.work = self.work.shrink(assume(near, engine.slack))
                engine.shrink(near, self.work.problem)
        return False

    def _verify(self) -> Pair:
        """The engine's points on all rows and columns, by one product each way."""
        problem, engine, w = self.problem, self.engine, np.zeros(self.problem.rows.d)
        alpha, margins = (
            self.work.unfold(engine.alpha),
            self.small.rows.margins(engine.w),
        )
        w[self.columns] = engine.w
        found = Pair(problem.at(w, engine.b, margins), problem.dual_at(alpha))
        passes = problem.rows.passes.count
        self.control.record(passes, found.certificate, (problem.n, 0, 0))
        return found

    def _wanted(self, dual: DualPoint, columns: np.ndarray) -> np.ndarray:
        """Columns left out that cost the dual point most; at most as many again."""
        cost = np.abs(dual.w)  # |d_j| − sτ_j where that is positive, else 0
        cost[columns] = 0.0
        new, most = np.flatnonzero(cost), max(FEW_FEATURES, columns.size)
        if new.size > most:
            new = new[np.argpartition(-cost[new], most)[:most]]
        return new
