"""Runs of the interior-point method: with shrinking, and along a central path.

*Shrinking* (theory §6.1). While the method steps, most rows come to lie so far from the
margin that no later step carries them across it. They are taken to be at their bounds:
at α_i = c_i folded into one linear and one norm term, at α_i = 0 left out; the next
steps are on the others. The end is verified on all rows of the problem. If some were
taken to be at the wrong bound, the method returns to the last point where it still had
them, and keeps them.

*The central path of a sample* (theory §12.3). A vertex has about as many rows on the
margin as there are features. Where w is nearly 0 or few features decide, most rows may
be tied at the margin: then no working set is small, and the method needs all rows. A
sample has nearly the same central path, since each of its rows stands for several. So
the method follows that of a sample, which costs little, and continues from there: with
slacks u of all rows at its x, the pairs that are centred at μ, (1−a)p = μ = aq and
p − q = u, have the closed form

    p = μ + ½(√(u²+4μ²) + u),   q = p − u,   1−a = μ/p,   a = μ/q .

Only the error of sampling is left, for few steps on all rows. Its size follows from the
residual r = Σα_ie_i + Bᵀh − Qx: with Newton's matrix H of the sample, rᵀH⁻¹r is what
the next step moves, in units of μ for every row that moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from wideberth.problem import DualPoint, Pair, PrimalPoint, Problem
from wideberth.problem.arrays import is_foreign, like
from wideberth.problem.limits import COPY_SHARE, FEW_ROWS, LITTLE, MOST_STEPS
from wideberth.screening import Partition, Reduction
from wideberth.solvers.base import Control
from wideberth.solvers.blocks import NoiseModel, Shared
from wideberth.solvers.interior import InteriorPoint, class_barrier, even_barrier, rms
from wideberth.solvers.sampling import is_sampled, sample_goal

#: Least number of rows of a working set for each feature; with fewer the solution is
#: that of a few rows, and most others are at the wrong bound (flat from 2 to 4).
ROWS_PER_FEATURE = 4
#: Distance from the margin, in last moves, beyond which a row is taken to be at its
#: bound (10 takes from a sixth fewer to a sixth more passes).
SETTLED_MOVES = 5.0


@dataclass
class Shrinking:
    """One run on the rows `members` of a problem `whole`, to the relative gap `goal`.

    They form `problem`; those of the mask `kept` never leave. A primal value below
    `lowest` ends the run: rows outside are at the wrong bound. Rows left at `forks`.
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
        engine = InteriorPoint(problem, start, barrier=class_barrier(problem))
        work = Reduction.of(problem)
        while True:
            work, engine = self.run(work, engine)
            dual, w, b = self._dual(work, engine), engine.w, engine.b
            if problem.n == 0:  # every row is folded, and with them w is known
                w, b = dual.w, dual.b if problem.intercept else b
            # Margins afresh: those the engine carries along have its rounding in them.
            found = Pair(self.whole.at(w, b), dual)
            if work.free.size == problem.n or found.meets(2 * self.goal):
                return found
            wrong = wrongly_fixed(work, found.point.slack[self.members])
            self.kept |= wrong
            fork = self._last_with(wrong)
            if fork is None:
                return found
            work, engine = self._shrink(*fork)

    def run(
        self, work: Reduction, engine: InteriorPoint
    ) -> tuple[Reduction, InteriorPoint]:
        """Step to the goal, and shrink on the way.

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
            work, engine = self._shrink(work, engine)
            best = best if work is before else None
        return work, engine

    def _shrink(self, work, engine) -> tuple[Reduction, InteriorPoint]:
        """Continue without the rows far from the margin, if they are many."""
        near = near_margin(engine, self.kept[work.free])
        if near is None:
            return work, engine
        self.forks.append((work, engine.copied()))
        work = work.shrink(fix_far_rows(near, engine.true_slack))
        engine.shrink(near, work.problem)
        return work, engine

    def _last_with(self, wrong) -> tuple[Reduction, InteriorPoint] | None:
        """The last point where the engine had all rows that are at the wrong bound."""
        while self.forks and wrong.any():
            fork = self.forks.pop()
            if wrong[fork[0].free].sum() == wrong.sum():
                return fork
        return None

    def _dual(self, work: Reduction, engine: InteriorPoint) -> DualPoint:
        """The engine's α on all rows of the problem."""
        inner = work.problem.dual_at(engine.alpha, near=engine.w)
        dual = replace(inner, alpha=work.unfold(inner.alpha))
        if inner.value == -np.inf:  # rows at the wrong bound leave no balance
            dual = self.problem.dual_at(dual.alpha, near=engine.w)
        return dual


