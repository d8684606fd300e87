"""Few passes over tall data: subsamples, working sets, screening (theory §6.1).

The engine is the interior-point Newton method of `interior.py`; this file keeps it away
from most rows.

1. *Nested subsamples.* Random subsets of 20d rows, then eight times as many, and so on,
   with C scaled up, each only as exact as its sampling error deserves, give a start
   that is already close on the full data.
2. *Working sets.* Rows far from the margin are taken as settled: at α_i = c_i folded
   into one linear and one norm term, at α_i = 0 left out. The engine then runs on the
   few rows left. Its dual point is feasible for the whole problem and its value exact
   there, so one pass over the margins gives the whole problem's gap, whatever was
   assumed; rows that were taken for settled wrongly come back into the next working
   set.
3. *Safe screening.* From that gap `screening.py` proves most assumptions right; rows
   so decided are not read again until the final certificate.
4. *Wide data.* With more features than rows the same runs in the span of the rows.

`solve_newton` returns points of the original problem, evaluated on all its rows.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.rows import DenseRows
from wideberth.screening import Partition, Reduction, Screener
from wideberth.solvers.algebra import cholesky
from wideberth.solvers.base import Best, Control, Outcome
from wideberth.solvers.interior import InteriorPoint, Start
from wideberth.solvers.subsample import SamplingError, Subset, subset_sizes

__all__ = [
    "SMALL",
    "Guess",
    "Level",
    "nearest_share",
    "ridge_start",
    "rms",
    "solve_newton",
]

SMALL = 4000  # rows up to which subsampling does not pay
#: Rows from which on the engine leaves settled ones behind.
_FEW = 500
#: Relative gap from which on the engine's last move foretells its next ones.
_CALM = 0.1
#: A row is settled when its slack exceeds this many times the last move of the margins.
_SAFETY = 5.0
#: Share of the value at the start below which a working set is seen to be wrong.
_RUNAWAY = 0.9
#: Wrongly settled rows, per row of the working set, from which on a round tells only
#: that it had too few rows; the next one gets as many times as many.
_ASTRAY = 8
#: Rounds without progress after which rounding is taken to forbid more.
_PATIENCE = 8
#: Steps of the engine in one round; a round that needs more starts afresh.
_MOST_STEPS = 60


@dataclass(frozen=True)
class Guess:
    """A primal point, and how far each row's margin may be from its value there.

    `band` returns that for the rows of a problem, or holds it for all rows.
    """

    w: np.ndarray
    b: float
    band: Callable[[Problem], np.ndarray] | np.ndarray


def solve_newton(
    problem: Problem,
    control: Control,
    *,
    region: str | None = "ellipsoid",
    init: tuple[np.ndarray, float] | None = None,
    random_state=None,
    decided: Partition | None = None,
) -> Outcome:
    """Solve to `control.tol`, starting from (w, b) where `init` gives one.

    Samples that `decided` settles are not read before the final certificate.
    """
    if not problem.noise.smooth:
        raise ValueError(
            f"The Newton solver needs smooth noise ('l2' or per-feature scales), not "
            f"{problem.noise.name!r}; use solver='conic' for that shape."
        )
    if problem.n < problem.rows.d and problem.noise.isotropic:
        return _solve_wide(problem, control, region, decided)
    guess = None
    if init is not None:
        w, b = np.asarray(init[0], dtype=np.float64), float(init[1])
        guess = Guess(w, b, lambda part: nearest_share(part.at(w, b).slack))
    elif problem.n > SMALL:
        guess = _subsampled(problem, control, np.random.default_rng(random_state))
    return Level(problem, control, region, decided).solve(guess)


def _solve_wide(problem: Problem, control: Control, region, decided) -> Outcome:
    """More features than rows: solve in the span of the rows, where w* must lie.

    ‖w‖ and ⟨w,x_i⟩ are all that matters under ℓ2 noise, so an orthonormal basis of the
    span makes it an n×n problem. Points are evaluated on the original one.
    """
    coordinates, expand = problem.rows.rotated()
    small = replace(problem, rows=DenseRows(coordinates, problem.y))
    asked, control.tol = control.tol, 0.5 * control.tol
    found = Level(small, control, region, decided).solve(None)
    control.tol = asked
    point = problem.at(expand(found.point.w), found.point.b)
    return Outcome(point, problem.dual_at(found.dual.alpha))


def _subsampled(problem: Problem, control: Control, rng) -> Guess | None:
    """Solve growing random subsets, each starting from the one before."""
    guess = None
    for size in subset_sizes(problem):
        part = Subset(problem, size, rng)
        subset = part.of(problem)
        if not part.usable(problem) or control.exhausted():
            return guess
        quiet = control.rougher(part.accuracy)
        found = Level(subset, quiet, None).solve(guess)
        control.steps = quiet.steps
        error = SamplingError(subset, found.point, 1 - part.chance, rng)
        guess = Guess(found.point.w, found.point.b, error)
    return guess


class Level:
    """One problem, solved by rounds: working set, engine, verification, screening."""

    def __init__(
        self,
        problem: Problem,
        control: Control,
        region: str | None,
        decided: Partition | None = None,
    ):
        self.full, self.control = problem, control
        self.least = 0.2 if problem.n <= SMALL else 0.7
        self.screener = Screener(problem, region, decided)
        self.best = Best(self.screener)

    def solve(self, guess: Guess | None) -> Outcome:
        """Rounds until the gap of the full problem meets the tolerance."""
        control, goal = self.control, 0.5 * self.control.target
        problem = self.screener.problem
        pinned = np.zeros(problem.n, dtype=bool)
        point, band = None, np.full(problem.n, np.inf)
        if guess is not None:
            point, wide = problem.at(guess.w, guess.b), guess.band
            free = self.screener.reduction.free
            band = wide(problem) if callable(wide) else wide[free]
        smallest, idle = np.inf, 0
        while True:
            work, engine = self._working_set(point, band, pinned)
            floor = -np.inf if point is None else _RUNAWAY * point.value
            began = work.free.size
            work, engine = self._run(work, engine, goal, pinned, floor)
            outcome = self._verify(work, engine)
            self.best.keep(outcome.point, outcome.dual)
            if point is not None:
                self.best.keep(point, outcome.dual)
            gap = self.best.found.gap
            idle = 0 if gap < 0.9 * smallest else idle + 1
            smallest = min(smallest, gap)
            met = self.best.found.meets(control.target)
            met = met and self.best.certified(control.tol)
            stuck = idle > (0 if self.best.found.meets(control.tol) else _PATIENCE)
            if met or control.exhausted() or stuck:
                return self.best.finish()
            wrong = _wrongly_settled(work, outcome.point.slack)
            if point is not None and wrong.sum() > _ASTRAY * began:
                share = min(_ASTRAY * began / problem.n, 1.0)
                band = np.maximum(band, nearest_share(point.slack, share))
                continue
            pinned |= wrong
            if not wrong.any():
                goal *= 0.1
            if point is None:
                band[:] = np.median(np.abs(outcome.point.slack))
            if outcome.meets(0.01):
                band = band * 0.3
            point = _between(problem, point, outcome.point)
            pinned |= (point.slack > 0) != (outcome.point.slack > 0)
            self.best.keep(point, outcome.dual)
            kept = self.screener.update(point, outcome.dual, self.least)
            if kept is not None:
                problem, pinned = self.screener.problem, pinned[kept]
                band = band[kept]
                point = problem.at(point.w, point.b, point.margins[kept])

    def _working_set(self, point, band, pinned) -> tuple[Reduction, InteriorPoint]:
        """Settle the rows far from the margin; start the engine on the others."""
        problem = self.screener.problem
        if point is None:
            return Reduction.of(problem), InteriorPoint(problem, ridge_start(problem))
        slack = np.abs(point.slack)
        near = (slack <= band) | pinned
        least = min(problem.n, 4 * problem.rows.d + 50)
        if near.sum() < least:
            near[np.argpartition(slack, least - 1)[:least]] = True
        work = Reduction.of(problem)
        if not near.all():
            work = work.shrink(_assume(near, point.slack))
        width = max(float(slack[near].max(initial=0.0)), 1e-9)
        share = 0.5 + 0.5 * point.slack[near] / width
        start = Start(point.w, point.b, point.margins[near], share)
        return work, InteriorPoint(work.problem, start)

    def _run(
        self, work, engine, goal: float, pinned, floor: float
    ) -> tuple[Reduction, InteriorPoint]:
        """Step to the goal, leaving rows behind as they settle.

        A value below `floor` shows that rows were settled wrongly: without them the
        objective has too low a minimum, and the sooner this is seen the better. Steps
        at the end of float64 can destroy α: once a goal that seemed met recedes, the
        best point before is returned.
        """
        best: InteriorPoint | None = None
        for _ in range(_MOST_STEPS):
            if engine.relative_gap <= goal:
                engine.resync()
                if best is not None and engine.relative_gap >= best.relative_gap:
                    return work, best
                best = copy(engine)  # steps replace its arrays, never write into them
            if engine.relative_gap <= goal or self.control.exhausted():
                break
            if engine.primal < floor and work.free.size < pinned.size:
                break
            self.control.steps += 1
            if engine.problem.n == 0 or not engine.step():
                break
            near = self._unsettled(engine, pinned[work.free])
            if near is not None:
                work = work.shrink(_assume(near, engine.slack))
                engine.shrink(near, work.problem)
                best = None
        return work, engine

    def _unsettled(self, engine: InteriorPoint, pinned) -> np.ndarray | None:
        """Rows that the next steps may still move across the margin, if few enough."""
        n, d = engine.problem.n, engine.problem.rows.d
        if n <= max(_FEW, 8 * d) or engine.relative_gap > _CALM:
            return None
        move = engine.recent_move
        near = np.abs(engine.slack) <= _SAFETY * move + rms(move)
        near |= ((engine.slack > 0) != (engine.share > 0.5)) | pinned
        if near.sum() > 0.6 * n or near.sum() < 2 * d:
            return None
        return near

    def _verify(self, work: Reduction, engine: InteriorPoint) -> Outcome:
        """Evaluate the engine's points on the screened problem, by one pass."""
        problem = self.screener.problem
        inner = work.problem.dual_at(engine.alpha)
        dual = replace(inner, alpha=work.unfold(inner.alpha))
        if inner.value == -np.inf:  # rows settled wrongly leave no balance
            dual = problem.dual_at(dual.alpha)
        w, b = engine.w, engine.b
        if problem.n == 0:  # every row is decided, and with them w
            w, b = inner.w, inner.b if problem.intercept else b
        # Margins afresh: those the engine carries along have its rounding in them.
        point = problem.at(w, b)
        certificate = problem.certificate(point, dual)
        passes = self.full.rows.passes.count
        self.control.record(passes, certificate, self.screener.counts)
        return Outcome(point, dual)


