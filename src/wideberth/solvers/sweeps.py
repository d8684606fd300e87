"""Dual coordinate ascent, ℓ2 noise (theory §6.2).

    max D(α) = Σm_iα_i − ½[‖d‖ − s]_+² − (Σα_i y_i)²/(2λ_b),   0 ≤ α_i ≤ c_i,
    d = Σα_i z_i,  s = Σα_i ρ_i,   w(α) = (1 − s/‖d‖)_+ d

The epochs are compiled (`kernels/sweeps.pyx`): they skip rows that rest at a bound, and
estimate the gap. Each call reads as much as all calls before it. After each call one of
these is chosen, by what it is predicted to cost:

* *Go on*, to the tolerance.
* *Certify.* Two products give the gap of the whole problem: to end, or to decide rows
  for good (`screening/`), where it fell far since the last time.
* *Accelerate* by the steps of `second_order.py`, along directions in which sweeps are
  slow.
* *Change over* to Newton's method.

The prediction is that the gap goes on to fall, per entry read, as it did in the second
half of the sweeps so far. Everything is decided by counts, never by clocks: the same
seed gives the same answer.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from wideberth.kernels.sweeps import Sweeps
from wideberth.problem import Certificate, Folded, Pair, Problem
from wideberth.problem.arrays import doubles
from wideberth.problem.limits import (
    COPY_SHARE,
    DEVICE_ENTRIES,
    EPS,
    LITTLE,
    MOST_STEPS,
)
from wideberth.screening import Partition, Screener
from wideberth.solvers.base import Best, Control, Solver
from wideberth.solvers.cost import Cost
from wideberth.solvers.newton import WALK_RESERVE, Newton
from wideberth.solvers.second_order import (
    DualIterate,
    maximise_block,
    newton_on_face,
)
from wideberth.solvers.small import Small, is_small, solve_small
from wideberth.solvers.starts import WarmStart

#: Entries of X swept in one compiled call, which nothing can interrupt: a choice, some
#: milliseconds.
_CALL_ENTRIES = 4_000_000
#: Least number of them, two fifths of what Newton's method takes at least (`cost.py`).
_LEAST_ENTRIES = 200_000
#: Least share of rows that screening must decide to make a smaller copy worth while
#: (flat from 0.1 to 0.5).
_LEAST_SCREENED = 0.5
#: Largest share of the sweeps ahead that a certificate may cost if it is for screening
#: alone (with 0.1 text, a9a and news20 take 4 to 8 % longer than without screening).
_SCREENING_COST = 0.03
#: Largest number of rows over which D is maximised jointly, at the cost of 4·150³
#: entries; without such steps near-copies of opposite label stay unsolved.
_BLOCK_ROWS = 150
#: What hard problems take to sweep ÷ what the pace of their first epochs predicts: the
#: gap falls ever slower (2 to 4 on 20 000×10 and 3 000×100, `make bench-choice`).
_SLOWING = 2
#: Size of the first working set of Newton's method, relative to the rows in doubt when
#: sweeps end (with 1.5 too many rows are missing, and Spambase takes twice the time).
_RESERVE = 3
#: λ of the proximal penalty of an intercept ÷ that with which b curves D as a typical
#: row does (1 takes up to twice as many epochs on 8 tables, 10 as many as 3).
_PROXIMAL = 3.0
#: Largest number of rows or of features, whichever is less, at which Newton's method
#: may take over: a choice that bounds the memory of its algebra at 18 MB (flat from 100
#: to 5000).
_NEWTON_SIZE = 1500


class Coordinate(Solver):
    """Dual coordinate ascent for `l2` noise: on sparse, wide, or easy data."""

    name = "coordinate"

    def supports(self, problem):
        """Euclidean noise."""
        if problem.noise.isotropic:
            return None
        return (
            f"The coordinate solver needs 'l2' noise, not {problem.noise.name!r}; use "
            "solver='newton' for per-feature scales, 'conic' for the other shapes."
        )

    def run(self, problem, control, start, decided):
        """Ascend from the dual weights of `start`, or from zero.

        Where sweeps have cost as much as Newton's method would, it takes over.
        """
        return self._run(problem, control, start, decided, eager=False)

    def _run(self, problem, control, start, decided, eager):
        ascent = Ascent(problem, control, decided, eager)
        found = ascent.solve(None if start is None else start.dual.alpha)
        return found or ascent.change_over(start)


class SweepsFirst(Coordinate):
    """Sweeps, and Newton's method as soon as it is predicted to be quicker."""

    def run(self, problem, control, start, decided):
        """Ascend from `start`, or from zero, and change over where that pays."""
        return self._run(problem, control, start, decided, eager=True)


