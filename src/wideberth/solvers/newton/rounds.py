"""Newton's method kept away from most rows: working sets and screening (theory §6.1).

The engine is the interior-point Newton method of `interior.py`. A round gathers the
rows near the margin: others are taken as settled, at α_i = c_i folded into one linear
and one norm term, at α_i = 0 left out. The engine runs on the few rows left. Its dual
point is feasible for the whole problem and its value exact there, so one pass over the
margins gives the whole problem's gap, whatever was assumed; rows that were settled
wrongly come back into the next working set. From that gap `screening` proves most
assumptions right; rows so decided are not read again until the final certificate.

Rounds start from a point, as along a path, or on few rows from nothing.
`tall/search.py` finds a start for many.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import DualPoint, PrimalPoint, Problem
from wideberth.problem.arrays import is_foreign, like
from wideberth.problem.limits import LITTLE, MOST_STEPS
from wideberth.problem.rounding import accurate_sum
from wideberth.screening import Partition, Reduction, Screener
from wideberth.solvers.base import Best, Control, Outcome
from wideberth.solvers.blocks import NoiseModel
from wideberth.solvers.interior import (
    InteriorPoint,
    Start,
    class_barrier,
    even_barrier,
)
from wideberth.solvers.newton.settings import SETTINGS


def solve_near(
    problem: Problem,
    control: Control,
    start: PrimalPoint | None,
    merged=None,
    others: NoiseModel | None = None,
) -> Outcome:
    """Solve rows all of which are near the margin at `start`.

    But for those `merged` of others, a mask, which are never left behind; `others`
    stands for the noise of rows that are folded, where samples have sets of their own.

    Where rows live in another array library products are nearly free, and the engine
    runs alone, on all of them; so it does beside others.
    """
    if problem.noise.proportional and not is_foreign(problem.y):
        assert start is not None
        point = problem.at(start.w, start.b)
        return Rounds(problem, control).solve(point, pinned=merged)
    begin = None if start is None else _begin_at(problem, start)
    device = is_foreign(problem.y) and not (
        problem.noise.proportional or problem.noise.smooth
    )
    if not device:
        engine = InteriorPoint(problem, begin, others=others)
        found = _engine_alone(engine, control, MOST_STEPS)
        met = engine.relative_gap <= control.tol or control.exhausted()
        if problem.noise.proportional or met or not is_foreign(problem.y):
            return found
    here = problem.on_host()
    begin = None if start is None else _begin_at(here, start)
    engine = InteriorPoint(here, begin, others=others)
    found = _engine_alone(engine, control, MOST_STEPS)
    alpha = like(found.dual.alpha, problem.y)
    w, b = found.point.w, found.point.b
    return Outcome(problem.at(w, b), dual_with_others(problem, others, alpha, w))


def _begin_at(problem: Problem, start: PrimalPoint) -> Start:
    """A start at a point whose slacks tell about α."""
    point = problem.at(start.w, start.b)
    spread = max(rms(point.slack), SETTINGS.least_distance)
    share = 0.5 + point.slack / (3 * spread)
    return Start(point.w, point.b, point.margins, share)


def solve_groups(problem: Problem, control: Control) -> Outcome:
    """Solve a problem on groups of rows, whose weights differ much."""
    engine = InteriorPoint(problem, barrier=even_barrier(problem))
    return _engine_alone(engine, control, SETTINGS.steps_on_groups)


def _engine_alone(engine: InteriorPoint, control: Control, most: int) -> Outcome:
    """Step on all rows, at most so many times."""
    for _ in range(most):
        if engine.relative_gap <= control.tol or control.exhausted():
            break
        control.steps += 1
        if not engine.step():
            break
    problem, others = engine.problem, engine.block.others
    dual = dual_with_others(problem, others, engine.alpha, engine.w)
    return Outcome(problem.at(engine.w, engine.b), dual)


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


@dataclass
class Rounds:
    """One problem, solved by rounds: working set, engine, verification, screening.

    `point` is the best primal point so far and `band` how far each row's margin may
    still move from there; the rows `pinned` belong to every working set, because they
    were settled wrongly before. The engine runs to the relative gap `goal`. What it
    `needed` are the rows of the last working set, where the first one did not do.
    """

    full: Problem
    control: Control
    decided: Partition | None = None

    def solve(
        self,
        point: PrimalPoint | None = None,
        band: np.ndarray | None = None,
        pinned: np.ndarray | None = None,
    ) -> Outcome:
        """Rounds until the gap of the full problem meets the tolerance.

        `point` and `band`, of the full problem, choose the first working set; without
        a band it holds all rows. It holds those `pinned` in any case.
        """
        self.screener = Screener(self.full, self.control.screening, self.decided)
        self.best = Best(self.screener)
        self.goal = 0.5 * self.control.target
        self.smallest, self.idle = np.inf, 0
        problem = self.screener.problem
        self.point, self.pinned = point, np.zeros(self.full.n, dtype=bool)
        if pinned is not None:
            self.pinned |= pinned
        self.band = np.full(self.full.n, np.inf) if band is None else band
        if problem.n < self.full.n:
            self._restrict(self.screener.reduction.free)
        tries = 0
        while True:
            work, engine = self._working_set()
            began, tries = work.free.size, tries + 1
            self.needed = began if tries > 1 else 0
            for _ in range(SETTINGS.most_returns):
                work, engine = self._run(work, engine)
                found = self._verify(work, engine)
                if self._finished(found):
                    return self.best.finish()
                wrong = wrongly_settled(work, found.point.slack)
                fork = self._last_with(wrong)
                if fork is None:
                    break
                self.pinned |= wrong
                work, engine = self._leave_behind(*fork)
            if self.point is not None and wrong.sum() > SETTINGS.growth * began:
                share = min(SETTINGS.growth * began / self.band.size, 1.0)
                wide = nearest_share(self.point.slack, share)
                self.band = np.maximum(self.band, wide)
            else:
                self._accept(found, wrong)

    def _restrict(self, kept: np.ndarray) -> None:
        """Go on with the rows `kept`, which form the problem as screened now."""
        self.band, self.pinned = self.band[kept], self.pinned[kept]
        point = self.point
        if point is not None:
            problem = self.screener.problem
            self.point = problem.at(point.w, point.b, point.margins[kept])

    def _working_set(self) -> tuple[Reduction, InteriorPoint]:
        """Settle the rows far from the margin; start the engine on the others."""
        self.forks: list[tuple[Reduction, InteriorPoint]] = []
        problem, point = self.screener.problem, self.point
        work = Reduction.of(problem)
        if point is None:
            return work, self._engine(problem)
        distance = np.abs(point.slack)
        near = (distance <= self.band) | self.pinned
        least = min(problem.n, least_rows(problem))
        if near.sum() < least:
            near[np.argpartition(distance, least - 1)[:least]] = True
        if not near.all():
            work = work.shrink(assume(near, point.slack))
        widest = float(distance[near & ~self.pinned].max(initial=0.0))
        width = max(widest, SETTINGS.least_distance)
        share = 0.5 + 0.5 * point.slack[near] / width
        start = Start(point.w, point.b, point.margins[near], share)
        return work, self._engine(work.problem, start)

    @staticmethod
    def _engine(problem: Problem, start: Start | None = None) -> InteriorPoint:
        return InteriorPoint(problem, start, barrier=class_barrier(problem))

    def _run(self, work, engine) -> tuple[Reduction, InteriorPoint]:
        """Step to the goal, leaving rows behind as they settle.

        Without rows that were settled wrongly the objective has too low a minimum, so a
        value far below that of the start ends the round: it has shown what it can.
        Steps at the end of float64 can destroy α: once a goal that seemed met recedes,
        the best point before is returned.
        """
        best: InteriorPoint | None = None
        lowest = -np.inf
        if self.point is not None and work.free.size < work.full.n:
            lowest = SETTINGS.plausible_value * self.point.value
        for _ in range(MOST_STEPS):
            if engine.relative_gap <= self.goal:
                engine.resync()
                if best is not None and engine.relative_gap >= best.relative_gap:
                    return work, best
                best = engine.copied()
            if engine.relative_gap <= self.goal or self.control.exhausted():
                break
            if engine.primal < lowest:
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
        near = unsettled(engine, self.pinned[work.free])
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

    def _verify(self, work: Reduction, engine: InteriorPoint) -> Outcome:
        """Evaluate the engine's points on the screened problem, by one pass."""
        problem = self.screener.problem
        inner = work.problem.dual_at(engine.alpha, near=engine.w)
        dual = replace(inner, alpha=work.unfold(inner.alpha))
        if inner.value == -np.inf:  # rows settled wrongly leave no balance
            dual = problem.dual_at(dual.alpha, near=engine.w)
        w, b = engine.w, engine.b
        if problem.n == 0:  # every row is decided, and with them w
            w, b = inner.w, inner.b if problem.intercept else b
        # Margins afresh: those the engine carries along have its rounding in them.
        found = Outcome(problem.at(w, b), dual)
        passes = self.full.rows.passes.count
        self.control.record(passes, found.certificate, self.screener.counts)
        return found

    def _finished(self, found: Outcome) -> bool:
        """Keep the best points; say whether they will do, or nothing better comes."""
        self.best.keep(found)
        if self.point is not None:
            self.best.keep(Outcome(self.point, found.dual))
        best, control = self.best.found, self.control
        self.idle = 0 if best.gap < (1 - LITTLE) * self.smallest else self.idle + 1
        self.smallest = min(self.smallest, best.gap)
        met = best.meets(control.target) and self.best.certified(control.tol)
        stuck = self.idle > (0 if best.meets(control.tol) else SETTINGS.patience)
        senseless = best.point.value < 0  # folded rows were settled wrongly
        return met or control.exhausted() or stuck or senseless

    def _accept(self, found: Outcome, wrong: np.ndarray) -> None:
        """Take over what a round found, and what it proves."""
        self.pinned |= wrong
        if not wrong.any():
            self.goal *= 0.1
        if self.point is None:
            self.band[:] = np.median(np.abs(found.point.slack))
        if found.meets(SETTINGS.narrowing_gap):
            self.band = 0.3 * self.band
        point = found.point
        if self.point is not None and self.point.value < point.value:
            point = self.point
        self.pinned |= (point.slack > 0) != (found.point.slack > 0)
        self.point = point
        pair = Outcome(point, found.dual)
        self.best.keep(pair)
        kept = self.screener.update(pair, 1 - SETTINGS.copy_share)
        if kept is not None:
            self._restrict(kept)