def _assume(near: np.ndarray, slack: np.ndarray) -> Partition:
    """Take rows that are not near the margin as settled on the side they are on."""
    return Partition(~near & (slack < 0), ~near & (slack >= 0), slack, slack)


def _wrongly_settled(work: Reduction, slack: np.ndarray) -> np.ndarray:
    """Rows left out at a bound that the slack at the new point contradicts."""
    wrong = np.where(work.settled > 0, slack < 0, slack > 0)
    wrong[work.free] = False
    return wrong


def _between(problem, old: PrimalPoint | None, new: PrimalPoint) -> PrimalPoint:
    """The best point of the full objective on the segment from `old` to `new`.

    Margins are known at both ends, so the search costs vector operations and one pass.
    """
    if old is None:
        return new
    margin_move = new.margins - old.margins
    w_move, b_move = new.w - old.w, new.b - old.b

    def look(t: float) -> tuple[float, PrimalPoint]:
        w, b = old.w + t * w_move, old.b + t * b_move
        point = problem.at(w, b, old.margins + t * margin_move)
        active = problem.weights * (point.slack > 0)
        slope = float(w @ w_move) + (problem.intercept or 0.0) * b * b_move
        slope -= float(active @ margin_move) + float(active @ problem.y) * b_move
        stretch = float(problem.noise.maximizer(w) @ w_move)
        slope += float(active @ problem.radii) * stretch
        if problem.folded is not None:
            fold = problem.folded
            slope += fold.s * stretch
            slope -= float(fold.d @ w_move) + fold.balance * b_move
        return slope, point

    slope, best = look(1.0)
    if slope <= 0:
        return new
    low, high = 0.0, 1.0
    for _ in range(12):
        middle = 0.5 * (low + high)
        slope, point = look(middle)
        best = min(best, point, key=_value)
        low, high = (middle, high) if slope < 0 else (low, middle)
    # Interpolated margins steer; what is kept is evaluated by a pass.
    return min(problem.at(best.w, best.b), old, new, key=_value)


