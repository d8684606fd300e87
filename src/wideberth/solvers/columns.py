"""Sparse models of wide data: few of the columns at a time (theory §10).

Under boxes, or a norm penalty of their kind, most weights of wide data are 0. The
interior-point method runs on the columns J alone. Its w, 0 elsewhere, is a point of the
whole problem of the same value; its α is a dual point there too, whose value is

    D(α) = D_J(α) − ½Σ_{j∉J} [|d_j| − sτ_j]_+² ,   d = Σα_iz_i ,

by one product over all columns. It says what each column left out costs: those that
cost most come into J, and the method goes on from where it is, with weights 0 for them.
The gap of the whole problem is proven, whatever J was. Rows far from the margin are
left behind on the way, as in `shrinking.py`.

The loop is that of `driver.py`; here a restriction is to columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wideberth.problem import DualPoint, Pair, Problem
from wideberth.problem.limits import COPY_SHARE, FEW_FEATURES, LITTLE
from wideberth.screening import Partition, Reduction
from wideberth.solvers.base import Control, Solver
from wideberth.solvers.batches import Proof
from wideberth.solvers.driver import Rounds
from wideberth.solvers.interior import InteriorPoint
from wideberth.solvers.shrinking import Shrinking, wrongly_fixed

if TYPE_CHECKING:
    from wideberth.solvers.starts import WarmStart


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
        columns = np.empty(0, dtype=np.intp)
        if start is not None:
            columns = likely(problem, start.dual.d, start.dual.s)
            columns = np.union1d(columns, np.flatnonzero(start.point.w))
        return ColumnRounds(problem, control).solve(columns, start)


def likely(problem: Problem, d: np.ndarray, s: float) -> np.ndarray:
    """Columns with |d_j| ≥ sτ_j.

    They are those that w(α) uses, s being Σα_iρ_i and what the norm costs.
    """
    return np.flatnonzero(np.abs(d) >= s * problem.noise.shape.scales)


@dataclass
class ColumnPart:
    """The problem `small` of the columns J, and the method on it.

    `work` are the rows that the method has not left behind; rows of no weight it never
    has.
    """

    columns: np.ndarray
    small: Problem
    work: Reduction
    engine: InteriorPoint

    @classmethod
    def of(cls, problem: Problem, columns: np.ndarray) -> ColumnPart:
        """All rows of some columns."""
        small = problem.with_features(columns)
        work = Reduction.without(small)
        return cls(columns, small, work, InteriorPoint(work.problem))

    def widened(self, problem: Problem, columns: np.ndarray) -> ColumnPart:
        """More columns, the rows that are left, and the method where it is."""
        places = np.searchsorted(columns, self.columns)
        small, before = problem.with_features(columns), self.work
        work = Reduction.of(small)
        if before.free.size < small.n:
            removed, saturated = before.settled == 0, before.settled > 0
            removed[before.free] = False
            left = Partition(removed, saturated, small.weights, small.weights)
            work = work.shrink(left)
        self.engine.widen(work.problem, places)
        return ColumnPart(columns, small, work, self.engine)


class ColumnRounds(Rounds[ColumnPart]):
    """Rounds on some of the columns of a problem, verified on all of them."""

    def __init__(self, problem: Problem, control: Control):
        super().__init__(control)
        self.problem, self.target = problem, self.goal
        self.kept = np.zeros(problem.n, dtype=bool)  # rows left out wrongly before

    def solve(self, columns: np.ndarray, start: WarmStart | None = None) -> Pair:
        """The best pair of points of the problem, from these columns on."""
        problem = self.problem
        dual = problem.dual_at(problem.weights if start is None else start.alpha)
        columns = np.union1d(columns, self._wanted(dual, columns))
        self.goal = LITTLE * LITTLE
        columns = columns if columns.size else self._near(dual)
        self.rounds(ColumnPart.of(problem, columns))
        assert self.proof is not None
        return Pair(self.point, self.proof.dual)

    def solve_part(self, part):
        """Step to the goal, leaving rows behind; then to all columns."""
        problem, small = self.problem, part.small
        method = Shrinking(
            small, small, part.work.free, self.control, self.goal, self.kept
        )
        part.work, part.engine = method.run(part.work, part.engine)
        engine = part.engine
        w, alpha = np.zeros(problem.rows.d), part.work.unfold(engine.alpha)
        w[part.columns] = engine.w
        point = problem.at(w, engine.b, small.rows.margins(engine.w))
        return Pair(point, problem.dual_at(alpha))

    def verify(self, part, found):
        """By the costs of the columns left out; those that cost most come next."""
        problem, columns = self.problem, part.columns
        self.keep_point(found.point)
        if self.proof is None or self.improves(found.dual):
            self.proof = Proof(found.dual, found.point)
        self.control.record_pair(problem, found)
        if self.finished():
            return None
        stuck = part.engine.relative_gap > self.goal
        new, near = self._wanted(found.dual, columns), self._near(found.dual)
        self.goal = self._next_goal(new)
        wrong = wrongly_fixed(part.work, found.point.slack) & (problem.weights > 0)
        self.kept |= wrong
        if wrong.any() or stuck or new.size > LITTLE * columns.size:
            return ColumnPart.of(problem, np.union1d(columns, new))
        if not new.size and near.size <= COPY_SHARE * columns.size:
            self.goal = LITTLE * LITTLE
            return ColumnPart.of(problem, near)
        return part.widened(problem, np.union1d(columns, new)) if new.size else part

    def _next_goal(self, new: np.ndarray) -> float:
        """The relative gap on the columns to go to next.

        Once no column is missing all of it; beyond that where rounding asks for more.
        """
        if new.size:
            return max(LITTLE * self.certificate.relative_gap, self.target)
        return self.target if self.goal > self.target else LITTLE * self.goal

    def _near(self, dual: DualPoint) -> np.ndarray:
        """Columns whose weights may turn out not to be 0; one at least to work on."""
        near = likely(self.problem, dual.d, (1 - LITTLE) * dual.s)
        return near if near.size else np.array([np.argmax(np.abs(dual.d))])

    def _wanted(self, dual: DualPoint, columns: np.ndarray) -> np.ndarray:
        """Columns left out that cost the dual point most; at most as many again."""
        cost = np.abs(dual.w)  # |d_j| − sτ_j where that is positive, else 0
        cost[columns] = 0.0
        new, most = np.flatnonzero(cost), max(FEW_FEATURES, columns.size)
        if new.size > most:
            new = new[np.argpartition(-cost[new], most)[:most]]
        return new
