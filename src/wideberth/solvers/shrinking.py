"""The interior-point method with shrinking: rows leave as they settle (theory §6.1).

While the method steps, most rows come to lie so far from the margin that no later step
carries them across it. They are taken to be at their bounds: at α_i = c_i folded into
one linear and one norm term, at α_i = 0 left out; the next steps are on the others. The
end is verified on all rows of the problem. If some were taken to be at the wrong bound,
the method goes back to the last point where it still had them, and keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from wideberth.problem import DualPoint, Pair, PrimalPoint, Problem
from wideberth.problem.arrays import is_foreign, like
from wideberth.problem.limits import COPY_SHARE, FEW_ROWS, MOST_STEPS
from wideberth.screening import Partition, Reduction
from wideberth.solvers.base import Control
from wideberth.solvers.blocks import NoiseModel
from wideberth.solvers.interior import (
    InteriorPoint,
    class_barrier,
    even_barrier,
    rms,
)

#: Least number of rows of a working set for each feature; with fewer the solution is
#: that of a few rows, and most others are settled wrongly (flat from 2 to 4).
ROWS_PER_FEATURE = 4
#: Distance from the margin, in last moves, beyond which a row is taken as settled (10
#: takes from a sixth fewer to a sixth more passes).
SETTLED_MOVES = 5.0
#: Number of times that a run goes back to where it left rows behind that it needs (with
#: 1, which is never, up to twice as many passes on tall data).
MOST_RETURNS = 4


@dataclass
class Shrinking:
    """One run on the rows `members` of a problem `whole`, to the relative gap `goal`.

    They form `problem`. Those `kept`, a mask of them, never leave. A value below
    `lowest` ends the run: rows outside were settled wrongly, and it has shown what it
    can.
    """

    whole: Problem
    problem: Problem
    members: np.ndarray
    control: Control
    goal: float
    kept: np.ndarray
    lowest: float = -np.inf
    forks: list[tuple[Reduction, InteriorPoint]] = field(default_factory=list)

    def solve(self, start: PrimalPoint | None) -> Pair:
        """A primal point of the whole problem, and a dual point of these rows.

        Rows that came back are among those `kept`.
        """
        problem = self.problem
        barrier = class_barrier(problem)
        engine = InteriorPoint(problem, start, barrier=barrier)
        work = Reduction.of(problem)
        for _ in range(MOST_RETURNS):
            work, engine = self._run(work, engine)
            dual, w, b = self._dual(work, engine), engine.w, engine.b
            if problem.n == 0:  # every row is folded, and with them w is known
                w, b = dual.w, dual.b if problem.intercept else b
            # Margins afresh: those the engine carries along have its rounding in them.
            found = Pair(self.whole.at(w, b), dual)
            if work.free.size == problem.n or found.meets(2 * self.goal):
                break
            wrong = wrongly_settled(work, found.point.slack[self.members])
            self.kept |= wrong
            fork = self._last_with(wrong)
            if fork is None:
                break
            work, engine = self._leave_behind(*fork)
        return found

    def _run(self, work, engine) -> tuple[Reduction, InteriorPoint]:
        """Step to the goal, leaving rows behind as they settle.

        Steps at the end of float64 can destroy α: once a goal that seemed met recedes,
        the best point before is returned.
        """
        best: InteriorPoint | None = None
        for _ in range(MOST_STEPS):
            if engine.relative_gap <= self.goal:
                engine.resync()
                if best is not None and engine.relative_gap >= best.relative_gap:
                    return work, best
                best = engine.copied()
            if engine.relative_gap <= self.goal or self.control.exhausted():
                break
            if engine.primal < self.lowest:
                break
            self.control.steps += 1
            if engine.problem.n == 0 or not engine.step():
                break
            before = work
            work, engine = self._leave_behind(work, engine)
            best = best if work is before else None
        return work, engine

    def _leave_behind(self, work, engine) -> tuple[Reduction, InteriorPoint]:
        """Go on without the rows that have settled, if they are many; note where."""
        near = unsettled(engine, self.kept[work.free])
        if near is None:
            return work, engine
        self.forks.append((work, engine.copied()))
        work = work.shrink(assume(near, engine.true_slack))
        engine.shrink(near, work.problem)
        return work, engine

    def _last_with(self, wrong) -> tuple[Reduction, InteriorPoint] | None:
        """Where the engine still had all rows that were settled wrongly, if it had."""
        while self.forks and wrong.any():
            fork = self.forks.pop()
            if wrong[fork[0].free].sum() == wrong.sum():
                return fork
        return None

    def _dual(self, work: Reduction, engine: InteriorPoint) -> DualPoint:
        """The engine's α on all rows of the problem."""
        inner = work.problem.dual_at(engine.alpha, near=engine.w)
        dual = replace(inner, alpha=work.unfold(inner.alpha))
        if inner.value == -np.inf:  # rows settled wrongly leave no balance
            dual = self.problem.dual_at(dual.alpha, near=engine.w)
        return dual