def least_rows(problem: Problem) -> int:
    """The fewest rows of a working set that determine w well enough to go on."""
    return ROWS_PER_FEATURE * problem.rows.d + 50


def near_margin(engine: InteriorPoint, kept) -> np.ndarray | None:
    """Rows that the next steps may still move across the margin, if they are few."""
    n, least = engine.problem.n, least_rows(engine.problem)
    per_sample = not engine.problem.noise.proportional  # folds take a model of sets
    if least > COPY_SHARE * n or (per_sample and COPY_SHARE * n <= FEW_ROWS):
        return None
    move, slack = np.abs(engine.last_change), engine.true_slack
    near = np.abs(slack) <= SETTLED_MOVES * move + rms(move)
    near |= ((slack > 0) != (2 * engine.share > 1)) | kept
    return near if least <= near.sum() <= COPY_SHARE * n else None


def fix_far_rows(near: np.ndarray, slack: np.ndarray) -> Partition:
    """Take rows that are not near the margin to be at the bound on their side."""
    return Partition(~near & (slack < 0), ~near & (slack >= 0), slack, slack)


def wrongly_fixed(work: Reduction, slack: np.ndarray) -> np.ndarray:
    """Rows left out at a bound that the slack at the new point contradicts."""
    wrong = np.where(work.settled > 0, slack < 0, slack > 0)
    wrong[work.free] = False
    return wrong


def nearest_width(slack: np.ndarray, share: float = 0.3) -> float:
    """The distance from the margin within which this share of the rows lies."""
    k = min(int(share * slack.size), slack.size - 1)
    return float(np.partition(np.abs(slack), k)[k]) if slack.size else 0.0


# -- steps on all rows -----------------------------------------------------------------


def step_to(
    goal: float, engine: InteriorPoint, control: Control, centred: bool = False
) -> None:
    """Step on all rows to a relative gap; `centred` steps end not far below it."""
    for _ in range(MOST_STEPS):
        if engine.relative_gap <= goal or control.exhausted():
            break
        if centred:
            engine.least_mu = 0.5 * engine.mu * goal / engine.relative_gap
        control.steps += 1
        if not engine.step():
            break
    engine.least_mu = 0.0


def solve_alone(
    problem: Problem,
    control: Control,
    start: PrimalPoint | None,
    others: NoiseModel | None = None,
) -> Pair:
    """Solve a problem by steps on all of its rows.

    That suits rows that live in another array library, where products are cheap, and
    rows with sets per sample beside `others`, whose noise is known by a model. Where
    the library lacks what the method needs, the rows come to NumPy.
    """
    device, noise = is_foreign(problem.y), problem.noise
    if not device or noise.proportional or noise.smooth:
        point = None if start is None else problem.at(start.w, start.b)
        engine = InteriorPoint(problem, point, others=others)
        found = _solution(engine, control)
        met = engine.relative_gap <= control.tol or control.exhausted()
        if met or noise.proportional or not device:
            return found
    here = problem.on_host()
    point = None if start is None else here.at(start.w, start.b)
    found = _solution(InteriorPoint(here, point, others=others), control)
    alpha = like(found.dual.alpha, problem.y)
    w, b = found.point.w, found.point.b
    return Pair(problem.at(w, b), dual_with_others(problem, others, alpha, w))


def solve_groups(problem: Problem, control: Control) -> Pair:
    """Solve a problem on groups of rows, whose weights differ much."""
    return _solution(InteriorPoint(problem, barrier=even_barrier(problem)), control)


def _solution(engine: InteriorPoint, control: Control) -> Pair:
    """The points that the method comes to."""
    step_to(control.tol, engine, control)
    problem, w = engine.problem, engine.w
    dual = dual_with_others(problem, engine.block.others, engine.alpha, w)
    return Pair(problem.at(w, engine.b), dual)


def dual_with_others(
    problem: Problem, others: NoiseModel | None, alpha: np.ndarray, w: np.ndarray
) -> DualPoint:
    """The dual point of some rows, and of all others that are folded beside them.

    Those have the δ_i at the point of the model, or nearer ones, so that its value is
    that of the whole problem.
    """
    fold = problem.folded
    if others is None or fold is None:
        return problem.dual_at(alpha, near=w)
    dual = replace(problem, folded=others.fixed(fold)).dual_at(alpha, near=w)
    nearer = others.nearest(dual.w + others.gradient)
    if np.array_equal(nearer.gradient, others.gradient):
        return dual
    other = replace(problem, folded=nearer.fixed(fold)).dual_at(alpha, near=w)
    return other if other.value > dual.value else dual