class _Point(NamedTuple):
    """What sweeps cost so far, their epochs, and the gap after them."""

    spent: float
    epochs: int
    gap: float


class _Pace:
    """How the gap fell with what sweeps cost, and how it will."""

    def __init__(self):
        self.points: list[_Point] = []
        self.next = 0.0  # cost of the next epoch

    @property
    def spent(self) -> float:
        """What the sweeps have cost so far."""
        return self.points[-1].spent if self.points else 0.0

    def note(self, cost: float, epochs: int, gap: float, ahead: float) -> None:
        """Take in the gap after some epochs, their cost, and that of the next one."""
        before = self.points[-1] if self.points else _Point(0.0, 0, math.inf)
        self.points.append(_Point(before.spent + cost, before.epochs + epochs, gap))
        self.next = ahead

    def left(self, goal: float) -> float:
        """What it will cost until the gap is `goal`, at the pace of the second half.

        Shrinking may have made epochs cheaper since. 0 before there are two points.
        """
        now = self.points[-1]
        if now.gap <= max(goal, 0.0) or len(self.points) < 2:
            return 0.0
        earlier = [point for point in self.points if point.spent <= now.spent / 2]
        then = earlier[-1] if earlier else self.points[0]
        if not (now.gap < then.gap < math.inf and goal > 0):
            return math.inf
        epochs, cost = now.epochs - then.epochs, now.spent - then.spent
        cheaper = min(self.next * epochs / cost, 1.0)
        return cheaper * cost * math.log(now.gap / goal) / math.log(then.gap / now.gap)

    def stalled(self) -> bool:
        """Whether the second half of the sweeps has not lowered the gap."""
        half = self.spent / 2
        first = [point.gap for point in self.points if point.spent <= half]
        second = [point.gap for point in self.points if point.spent > half]
        return bool(first) and min(second) >= min(first)


