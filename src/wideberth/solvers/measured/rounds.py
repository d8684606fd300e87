"""Newton's method for sets per sample, kept away from most rows (theory §8).

The rounds of `driver.py`: gather the rows near the margin, take the others as
settled, solve, verify by one pass, screen by what that proves. Settled samples at α = c
are folded; their noise Σ c_iκ_i(w) has no closed form, and enters as its second-order
model about the last point, which is as good as that point is near. On many rows
`tall/search.py` gathers what is near, and knows of the others' noise by the same model.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from wideberth.problem import DualPoint, PrimalPoint, Problem
from wideberth.problem.arrays import is_foreign, like
from wideberth.problem.limits import LITTLE, MOST_STEPS
from wideberth.screening import Screener, fold_samples
from wideberth.solvers.base import Best, Control, Outcome
from wideberth.solvers.measured.boxes import SignedParts
from wideberth.solvers.measured.cones import Cones
from wideberth.solvers.measured.engine import Model
from wideberth.solvers.measured.rounded import RoundedOff
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.shrinking import least_rows, nearest_width, rms

#: Number of steps without a gap ten times smaller after which another method goes on
#: where the quick one was: a choice; it takes 9 to 21 steps where it works at all.
_PATIENCE = 10
#: Relative gap to which a round solves the rows near the margin, in that of the point
#: where the others were settled: Newton's method squares a gap (on 200 000×50 rounds to
#: the tolerance itself take a third more steps, and no fewer rounds).
_NEXT_GAP = 1e-3


def solve_near_measured(
    problem: Problem, control: Control, start: PrimalPoint | None, model: Model | None
) -> Outcome:
    """Solve rows that a search gathered; the `model` stands for the noise of others."""
    begin, rounds = None, MeasuredRounds(problem, control)
    if start is not None:
        begin = start.w, start.b
    rounds.goal = 0.5 * control.target
    if is_foreign(problem.y):
        w, b, alpha = rounds.run_on_device(begin, model)
    else:
        work = _Settled(problem)
        engine = rounds.run(work, begin, model)
        w, b, alpha = engine.w, engine.b, work.unfold(engine.alpha)
    return Outcome(problem.at(w, b), dual_with_others(problem, model, alpha, w))


def dual_with_others(
    problem: Problem, model: Model | None, alpha: np.ndarray, w: np.ndarray
) -> DualPoint:
    """The dual point of rows that a search gathered, and of all others.

    Those have the δ_i at the point of the model, so that its value is that of the whole
    problem.
    """
    if model is not None and problem.folded is not None:
        problem = replace(problem, folded=model.settled(problem.folded))
    return problem.dual_at(alpha, near=w)


class MeasuredRounds:
    """One problem, solved by rounds; see `driver.py`."""

    needed = 0  # whatever it was: more rounds follow in any case

    def __init__(self, problem: Problem, control: Control, decided=None):
        self.full, self.control, self.decided = problem, control, decided

    def solve(self, point: PrimalPoint | None = None, band=None) -> Outcome:
        """Rounds until the gap of the full problem meets the tolerance."""
        self.screener = Screener(self.full, self.control.screening, self.decided)
        self.best = Best(self.screener)
        problem, control = self.screener.problem, self.control
        if point is not None and problem.n < self.full.n:
            band = None if band is None else band[self.screener.reduction.free]
            point = problem.at(point.w, point.b)
        pinned, smallest, idle = np.zeros(problem.n, dtype=bool), np.inf, 0
        final, last = 0.5 * control.target, 1.0
        while True:
            problem = self.screener.problem
            near = np.ones(problem.n, dtype=bool)
            if point is not None and band is not None:
                near = (np.abs(point.slack) <= band) | pinned
                near = self._enough(near, point)
            self.goal = final
            if not near.all():  # what is settled is no better than the last point was
                self.goal = max(final, _NEXT_GAP * last)
            found = self._round(problem, point, near)
            self.best.keep(found)
            record = self.full.rows.passes.count
            control.record(record, found.certificate, self.screener.counts)
            best = self.best.found
            idle = 0 if best.gap < (1 - LITTLE) * smallest else idle + 1
            smallest = min(smallest, best.gap)
            last = min(last, best.certificate.relative_gap)
            met = best.meets(control.target) and self.best.certified(control.tol)
            if met or control.exhausted() or idle > SETTINGS.patience:
                return self.best.finish()
            settled = 0.0 if point is None else point.slack
            wrong = ~near & ((settled > 0) != (found.point.slack > 0))
            pinned |= wrong
            move = np.abs(found.point.slack - settled)
            width = SETTINGS.next_move * move + move.sum() / max(move.size, 1)
            band = (
                np.full(problem.n, nearest_width(found.point.slack))
                if point is None
                else width
            )
            if not wrong.any():
                final *= LITTLE
            point = found.point
            kept = self.screener.update(
                Outcome(point, found.dual), 1 - SETTINGS.copy_share
            )
            if kept is not None:
                pinned, band = pinned[kept], band[kept]
                point = self.screener.problem.at(point.w, point.b, point.margins[kept])

    def _enough(self, near: np.ndarray, point: PrimalPoint) -> np.ndarray:
        """At least so many rows that they tell something about w; all, if most."""
        least = min(near.size, least_rows(self.full))
        if near.sum() < least:
            near[np.argpartition(np.abs(point.slack), least - 1)[:least]] = True
        if near.sum() > SETTINGS.copy_share * near.size:
            near[:] = True
        return near

    def _round(self, problem: Problem, point, near) -> Outcome:
        """Solve the rows `near`, the others settled as at `point`; verify on all."""
        work, start, model = _Settled(problem), None, None
        w = np.zeros(problem.rows.d)
        if point is not None:
            w, start = point.w, (point.w, point.b)
        if problem.folded is not None and problem.noise.smooth:
            model = Model.of(problem.outside, w)
        if not near.all():
            more = work.settle(near, point.slack, w)
            model = more if model is None or more is None else model + more
        engine = self.run(work, start, model)
        dual = problem.dual_at(work.unfold(engine.alpha), near=engine.w)
        return Outcome(problem.at(engine.w, engine.b), dual)

    def run(self, work: _Settled, start, model):
        """Step until the goal is met, by the quick method first where there are two."""
        if not work.problem.noise.smooth:
            return self._steps(SignedParts(work.problem, start), MOST_STEPS)
        begun = work.copy()
        engine = self._steps(RoundedOff(work.problem, start, model), _PATIENCE, work)
        if engine.relative_gap <= self.goal or self.control.exhausted():
            return engine
        other = self._steps(Cones(begun.problem, start, model), MOST_STEPS)
        if engine.relative_gap <= other.relative_gap:
            return engine
        work.take_over(begun)
        return other

    def run_on_device(self, start, model):
        """The same where the rows live, or on a NumPy copy of them; w, b and α."""
        problem = self.full
        if problem.noise.smooth:
            engine = self._steps(RoundedOff(problem, start, model), _PATIENCE)
            if engine.relative_gap <= self.goal or self.control.exhausted():
                return engine.w, engine.b, engine.alpha
        work = _Settled(problem.on_host())
        engine = self.run(work, start, model)
        alpha = like(work.unfold(engine.alpha), problem.y)
        return engine.w, engine.b, alpha

    def _steps(self, engine, patience: int, work: _Settled | None = None):
        """Step while it helps, leaving rows of `work` behind as they settle."""
        smallest, idle = engine.relative_gap, 0
        for _ in range(MOST_STEPS):
            if engine.relative_gap <= self.goal or self.control.exhausted():
                break
            self.control.steps += 1
            if not engine.step():
                break
            idle += 1
            if engine.relative_gap < LITTLE * smallest:
                smallest, idle = engine.relative_gap, 0
            if idle > patience:
                break
            near = None if work is None else self._unsettled(engine)
            if work is not None and near is not None:
                more = work.settle(near, engine.true_slack, engine.w)
                model = more if engine.model is None else engine.model + more
                engine.shrink(near, work.problem, model)
        return engine

    def _unsettled(self, engine) -> np.ndarray | None:
        """Rows that the next steps may still move across the margin, if few enough."""
        n, least = engine.problem.n, least_rows(engine.problem)
        slack = engine.true_slack
        if max(least, SETTINGS.direct_rows) > SETTINGS.copy_share * n:
            return None
        reach = SETTINGS.settled_moves * engine.moved + rms(engine.moved)
        near = np.abs(slack) <= reach
        near |= (slack > 0) != (2 * engine.room[1] > 1)
        return near if least <= near.sum() <= SETTINGS.copy_share * n else None


class _Settled:
    """A problem some of whose samples are taken as settled at a bound."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self.free, self.alpha = np.arange(problem.n), np.zeros(problem.n)

    def settle(self, near: np.ndarray, slack: np.ndarray, w: np.ndarray):
        """Settle all rows but `near` as their slack says; the model of their noise."""
        problem, bound = self.problem, ~near & (slack > 0)
        self.alpha[self.free[bound]] = problem.weights[bound]
        fold = fold_samples(problem, bound)
        model = None
        if problem.noise.smooth:  # the model stands for the sets
            model = Model.of(fold.noise, w)
            fold = replace(fold, noise=None)
        fold = fold if problem.folded is None else problem.folded + fold
        self.problem, self.free = problem.take(near, folded=fold), self.free[near]
        return model

    def unfold(self, alpha: np.ndarray) -> np.ndarray:
        """Dual weights of all samples from those that are not settled."""
        whole = self.alpha.copy()
        whole[self.free] = alpha
        return whole

    def copy(self) -> _Settled:
        """The same, to be settled in another way."""
        other = _Settled(self.problem)
        other.free, other.alpha = self.free, self.alpha.copy()
        return other

    def take_over(self, other: _Settled) -> None:
        """Become what the other is."""
        self.problem, self.free, self.alpha = other.problem, other.free, other.alpha
