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

from wideberth.problem import DualPoint, Problem
from wideberth.problem.limits import FEW_FEATURES, LITTLE, MOST_STEPS
from wideberth.screening import Partition, Reduction, Screener, screen_features
from wideberth.solvers.base import Best, Control, Outcome, Solver
from wideberth.solvers.interior import InteriorPoint
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.shrinking import assume, unsettled, wrongly_settled

if TYPE_CHECKING:
    from wideberth.solvers.starts import WarmStart

_NONE = np.empty(0, dtype=np.intp)


class Columns(Solver):
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
        # With fewer rows than columns none is worth a start from nothing.
        few = problem.n < problem.rows.d
        rounds = ColumnRounds(problem, control, None if few else decided)
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

    `problem` is the one as screened so far, with the columns `kept`; `small` that of
    the `columns` J, which count among those kept; `work` the rows of that which the
    engine has not left behind.
    """

    def __init__(
        self, full: Problem, control: Control, decided: Partition | None = None
    ):
        self.full, self.control = full, control
        self.screener = Screener(full, control.screening, decided)
        self.best = Best(self.screener)
        self.target = 0.5 * control.target
        self.problem, self.kept = self.screener.problem, np.arange(full.rows.d)
        self.pinned = np.zeros(self.problem.n, dtype=bool)  # settled wrongly before
        self.columns = _NONE
        self.screens, self.spent = control.screening is not None, 0.0

    def solve(self, columns: np.ndarray, start: WarmStart | None = None) -> Outcome:
        """Rounds from these columns on until the full problem's gap is small enough."""
        control, problem = self.control, self.problem
        alpha = problem.weights
        if start is not None:
            alpha = start.alpha[self.screener.reduction.free]
        dual = problem.dual_at(alpha)
        columns = np.union1d(columns, self._wanted(dual, columns))
        columns = columns if columns.size else self._near(dual)
        self._begin(columns)
        goal, smallest, idle = LITTLE * LITTLE, np.inf, 0
        while True:
            moving = self._run(goal)
            found = self._verify()
            best = self.best.found
            met = goal <= self.target or best.meets(control.target)
            met = met and self.best.certified(control.tol)
            better = best.gap < (1 - LITTLE) * smallest
            idle, smallest = 0 if better else idle + 1, min(smallest, best.gap)
            if met or control.exhausted() or idle > SETTINGS.patience:
                answer = self._on_all_columns()
                if answer.meets(control.tol) or answer is self.best.found or not met:
                    return answer
                self._take_back()
                found = self._verify()
            new = self._wanted(found.dual, self.columns)
            goal = self._goal(new, goal)
            wrong = wrongly_settled(self.work, found.point.slack)
            self.pinned |= wrong
            near = self._near(found.dual)
            if wrong.any() or not moving or new.size > LITTLE * self.columns.size:
                self._begin(np.union1d(self.columns, new))
            elif not new.size and near.size <= SETTINGS.copy_share * self.columns.size:
                self._begin(near)
                goal = LITTLE * LITTLE
            elif new.size:
                self._widen(np.union1d(self.columns, new))
            else:
                self._screen(found)

    def _screen(self, pair: Outcome) -> None:
        """Leave columns behind for good that are proven to have no weight.

        Where they are many, and the proof costs little beside the steps so far; those
        that the engine works on are not asked about.
        """
        n, others = self.problem.n, self.kept.size - self.columns.size
        cost = n * others * (self.columns.size + MOST_STEPS)
        many = others > SETTINGS.copy_share * self.kept.size
        if not self.screens or not many or cost > LITTLE * self.spent:
            return
        rest = np.setdiff1d(np.arange(self.kept.size), self.columns)
        zero = screen_features(self.problem, pair, None, rest)
        if zero.sum() <= (1 - SETTINGS.copy_share) * self.kept.size:
            return
        stay = np.flatnonzero(~zero)
        self.columns = np.searchsorted(stay, self.columns)
        self.kept, self.problem = self.kept[stay], self.problem.with_features(stay)
        self.control.features = self.kept.size

    def _take_back(self) -> None:
        """Go on with all columns: α serves those that were left behind too little."""
        self.columns, self.screens = self.kept[self.columns], False
        self.kept, self.problem = np.arange(self.full.rows.d), self.screener.problem
        self.best = Best(self.screener)
        self.control.features = None

    def _on_all_columns(self) -> Outcome:
        """The best points on all rows and columns, those screened before included."""
        found = self.best.finish()
        if self.kept.size == self.full.rows.d:
            return found
        return Outcome(found.point, self.full.dual_at(found.dual.alpha))

    def _goal(self, new: np.ndarray, before: float) -> float:
        """The relative gap on the columns to go to next.

        Once no column is missing all of it; beyond that where rounding asks for more.
        """
        if new.size:
            return max(LITTLE * self.best.found.certificate.relative_gap, self.target)
        return self.target if before > self.target else LITTLE * before

    def _near(self, dual: DualPoint) -> np.ndarray:
        """Columns whose weights may turn out not to be 0; one at least to work on."""
        near = likely(self.problem, dual.d, (1 - LITTLE) * dual.s)
        return near if near.size else np.array([np.argmax(np.abs(dual.d))])

    def _begin(self, columns: np.ndarray) -> None:
        """Start the engine on these columns, and all rows."""
        self.columns, self.paused = columns, None
        self.small = self.problem.with_features(columns)
        self.work = Reduction.of(self.small)
        self.engine = InteriorPoint(self.small)

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
            n, d = engine.problem.n, engine.problem.rows.d
            self.spent += float(n) * d * min(n, d)
            if not engine.step():
                return False
            near = unsettled(engine, self.pinned[self.work.free])
            if near is not None:
                self.work = self.work.shrink(assume(near, engine.slack))
                engine.shrink(near, self.work.problem)
        return False

    def _verify(self) -> Outcome:
        """The engine's points on all rows and columns kept, by one product each way."""
        problem, engine = self.problem, self.engine
        alpha, margins = (
            self.work.unfold(engine.alpha),
            self.small.rows.margins(engine.w),
        )
        w, whole = np.zeros(problem.rows.d), np.zeros(self.full.rows.d)
        w[self.columns] = whole[self.kept[self.columns]] = engine.w
        found = Outcome(problem.at(w, engine.b, margins), problem.dual_at(alpha))
        point = self.screener.problem.at(whole, engine.b, margins)
        self.best.keep(Outcome(point, found.dual))
        passes = self.full.rows.passes.count
        self.control.record(passes, found.certificate, self.screener.counts)
        return found

    def _wanted(self, dual: DualPoint, columns: np.ndarray) -> np.ndarray:
        """Columns left out that cost the dual point most; at most as many again."""
        cost = np.abs(dual.w)  # |d_j| − sτ_j where that is positive, else 0
        cost[columns] = 0.0
        new, most = np.flatnonzero(cost), max(FEW_FEATURES, columns.size)
        if new.size > most:
            new = new[np.argpartition(-cost[new], most)[:most]]
        return new