def _value(point: PrimalPoint) -> float:
    return point.value


def nearest_share(slack: np.ndarray, share: float = 0.3) -> np.ndarray:
    """A band that holds the given share of the rows nearest to the margin."""
    k = min(int(share * slack.size), slack.size - 1)
    return np.full(slack.size, np.partition(np.abs(slack), k)[k])


def rms(values: np.ndarray) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(values * values)))


def ridge_start(problem: Problem) -> Start:
    """Least squares on the slacks: minimise ½‖w‖² + ¼Σc_i u_i², whose α is ½c_i u_i."""
    rows, weights = problem.rows, 0.5 * problem.weights
    extras = None if problem.intercept is None else problem.y[:, None]
    matrix = rows.curvature(weights, extras)
    matrix.flat[: rows.d * len(matrix) : len(matrix) + 1] += 1.0
    right = rows.combine(weights)
    if problem.folded is not None:
        right = right + problem.folded.d
    if extras is not None:
        matrix[-1, -1] += problem.intercept
        if matrix[-1, -1] == 0:  # no row has a weight: b stays 0
            matrix[-1, -1] = 1.0
        right = np.append(right, float(weights @ problem.y))
    factor = cholesky(matrix)
    if factor is None:  # weights or features out of all proportion: start from nothing
        solution = np.zeros(len(matrix))
    else:
        solution = lapack.dpotrs(factor, right, lower=1)[0]
    w, b = solution[: rows.d], float(solution[-1]) if extras is not None else 0.0
    margins = rows.margins(w)
    return Start(w, b, margins, 0.5 * (1 - margins - problem.y * b))