# -- the central path of a sample ------------------------------------------------------


@dataclass(frozen=True)
class OnPath(Pair):
    """Points of a problem, and the central path that leads to them."""

    path: CentralPath | None = None


class CentralPath(InteriorPoint):
    """The interior-point method at a point of its path that other rows can share."""

    def centre(self, control: Control) -> None:
        """Make the products of all pairs even, whatever the weights."""
        self.least_mu, self.barrier = self.mu, None
        before = np.inf
        while not control.exhausted():
            products = self.dual_slack * self.multiplier
            uneven = rms((products / self.least_mu - 1.0).reshape(-1))
            if uneven <= LITTLE or not uneven < before:
                break
            before = uneven
            control.steps += 1
            if not self.step():
                break
        self.held, self.least_mu = self.least_mu, 0.0

    def carried_over(self, problem: Problem) -> CentralPath:
        """The method at the same x and μ on other rows, each of which is centred."""
        other, mu = cast(CentralPath, self.copied()), self.held
        other.problem, other.c = problem, problem.weights
        other.barrier = class_barrier(problem)
        other.block.adopt(problem)
        rows = other.block.rows
        slack, share = np.empty(problem.n), np.empty(problem.n)

        def weigh(J, products):
            slack[J] = problem.targets[J] - products
            share[J] = mu / centred_multipliers(slack[J], mu)[1]
            return other.c[J] * share[J]

        other.combined = rows.along(other.x, weigh) + rows.folded
        other.slack, other.last_change = slack, 0.0 * slack
        other.multiplier = centred_multipliers(slack, mu)
        other.dual_slack = np.stack([mu / other.multiplier[0], share])
        other._measure()
        return other

    def mismatch(self) -> float:
        """Squared size of the next step, per row it moves, relative to μ."""
        if self.factor is None:  # no step was possible
            return np.inf
        residual = self.combined - self.block.rows.penalty * self.x
        if isinstance(self.block, Shared):
            residual += self.block.adjoint(self.block.h)
        moving = float(self.alpha @ self.dual_slack[0]) * 4
        return float(residual @ self.factor.solve(residual)) / (moving * self.mu)


def centred_multipliers(slack: np.ndarray, mu: float) -> np.ndarray:
    """The multipliers (p, q) of the hinge that are centred at these slacks."""
    larger = mu + 0.5 * (np.hypot(slack, 2 * mu) + np.abs(slack))
    # From μ/larger + μ/smaller = 1; a difference would cancel.
    smaller = larger * mu / (larger - mu)
    return np.where(slack > 0, [larger, smaller], [smaller, larger])


def is_tied(problem: Problem, found: Pair) -> bool:
    """Whether more rows are on the margin, 0 < α_i < c_i, than a working set needs."""
    if is_foreign(problem.y):
        return False
    alpha, weights = found.dual.alpha, problem.weights
    inside = (alpha > LITTLE**2 * weights) & (alpha < (1 - LITTLE**2) * weights)
    return int(np.count_nonzero(inside)) > least_rows(problem)


def solve_where_tied(
    problem: Problem, control: Control, sample: Problem, found: Pair
) -> OnPath | None:
    """The solution by the central path of a sample with many rows on the margin.

    None where the solution `found` on the sample has few there, or the path misses the
    tolerance. A path that led to `found`, on a sample of the sample, is continued.
    """
    path = found.path if isinstance(found, OnPath) else None
    if path is None and (is_sampled(sample) or not is_tied(sample, found)):
        return None
    inner = control.rougher(sample_goal(sample, control.target))
    if path is None:
        path = CentralPath(sample, barrier=class_barrier(sample))
        step_to(inner.tol, path, inner, centred=True)
    path.centre(inner)
    control.steps = inner.steps
    return solve_tied(problem, control, path)


def solve_tied(
    problem: Problem, control: Control, sample: CentralPath
) -> OnPath | None:
    """Follow the path of a sample on all rows; None where the tolerance is not met."""
    path = sample.carried_over(problem)
    if not path.mismatch() <= 1 / LITTLE:
        return None
    goal, least = 0.5 * control.target, np.inf
    while True:
        step_to(goal, path, control, centred=True)
        point, dual = problem.at(path.w, path.b), problem.dual_at(path.alpha)
        found = OnPath(point, dual, path=path)
        control.record_pair(problem, found)
        if found.meets(control.target) or control.exhausted():
            return found
        if not found.gap < least:
            return None
        goal, least = LITTLE * goal, found.gap
