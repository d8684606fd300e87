"""Many rows tied at the margin: the central path of a sample, carried over to all rows.

A vertex has about as many rows on the margin as there are features. Where w is nearly 0
or few features decide, it may be most of them (theory §12): no working set is small
then, and a guess at it wrong. The interior-point method on all rows does not mind, but
for the passes of its steps. A sample has nearly the same central path, since each of
its rows stands for several. So the method follows that of a sample, of which it needs
few passes, and goes on from there: with margins 1 − u of all rows at its x, the pairs
that are centred at μ, (1−a)p = μ = aq and p − q = u, have the closed form

    p = μ + ½(√(u²+4μ²) + u),   q = p − u,   1−a = μ/p,   a = μ/q .

All but the error of sampling is right then, and few steps on all rows are left. How
large that error is the residual r = Σα_ie_i + Bᵀh − Qx tells: with Newton's matrix H of
the sample, rᵀH⁻¹r is what the next step moves, in units of μ for every row that moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np

from wideberth.problem import Pair, Problem
from wideberth.problem.arrays import is_foreign
from wideberth.problem.limits import LITTLE, MOST_STEPS
from wideberth.solvers.base import Control
from wideberth.solvers.blocks import Shared
from wideberth.solvers.interior import InteriorPoint, class_barrier, rms
from wideberth.solvers.sampling import is_sampled, sample_goal
from wideberth.solvers.shrinking import least_rows


@dataclass(frozen=True)
class OnPath(Pair):
    """Points of a problem, and the central path that leads to them."""

    path: CentralPath | None = None


class CentralPath(InteriorPoint):
    """The interior-point method, kept at a distance from the end of its path."""

    def follow(self, control: Control, goal: float) -> None:
        """Step to a relative gap, and not far beyond."""
        for _ in range(MOST_STEPS):
            if self.relative_gap <= goal or control.exhausted():
                break
            self.least_mu = 0.5 * self.mu * goal / self.relative_gap
            control.steps += 1
            if not self.step():
                break
        self.least_mu = 0.0

    def centre(self, control: Control) -> None:
        """Make the products of all pairs even, whatever the weights."""
        self.least_mu, self.barrier = self.mu, None
        before = np.inf
        while not control.exhausted():
            uneven = rms(
                (self.dual_slack * self.multiplier / self.least_mu - 1.0).reshape(-1)
            )
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


def is_tied(problem: Problem, found: Pair) -> bool:
    """Whether a working set of rows on the margin, 0 < α_i < c_i, is there for w."""
    if is_foreign(problem.y):
        return False
    alpha, weights = found.dual.alpha, problem.weights
    inside = (alpha > LITTLE**2 * weights) & (alpha < (1 - LITTLE**2) * weights)
    return int(np.count_nonzero(inside)) > least_rows(problem)


def solve_where_tied(
    problem: Problem, control: Control, sample: Problem, found: Pair
) -> OnPath | None:
    """The solution by the central path of a sample with many rows on the margin.

    None where the solution `found` on the sample has few, or the path leads nowhere. It
    begins with the smallest sample, and goes on as long as there is one.
    """
    begun = isinstance(found, OnPath)
    if not begun and (is_sampled(sample) or not is_tied(sample, found)):
        return None
    inner = control.rougher(sample_goal(sample, control.target))
    path = path_to(sample, found, inner)
    control.steps = inner.steps
    return solve_tied(problem, control, path)


def path_to(problem: Problem, found: Pair, control: Control) -> CentralPath:
    """The central path of a sample that is solved already, near its end."""
    path = found.path if isinstance(found, OnPath) else None
    if path is None:
        path = CentralPath(problem, barrier=class_barrier(problem))
        path.follow(control, control.tol)
    path.centre(control)
    return path


def solve_tied(
    problem: Problem, control: Control, sample: CentralPath
) -> OnPath | None:
    """Go on from the path of a sample, on all rows; None where that leads nowhere."""
    path = sample.carried_over(problem)
    if not path.mismatch() <= 1 / LITTLE:
        return None
    goal, least = 0.5 * control.target, np.inf
    while True:
        path.follow(control, goal)
        point, dual = problem.at(path.w, path.b), problem.dual_at(path.alpha)
        found = OnPath(point, dual, path=path)
        counts = (problem.n, 0, 0)
        control.record(problem.rows.passes.count, found.certificate, counts)
        if found.meets(control.target) or control.exhausted():
            return found
        if not found.gap < least:
            return None
        goal, least = LITTLE * goal, found.gap


def centred_multipliers(slack: np.ndarray, mu: float) -> np.ndarray:
    """The multipliers (p, q) of the hinge that are centred at these slacks."""
    larger = mu + 0.5 * (np.hypot(slack, 2 * mu) + np.abs(slack))
    # From μ/larger + μ/smaller = 1; a difference would cancel.
    smaller = larger * mu / (larger - mu)
    return np.where(slack > 0, [larger, smaller], [smaller, larger])
