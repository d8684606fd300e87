"""The interior-point method for many rows: even barriers, and three reads a step.

*Barriers.* The method of `interior.py` keeps room·force even over all rows: a barrier
of weight c_i for each. Samples hold a rare class whole, and stand for the other one by
few rows of large weight; the rare one's barriers are then so weak beside the others
that steps end at them at once. Here each class has the same mean.

*Reads.* With θ known, Newton's matrix Σθ_ie_ie_iᵀ and the predictor's right-hand side
come of one read. The next one has the predictor's changes ⟨dx,e_i⟩ and, while a block
of rows is at hand, what the corrector's right-hand side has beyond the predictor's: it
is linear in the μ that is not known yet. The third has the corrector's changes.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.limits import LITTLE
from wideberth.solvers.newton.interior import InteriorPoint
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.newton.start import Start


class EvenBarrier(InteriorPoint):
    """The interior-point method with the products α_ip_i and (c_i−α_i)q_i kept even."""

    def adopt(self, problem):
        """Take over a problem, and the weights of its rows."""
        super().adopt(problem)
        self.relative = self.c / float(self.c.mean())


class ClassBarrier(EvenBarrier):
    """Products in inverse proportion to the mean weight of the row's class."""

    def adopt(self, problem):
        """Take over a problem, and the mean weights of its classes."""
        super().adopt(problem)
        self.relative = relative_weights(problem)

    def _set_slack(self, margins, extra):
        mean, light = super()._set_slack(margins, extra), self.relative <= 1.0
        if light.all():
            return mean
        # Rows that stand for many are far away, and few.
        return max(float(np.abs(self.slack[light]).mean()), SETTINGS.least_distance)

    def _system(self, weights):
        if not self._reads_thrice:
            return super()._system(weights)
        extras = np.column_stack([self.extras, self.slack])
        gram = self.problem.rows.curvature(self.c * weights, extras)
        right = self.combined - self.penalty * self.x + gram[:-1, -1]
        return self._factored(gram[:-1, :-1]), right

    @property
    def _reads_thrice(self) -> bool:
        """Whether rows are read in blocks, and not by a table of theirs."""
        return self.table is None and self.problem.n >= self.problem.rows.d

    def _predict(self, dx, weights):
        """Beside the predictor what the corrector's right-hand side has beyond its own.

        That is what the errors of the products add, and what every unit of μ does.
        """
        if not self._reads_thrice:
            return super()._predict(dx, weights)
        scaled, rate = self.c * weights, np.empty((2, self.problem.n))
        error = np.empty_like(rate)
        per_mu = self._aims(1.0) * (1 / self.room[1] - 1 / self.room[0])

        def weigh(rows, part):
            rate[:, rows] = self._rate(rows, weights, -part)
            error[:, rows] = self._error(rows, rate[:, rows])
            more = error[:, rows] / self.room[:, rows]
            return scaled[rows] * np.stack([more[1] - more[0], per_mu[rows]])

        return rate, error, self.combine_along(dx, weigh, 2)

    def _lifted(self, lifts, weights, target, known):
        if known is None:
            return super()._lifted(lifts, weights, target, known)
        return known[0] + target * known[1]

    def combine_along(self, x, weigh, k):
        """Σ a_i e_i with a = weigh(rows, ⟨x,e_i⟩) for blocks of rows, by one read.

        For k such a at a time, which are the rows of a matrix.
        """
        d, weighed = self.problem.rows.d, np.empty((k, self.problem.n))
        beyond = self.extras @ x[d:]

        def known(rows, margins):
            weighed[:, rows] = weigh(rows, margins + beyond[rows])
            return weighed[:, rows]

        combined = self.problem.rows.combine_along(x[:d], known)
        return np.concatenate((combined, weighed @ self.extras), axis=1)


def relative_weights(problem: Problem) -> np.ndarray:
    """The typical weight of each row's class; that of the heavier class is 1.

    A row that is much heavier stands for many, and counts for as many.
    """
    upper, weights = problem.y > 0, problem.weights
    sides = [side for side in (weights[upper], weights[~upper]) if side.size]
    typical = [float(np.median(side)) for side in sides]
    if not min(typical, default=0.0) > 0:
        return np.ones(problem.n)
    own = np.where(upper, typical[0], typical[-1])
    return np.where(weights > own / LITTLE, weights, own) / max(typical)


def engine_on(problem: Problem, start: Start | None = None) -> InteriorPoint:
    """The method on a problem: the plain one where it is small and classes are even.

    They are where their weights are, about; those of a sample are not with a rare one.
    """
    even = problem.n == 0
    if problem.n and problem.rows.table_fits:
        relative = relative_weights(problem)
        even = bool(relative.min() > LITTLE * relative.max())
    return (InteriorPoint if even else ClassBarrier)(problem, start)
