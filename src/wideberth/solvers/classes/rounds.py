"""Rounds on stacked problems: settle rows, solve the others, prove, take rows back.

Every pair of points is evaluated on its own problem as given, and only what proves the
tolerance is handed out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.limits import CACHED_ENTRIES, MOST_STEPS
from wideberth.solvers.base import Control, Options, Outcome
from wideberth.solvers.classes.stack import Stack
from wideberth.solvers.classes.start import MOST_START_STEPS, estimate, few_rows
from wideberth.solvers.classes.steps import Working, minimise
from wideberth.solvers.newton.settings import SETTINGS, STEP_PRODUCTS

#: Number of steps that a problem takes at most.
MOST_STACKED_STEPS = MOST_START_STEPS + SETTINGS.most_returns * MOST_STEPS
#: Number of entries of all working sets at a time: a bound on memory, 32 MB.
_WORKING_ENTRIES = 1 << 22


class Proven(NamedTuple):
    """Points that prove the tolerance, and the steps that led to them."""

    found: Outcome
    steps: int

    def tell(self, problem: Problem, control: Control) -> Outcome:
        """Hand them out, as a solver does."""
        control.steps += self.steps
        passes, everywhere = problem.rows.passes.count, (problem.n, 0, 0)
        control.record(passes, self.found.certificate, everywhere)
        return self.found


def solve_stacked(problems: list[Problem], tol: float) -> list[Proven | None]:
    """Solve problems that `can_be_stacked`; None for those that are not proven.

    Where the data is small they go on beyond `tol`, as elsewhere. As many are solved at
    a time as memory close by holds.
    """
    n, m = problems[0].n, problems[0].rows.d + 1
    size = min(CACHED_ENTRIES // n, _WORKING_ENTRIES // (few_rows(n, m) * m))
    proven: list[Proven | None] = []
    with np.errstate(all="ignore"):  # what overflows proves nothing
        for start in range(0, len(problems), max(size, 1)):
            proven += _Rounds(problems[start : start + max(size, 1)], tol).solve()
    return proven


class _Rounds:
    """Problems on the same rows, and what is proven of them so far.

    `left` are the places of those that go on; `x`, `slack` and the rows that are `near`
    the margin are theirs. A working set has at least as many rows as there are columns,
    and as many more in every round.
    """

    def __init__(self, problems: list[Problem], tol: float):
        self.problems, self.tol = problems, tol
        self.target = Options(tol=tol).control(problems[0]).target
        self.stack, self.used = Stack.of(problems), problems[0].weights > 0
        self.proven: list[Proven | None] = [None] * len(problems)
        self.least = self.stack.penalty.size

    def solve(self) -> list[Proven | None]:
        """Rounds until all problems are proven, or have had their chance."""
        try:
            guess = estimate(self.stack)
        except np.linalg.LinAlgError:  # weights or features out of all proportion
            return self.proven
        self.left, self.x = np.flatnonzero(guess.told), guess.x[guess.told]
        self.slack, self.near = guess.slack[guess.told], guess.near[guess.told]
        self.steps = np.full(len(self.problems), guess.steps)
        for problem in self.problems:
            problem.rows.passes.add(2 * guess.steps * problem.n)
        for _ in range(SETTINGS.most_returns):
            if not self.left.size:
                break
            self._round()
        return self.proven

    def _round(self) -> None:
        """One working set of every problem that is left."""
        stack = self.stack.take(self.left)
        chosen = _nearest(self.slack, self.near, self.least)
        settled = (self.slack > 0).astype(np.float64)
        np.put_along_axis(settled, chosen, 0.0, axis=1)
        x, part, taken = minimise(
            _working(stack, settled, chosen),
            stack,
            self.x,
            np.take_along_axis(self.slack, chosen, axis=1),
            self.tol,
            0.5 * self.target,
        )
        self.steps[self.left] += taken
        shares = settled.copy()
        np.put_along_axis(shares, chosen, part, axis=1)
        slack = np.empty_like(settled)
        for k, place in enumerate(self.left.tolist()):
            read = STEP_PRODUCTS * int(taken[k]) * chosen.shape[1]
            self.problems[place].rows.passes.add(read)
            slack[k] = self._prove(place, x[k], shares[k]).slack[self.used]
        self._take_back(x, slack, settled, chosen)

    def _prove(self, place: int, x: np.ndarray, shares: np.ndarray) -> PrimalPoint:
        """Evaluate points of a problem on all rows; keep them if they prove enough."""
        problem = self.problems[place]
        d, alpha = problem.rows.d, np.zeros(problem.n)
        alpha[self.used] = self.stack.weights * shares
        b = None if problem.intercept is None else float(x[d])
        found = Outcome(problem.at(x[:d], b), problem.dual_at(alpha))
        if found.proves(self.tol):
            self.proven[place] = Proven(found, int(self.steps[place]))
        return found.point

    def _take_back(self, x, slack, settled, chosen) -> None:
        """Go on with problems that are not proven and have rows settled wrongly."""
        near = np.zeros(slack.shape, dtype=bool)
        np.put_along_axis(near, chosen, True, axis=1)
        wrong = ~near & ((slack > 0) != (settled > 0))
        near |= wrong
        n, m = self.stack.rows.shape
        self.least = chosen.shape[1] + m
        go = near.sum(axis=1) <= max(SETTINGS.copy_share * n, few_rows(n, m))
        go &= wrong.any(axis=1)
        go &= [self.proven[place] is None for place in self.left.tolist()]
        self.left, self.x, self.slack, self.near = (
            part[go] for part in (self.left, x, slack, near)
        )


def _nearest(slack: np.ndarray, near: np.ndarray, least: int) -> np.ndarray:
    """Places of equally many rows of every problem: those `near`, and the nearest.

    All of them, in their order, where a smaller copy would hold most.
    """
    K, n = slack.shape
    count = max(int(near.sum(axis=1).max()), least)
    if count > SETTINGS.copy_share * n:
        return np.broadcast_to(np.arange(n), (K, n))
    distance = np.where(near, -1.0, np.abs(slack))
    return np.argpartition(distance, count - 1, axis=1)[:, :count]


def _working(stack: Stack, settled: np.ndarray, chosen: np.ndarray) -> Working:
    """The chosen rows, and what those settled at α_i = c_i leave behind."""
    rows, alpha = np.take(stack.rows, chosen, axis=0), settled * stack.weights
    rows *= np.take_along_axis(stack.signs, chosen, axis=1)[:, :, None]
    return Working(
        rows,
        stack.weights[chosen],
        stack.radii[chosen],
        (alpha * stack.signs) @ stack.rows,
        alpha.sum(axis=1),
        alpha @ stack.radii,
    )