def least_rows(problem: Problem) -> int:
    """The fewest rows of a working set that tell something about w."""
    return SETTINGS.rows_per_feature * problem.rows.d + 50


def unsettled(engine: InteriorPoint, pinned) -> np.ndarray | None:
    """Rows that the next steps may still move across the margin, if few enough."""
    n, least = engine.problem.n, least_rows(engine.problem)
    small = n * engine.problem.rows.d <= SETTINGS.kept_entries
    if small or least > SETTINGS.copy_share * n:
        return None
    move = np.abs(engine.last_change)
    slack = engine.true_slack
    near = np.abs(slack) <= SETTINGS.settled_moves * move + rms(move)
    near |= ((slack > 0) != (2 * engine.share > 1)) | pinned
    return near if least <= near.sum() <= SETTINGS.copy_share * n else None


def assume(near: np.ndarray, slack: np.ndarray) -> Partition:
    """Take rows that are not near the margin as settled on the side they are on."""
    return Partition(~near & (slack < 0), ~near & (slack >= 0), slack, slack)


def wrongly_settled(work: Reduction, slack: np.ndarray) -> np.ndarray:
    """Rows left out at a bound that the slack at the new point contradicts."""
    wrong = np.where(work.settled > 0, slack < 0, slack > 0)
    wrong[work.free] = False
    return wrong


def nearest_share(slack: np.ndarray, share: float = 0.3) -> np.ndarray:
    """A band that holds the given share of the rows nearest to the margin."""
    k = min(int(share * slack.size), slack.size - 1)
    return np.full(slack.size, np.partition(np.abs(slack), k)[k])


def rms(values: np.ndarray) -> float:
    """Root of the mean square."""
    return (accurate_sum(values * values) / max(values.shape[0], 1)) ** 0.5
