"""Near-exact solutions, and what they say about everyone else's.

The reference is `wideberth.solve` without screening, pushed to where rounding forbids
more. Its relative gap is at most `TARGET`, evaluated on all samples; `rounding` bounds
the error of that evaluation itself. By strong convexity its w is within √(2·(gap +
rounding)) of the optimum (theory §4.1).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from wideberth._solve import Solution, solve
from wideberth.problem import Certificate, Problem
from wideberth.screening import Partition
from wideberth_paper.algorithm1 import Fit

#: Relative gap a reference has to reach.
TARGET = 1e-12
#: What it is asked for; rounding stops it on the way.
_ASKED = 1e-15
#: Distance from 1 within which a robust margin of the reference counts as 1.
_ON_THE_MARGIN = 1e-6
#: Share of C by which a dual weight must differ from 0 or C to contradict a decision.
_CLEARLY = 1e-6

#: What is kept of a round of Algorithm 1.
_STEP = ("iteration", "seconds", "gap", "free", "saturated", "removed")


def ideal_partition(problem: Problem, w, b=0.0, tol=1e-9) -> Partition:
    """Screen from an optimal w (the paper's Theorem 2): the most a rule can decide."""
    margins, m = problem.robust_margins(w, b), problem.targets
    unused = problem.weights == 0
    return Partition((margins > m + tol) | unused, margins < m - tol, margins, margins)


@dataclass(frozen=True)
class Reference:
    """A problem with a near-exact solution of it."""

    problem: Problem
    w: np.ndarray
    alpha: np.ndarray
    certificate: Certificate

    @classmethod
    def of(cls, X, y, C: float, radius: float) -> Reference:
        """Solve as exactly as rounding allows."""
        found = _solve_exactly(X, y, C=C, radius=radius)
        problem = Problem.from_data(X, y, C=C, radius=radius)
        return cls(problem, found.w, found.alpha, found.certificate)

    @property
    def error(self) -> float:
        """Proven bound on ‖w − w*‖."""
        return float(np.sqrt(2 * self.certificate.bound))

    def summary(self) -> dict:
        """Objective, optimal partition sizes, and how exact all that is."""
        on, below, above = ideal_partition(
            self.problem, self.w, tol=_ON_THE_MARGIN
        ).counts
        value = self.certificate.primal
        return {
            "objective": value,
            "relative_gap": max(self.certificate.relative_gap, 0.0),
            "relative_rounding": self.certificate.rounding / value,
            "w_error_bound": self.error / float(np.linalg.norm(self.w)),
            "free": on,
            "saturated": below,
            "removed": above,
        }

    def judge(self, fit: Fit, y: np.ndarray) -> dict:
        """Everything measured of a fit but its time."""
        problem, value = self.problem, self.certificate.primal
        point, dual = problem.at(fit.w), problem.dual_at(fit.alpha)
        train, robust = accuracies(problem.rows.X, y, fit.w, problem.radii)
        return {
            "relative_gap": max(problem.certificate(point, dual).relative_gap, 0.0),
            "excess": max(point.value - value, 0.0) / value,
            "w_error": float(np.linalg.norm(fit.w - self.w) / np.linalg.norm(self.w)),
            **self._screening(fit),
            "train_accuracy": train,
            "robust_train_accuracy": robust,
            "steps": [self._step(step) for step in fit.steps],
        }

    def _screening(self, fit: Fit) -> dict:
        if fit.partition is None:
            return {}
        free, saturated, removed = fit.partition.counts
        wrong = wrong_decisions(fit.partition, self.alpha, self.problem.weights)
        gone = removed - wrong[0]
        if not fit.reads_saturated:
            gone += saturated - wrong[1]
        return {
            "free": free,
            "saturated": saturated,
            "removed": removed,
            "wrong_removals": wrong[0],
            "wrong_saturations": wrong[1],
            "rate_paper": 1 - free / self.problem.n,
            "rate_honest": gone / self.problem.n,
            "excess_kept": self._excess_kept(fit.partition),
        }

    def _excess_kept(self, partition: Partition) -> float | None:
        """How far an exact training on the samples kept is above the optimum.

        None if these are of one class.
        """
        problem, kept = self.problem, ~partition.removed
        y = problem.y[kept]
        if abs(y.sum()) == y.size:
            return None
        found = _solve_exactly(
            problem.rows.X[kept],
            y,
            sample_weight=problem.weights[kept],
            radius=problem.radii[kept],
        )
        value = self.certificate.primal
        return max(problem.at(found.w).value - value, 0.0) / value

    def _step(self, step: dict) -> dict:
        wrong = wrong_decisions(step["partition"], self.alpha, self.problem.weights)
        distance = float(np.linalg.norm(step["w"] - self.w))
        return {name: step[name] for name in _STEP} | {
            "wrong_removals": wrong[0],
            "wrong_saturations": wrong[1],
            "ball_misses": distance > step["radius"] + self.error,
        }


def _solve_exactly(X, y, **problem) -> Solution:
    """Solve without screening; a warning that rounding ends it is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve(X, y, **problem, fit_intercept=False, tol=_ASKED, screening=None)


def wrong_decisions(
    partition: Partition, alpha: np.ndarray, weights: np.ndarray
) -> tuple[int, int]:
    """How many removed samples matter, and how many saturated ones are not.

    `alpha` is an optimal dual solution: a removed sample with α_i > 0 and a saturated
    one with α_i < c_i contradict it.
    """
    matters = alpha > _CLEARLY * weights
    idle = alpha < (1 - _CLEARLY) * weights
    wrong = partition.removed & matters, partition.saturated & idle
    return int(wrong[0].sum()), int(wrong[1].sum())


def accuracies(X, y, w: np.ndarray, radius) -> tuple[float, float]:
    """Share of samples classified rightly, as given and under the worst ℓ2 noise."""
    scores = X @ w
    right = np.where(scores > 0, 1, -1) == y
    survives = y * scores - radius * np.linalg.norm(w) > 0
    return float(right.mean()), float((right & survives).mean())