class Ascent:
    """Sweeps over the problem as screened so far, `at` the dual point there.

    `eager` ones change over to Newton's method as soon as that is predicted to be
    quicker; others once they have cost as much as it would.
    """

    def __init__(
        self,
        problem: Problem,
        control: Control,
        decided: Partition | None = None,
        eager: bool = False,
    ):
        self.full, self.control, self.eager = problem, control, eager
        self.screener = Screener(problem, control.screening, decided)
        self.best = Best(self.screener)
        self.cost, self.pace = Cost(problem), _Pace()
        self.goal = 0.5 * control.tol  # relative gap to sweep to
        self.relaxation = _PROXIMAL  # factor on λ of the proximal penalty
        self.typical = 1.0  # mean of 1/‖z_i‖²
        self.most_penalty = 0.0  # the largest λ
        self.screened_gap = math.inf  # the gap when rows were last screened
        self.fewest = problem.n  # the fewest rows of an epoch so far
        self.entries = 0.0  # that sweeps have read

    def solve(self, init: np.ndarray | None) -> Pair | None:
        """Sweep until the gap of the full problem meets the tolerance.

        None where Newton's method should take over.
        """
        if init is None:
            self._begin(DualIterate.first(self.screener.problem), 0.0)
        else:
            free = self.screener.reduction.free
            alpha = np.clip(init, 0.0, self.full.weights)[free]
            self._begin(DualIterate.of(self.screener.problem, alpha), 0.0)
            self._certify()
        while not (self.best.found and self.best.certified(self.control.tol)):
            if self.control.exhausted():
                if not self.best.found:
                    self._certify()
                break
            if self._sweep() or self.control.exhausted():
                self._certify()
            elif (left := self._left()) > 0:
                if self._newton_is_quicker(left):
                    return None
                if self._screening_pays(left):
                    self._certify()
                elif self._factors_are_dear and self._acceleration_pays(left):
                    self._accelerate()
            if self.pace.spent > MOST_STEPS * self.cost.product and self.pace.stalled():
                if self.control.exhausted():
                    continue
                if self._newton_fits:
                    return None
                self._certify()
                break
        return self.best.finish()

    @property
    def scale(self) -> float:
        """About the objective, or what gaps are relative to if that is more."""
        return max(abs(self.sweeps.value) + self.gap, self.full.least_scale)

    def _left(self) -> float:
        """What it will cost to sweep to the goal, relative to about the optimum."""
        value = abs(self.sweeps.value)
        optimum = math.sqrt(value * (value + self.gap))
        return self.pace.left(self.goal * max(optimum, self.full.least_scale))

    # -- sweeps ------------------------------------------------------------------------

    def _begin(self, at: DualIterate, b: float) -> None:
        """Begin sweeps at a dual point; b counts where it has a proximal penalty."""
        problem, self.at = self.screener.problem, at
        norms = problem.rows.norms()
        squares = norms * norms
        if problem.intercept is not None:
            used = squares[squares > 0]
            self.typical = float((1.0 / used).sum()) / used.size if used.size else 1.0
            self.most_penalty = LITTLE * float(problem.weights.sum())
        beta, pull = self._proximal()
        fold = 0.0 if problem.folded is None else problem.folded.total
        self.sweeps = Sweeps(
            self._rows(),
            *map(doubles, (problem.y, problem.targets, problem.weights)),
            doubles(problem.radii),
            squares,
            beta,
            pull,
            at.alpha,
            at.d,
            at.s,
            beta * at.balance + pull * b,
            at.balance,
            at.value(problem) + fold,
            self.control.random.seed(),
        )
        self.gap = math.inf

    def _rows(self) -> np.ndarray | sp.csr_array:
        """The rows as sweeps read them: a dense table row by row, if memory allows."""
        X = self.screener.problem.rows.X
        if isinstance(X, np.ndarray) and X.size <= DEVICE_ENTRIES:
            return np.ascontiguousarray(X)
        return X

    def _proximal(self) -> tuple[float, float]:
        """β = 1/(λ_b + λ) and λβ, with λ relative to what curves D as a typical row.

        But no more than lets b move by 10 in one epoch. Under noise rows curve D by the
        factor ‖w‖/‖d‖ less.
        """
        problem = self.screener.problem
        if problem.intercept is None:
            return 0.0, 0.0
        typical, size = self.typical, math.sqrt(self.at.d @ self.at.d)
        if size > 0:
            typical /= max(1.0 - self.at.s / size, EPS)
        penalty = self.relaxation * min(typical, self.most_penalty)
        if penalty <= problem.intercept:
            return 1.0 / problem.intercept, 0.0
        return 1.0 / penalty, 1.0 - problem.intercept / penalty

    def _sweep(self) -> bool:
        """Sweep as much again as so far; whether the goal seems to be met."""
        control, sweeps, rows = self.control, self.sweeps, self.screener.problem.rows
        most = min(max(self.entries, _LEAST_ENTRIES), _CALL_ENTRIES)
        epochs = min(control.max_iter - control.steps, MOST_STEPS)
        least = self.full.least_scale
        entries, visited = sweeps.run(epochs, most, self.goal, least)
        self.entries += entries
        self.at.s, self.at.balance = sweeps.s, sweeps.balance
        control.steps += math.ceil(visited / rows.n)
        rows.passes.add(int(visited))
        self.gap = sweeps.told_gap
        near = sweeps.gap <= self.goal * self.scale
        if near and self.best.found is None:  # as a rule this is the end
            return True
        if self.full.intercept is not None and self.at.s > 0:  # else it stays the same
            sweeps.penalise(*self._proximal())
        self.fewest = min(self.fewest, sweeps.active)
        share, cost = sweeps.active / rows.n, self.cost.sweeps
        ahead = cost(share * rows.entries(), sweeps.active)
        *read, epochs, gap = sweeps.halfway
        if epochs < sweeps.epochs:
            self.pace.note(cost(*read), epochs, gap, ahead)
            entries, visited = entries - read[0], visited - read[1]
        else:
            epochs = 0
        self.pace.note(cost(entries, visited), sweeps.epochs - epochs, self.gap, ahead)
        if not near:
            value = sweeps.value
            nearly = Certificate(value + self.gap, value, 0.0)
            self._report(nearly)
        return near

    # -- certificates ------------------------------------------------------------------

    def _certify(self) -> None:
        """Prove the gap at α, with d computed anew; screen rows where that pays."""
        problem, at, estimated = self.screener.problem, self.at, self.gap
        # A copy, for sweeps go on in the array itself.
        dual = problem.dual_at(_balanced(problem, at.alpha.copy(), at.balance))
        b = dual.b if problem.intercept else None
        outcome = Pair(problem.at(dual.w, b), dual)
        self._report(outcome.certificate)
        self.best.keep(outcome)
        gap, self.screened_gap = outcome.gap, outcome.gap
        if outcome.meets(self.control.tol):
            return
        near = estimated <= self.goal * self.scale
        if near and problem.intercept is not None and estimated < LITTLE * gap:
            self.relaxation *= 0.3  # λ is what keeps the gap open
        elif near:
            self.goal *= 0.5  # the estimate was too small
        self.screener.looks = int(self.pace.spent / self.cost.product)
        kept = self.screener.update(outcome, _LEAST_SCREENED, self._products_ahead())
        if kept is not None or near:
            alpha = at.alpha if kept is None else at.alpha[kept]
            new = DualIterate.of(self.screener.problem, alpha)
            self._begin(new, self.sweeps.b)

    def _report(self, certificate: Certificate) -> None:
        """Record a certificate, or an estimate; for a callback that of all rows."""
        full, control = self.full, self.control
        if control.callback is None:
            control.record(full.rows.passes.count, certificate)
            return
        problem, at = self.screener.problem, self.at
        alpha = _balanced(problem, at.alpha.copy(), at.balance)
        dual = full.dual_at(self.screener.reduction.unfold(alpha))
        b = dual.b if full.intercept else None
        control.record_pair(full, Pair(full.at(dual.w, b), dual))

    def _products_ahead(self) -> float:
        """What is left to sweep, in products with all rows."""
        return self._left() / self.cost.product if self.pace.points else 0.0

    def _screening_pays(self, left: float) -> bool:
        """Whether a certificate costs little, and may decide many rows."""
        self.screened_gap = min(self.screened_gap, self.pace.points[0].gap)
        if self.control.screening is None:
            return False
        if self.cost.screening > _SCREENING_COST * left:
            return False
        return self.gap <= LITTLE * self.screened_gap and left < math.inf

    # -- where sweeps are slow ---------------------------------------------------------

    @cached_property
    def _newton_fits(self) -> bool:
        """Whether the problem is small enough for Newton's dense algebra."""
        return min(self.full.n, self.full.rows.d) <= _NEWTON_SIZE

    @cached_property
    def _factors_are_dear(self) -> bool:
        """Whether a factor of Newton's method costs more than a product with all rows.

        Where it costs less Newton's method is better than steps on the face.
        """
        return not self._newton_fits or self.cost.factor > self.cost.product

    def _newton_is_quicker(self, left: float) -> bool:
        """Whether Newton's method is predicted to cost less than what is `left`.

        As much work again will tell the working set where half the gap is closed in
        less than half of what Newton's method takes without one.
        """
        if not self._newton_fits:
            return False
        spent, whole, rows = self.pace.spent, self.cost.newton(self.full.n), self.full.n
        if not self.eager:
            return left > whole and spent > whole
        if self._rows_are_known:
            rows = min(_RESERVE * self.fewest, rows)
        elif 2 * self.gap <= self.scale and 2 * spent <= whole:
            return False
        # The longer sweeps take, the less their predictions are worth.
        return _SLOWING * max(1.0, spent / whole) * left > self.cost.newton(rows)

    @property
    def _rows_are_known(self) -> bool:
        """Whether the gap is so small that α tells the working set of the optimum."""
        return self.gap <= LITTLE * self.scale

    def change_over(self, start: WarmStart | None) -> Pair:
        """Newton's method from where the sweeps are, on the rows in doubt there.

        Where these are not known, or are most rows, it begins where the sweeps began.
        """
        full, control = self.full, self.control
        control.solver = Newton.name
        method = Small() if is_small(full) else Newton()
        if not self._rows_are_known:
            return method.run(full, control, start)
        alpha = self.screener.reduction.unfold(self.at.alpha)
        at = DualIterate.of(full, alpha)
        w = full.noise.shape.prox(at.d, at.s)
        slack = full.slack(w, self.sweeps.b)
        rows = _RESERVE * int(np.count_nonzero(_doubtful(full, slack, alpha)))
        if rows > COPY_SHARE * full.n:
            return method.run(full, control, start)
        if is_small(full):
            found = solve_small(full, control, slack, rows)
            return found or Newton().run(full, control)
        rows = int(rows / WALK_RESERVE)  # it adds this reserve itself
        return method.run(full, control, WarmStart(full, full.at(w), alpha, rows=rows))

    def _acceleration_pays(self, left: float) -> bool:
        """Whether `_accelerate` costs less than half of what is `left` to sweep.

        Its Newton step takes 100 products with the rows inside their bounds. Sweeps
        are predicted to take two to three times too long where they have just begun.
        """
        alpha, problem = self.at.alpha, self.screener.problem
        inside = np.flatnonzero((alpha > 0) & (alpha < problem.weights))
        step = 100.0 * self.cost.entry * problem.rows.entries(inside)
        return left > 2.0 * (step + 4.0 * _BLOCK_ROWS**3)

    def _accelerate(self) -> None:
        """A Newton step on the face; if cut short, maximise D over the fastest rows."""
        problem, sweeps, at = self._proximal_problem(), self.sweeps, self.at
        before = at.alpha.copy()
        sweeps.run(1, math.inf, 0.0)
        moves = np.abs(at.alpha - before) * problem.rows.norms()
        at = DualIterate.of(problem, at.alpha)
        new, cut_short = newton_on_face(problem, at)
        at = new or at
        if cut_short and problem.n > 1:
            block = np.sort(np.argsort(-moves)[:_BLOCK_ROWS])
            at = maximise_block(problem, at, block) or at
        gap = self.gap
        self._begin(DualIterate.of(self.screener.problem, at.alpha), self.sweeps.b)
        self.gap = gap

    def _proximal_problem(self) -> Problem:
        """The problem with the penalty ½λ(b − b⁰)² of the sweeps."""
        problem, (beta, pull) = self.screener.problem, self._proximal()
        if not pull:
            return problem
        fold = problem.folded or Folded(np.zeros(problem.rows.d))
        center = self.sweeps.b - beta * self.at.balance
        fold = replace(fold, balance=fold.balance + center / beta)
        return replace(problem, intercept=1.0 / beta, folded=fold)


def _balanced(problem: Problem, alpha: np.ndarray, balance: float) -> np.ndarray:
    """α with Σα_iy_i = 0 beside a free b, as far as rows inside their bounds go.

    These have slacks of about 0, so that D falls by the square of what is missing;
    `Problem.repair`, which moves rows at their bounds as well, sees to the rest.
    """
    if problem.intercept != 0 or balance == 0:
        return alpha
    inside = (alpha > 0) & (alpha < problem.weights)
    # How far each can move towards what is missing.
    ends = np.where(problem.y * balance < 0, problem.weights, 0.0)
    ways = inside * (ends - alpha)
    most = float(np.abs(ways).sum())
    return alpha + min(abs(balance) / most, 1.0) * ways if most > 0 else alpha


def _doubtful(problem: Problem, slack: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Rows inside their bounds, at the wrong one, or as near to the margin as those."""
    inside = (alpha > 0) & (alpha < problem.weights)
    wrong = np.where(slack > 0, alpha < problem.weights, alpha > 0)
    doubtful = inside | wrong
    typical = slack[doubtful]
    near = math.sqrt(float(typical @ typical) / max(typical.size, 1))
    return doubtful | (np.abs(slack) <= near)