def solve_alone(
    problem: Problem,
    control: Control,
    start: PrimalPoint | None,
    others: NoiseModel | None = None,
) -> Pair:
    """Solve a problem by steps on all of its rows.

    That suits rows that live in another array library, where products are cheap, and
    rows with sets of their own beside `others`, whose noise is known by a model. Where
    the library lacks what the method needs, the rows come to NumPy.
    """
    device, noise = is_foreign(problem.y), problem.noise
    start = None if start is None else problem.at(start.w, start.b)
    if not device or noise.proportional or noise.smooth:
        engine = InteriorPoint(problem, start, others=others)
        found = _engine_alone(engine, control, MOST_STEPS)
        met = engine.relative_gap <= control.tol or control.exhausted()
        if met or noise.proportional or not device:
            return found
    here = problem.on_host()
    point = None if start is None else here.at(start.w, start.b)
    engine = InteriorPoint(here, point, others=others)
    found = _engine_alone(engine, control, MOST_STEPS)
    alpha = like(found.dual.alpha, problem.y)
    w, b = found.point.w, found.point.b
    return Pair(problem.at(w, b), dual_with_others(problem, others, alpha, w))


def solve_groups(problem: Problem, control: Control) -> Pair:
    """Solve a problem on groups of rows, whose weights differ much."""
    engine = InteriorPoint(problem, barrier=even_barrier(problem))
    return _engine_alone(engine, control, MOST_STEPS)


def _engine_alone(engine: InteriorPoint, control: Control, most: int) -> Pair:
    """Step on all rows, at most so many times."""
    for _ in range(most):
        if engine.relative_gap <= control.tol or control.exhausted():
            break
        control.steps += 1
        if not engine.step():
            break
    problem, others = engine.problem, engine.block.others
    dual = dual_with_others(problem, others, engine.alpha, engine.w)
    return Pair(problem.at(engine.w, engine.b), dual)


def dual_with_others(
    problem: Problem, others: NoiseModel | None, alpha: np.ndarray, w: np.ndarray
) -> DualPoint:
    """The dual point of some rows, and of all others that are folded beside them.

    Those have the δ_i at the point of the model, so that its value is that of the whole
    problem.
    """
    if others is not None and problem.folded is not None:
        problem = replace(problem, folded=others.settled(problem.folded))
    return problem.dual_at(alpha, near=w)


def least_rows(problem: Problem) -> int:
    """The fewest rows of a working set that determine w well enough to go on."""
    return ROWS_PER_FEATURE * problem.rows.d + 50


def unsettled(engine: InteriorPoint, kept) -> np.ndarray | None:
    """Rows that the next steps may still move across the margin, if few enough."""
    n, least = engine.problem.n, least_rows(engine.problem)
    own = not engine.problem.noise.proportional  # folding their noise costs a model
    if least > COPY_SHARE * n or (own and COPY_SHARE * n <= FEW_ROWS):
        return None
    move, slack = np.abs(engine.last_change), engine.true_slack
    near = np.abs(slack) <= SETTLED_MOVES * move + rms(move)
    near |= ((slack > 0) != (2 * engine.share > 1)) | kept
    return near if least <= near.sum() <= COPY_SHARE * n else None


def assume(near: np.ndarray, slack: np.ndarray) -> Partition:
    """Take rows that are not near the margin to be at the bound on their side."""
    return Partition(~near & (slack < 0), ~near & (slack >= 0), slack, slack)


def wrongly_settled(work: Reduction, slack: np.ndarray) -> np.ndarray:
    """Rows left out at a bound that the slack at the new point contradicts."""
    wrong = np.where(work.settled > 0, slack < 0, slack > 0)
    wrong[work.free] = False
    return wrong


def nearest_width(slack: np.ndarray, share: float = 0.3) -> float:
    """The distance from the margin within which this share of the rows lies."""
    k = min(int(share * slack.size), slack.size - 1)
    return float(np.partition(np.abs(slack), k)[k]) if slack.size else 0.0
