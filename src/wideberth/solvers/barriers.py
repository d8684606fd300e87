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
from wideberth.problem.limits import EPS, LITTLE
from wideberth.solvers.algebra import Factor
from wideberth.solvers.interior import EvenBarrier, InteriorPoint, Start
from wideberth.solvers.newton_settings import SETTINGS


class ClassBarrier(EvenBarrier):
    """Products in inverse proportion to the mean weight of the row's class."""

    def adopt(self, problem):
        """Take over a problem, and the mean weights of its classes."""
        super().adopt(problem)
        self.relative = relative_weights(problem)

    @property
    def _relative(self):
        return self.relative

    def _set_products(self, margins, extra):
        mean, light = super()._set_products(margins, extra), self.relative <= 1.0
        if light.all():
            return mean
        # Rows that stand for many are far away, and few.
        return max(float(np.abs(self.slack[light]).mean()), SETTINGS.least_distance)

    def _step(self):
        if self.table is not None or self.problem.n < self.problem.rows.d:
            return super()._step()
        ratio = self.force / self.room
        weights = 1.0 / (ratio[0] + ratio[1])  # θ/c
        if self.cone is not None:
            self.cone.scale(self.x)
        factor, right = self._first_read(weights)
        if factor is None:
            return False
        mu = self.mu
        ahead, lifts = self._second_read(factor.solve(right), weights, ratio)
        target = mu * self._centering(ahead, min(self._longest(ahead), 1.0), mu)
        right = right + lifts[0] + target * lifts[1]
        cone = None
        if self.cone is not None:
            cone = self.cone.corrected(target)
            right += self.cone.right_side(cone)
        aims = self._aims(target) - ahead[1] * ahead[2]
        dx = factor.solve(right)
        change = self._change(dx)
        move = (dx, *self._pairs(slice(None), change, weights, ratio, aims), change)
        if self.cone is not None:
            self.cone.move(dx, cone)
        length = min(1.0, SETTINGS.to_boundary * self._longest(move))
        if not (length > EPS and np.isfinite(dx).all()):
            return False
        self._advance(length, move)
        return True

    def _first_read(self, weights):
        """Newton's matrix, factored, and the predictor's right-hand side."""
        extras = np.column_stack([self.extras, self.slack])
        gram = self.problem.rows.curvature(self.c * weights, extras)
        matrix = np.ascontiguousarray(gram[:-1, :-1])
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += self.penalty
        if self.cone is not None:
            self.cone.add_curvature(matrix)
        right = self.combined - self.penalty * self.x + gram[:-1, -1]
        return Factor.of(matrix), right

    def _second_read(self, dx, weights, ratio):
        """The predictor, and what the corrector's right-hand side has beyond its own.

        That is what the predictor's products add, and what every unit of μ does.
        """
        n, scaled = self.problem.n, self.c * weights
        change, d_room, d_force = np.empty(n), np.empty((2, n)), np.empty((2, n))
        per_mu = self._aims(1.0) * (1 / self.room[1] - 1 / self.room[0])

        def weigh(rows, part):
            pairs = self._pairs(rows, part, weights, ratio, None)
            change[rows], (d_room[:, rows], d_force[:, rows]) = part, pairs
            more = pairs[0] * pairs[1] / self.room[:, rows]
            return scaled[rows] * np.stack([more[0] - more[1], per_mu[rows]])

        lifts = self.combine_along(dx, weigh, 2)
        if self.cone is not None:
            self.cone.move(dx, None)
        return (dx, d_room, d_force, change), lifts

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

    def _pairs(self, rows, change, weights, ratio, aims):
        """Moves of room and force that go with a change, for room·force → aims."""
        residual = self.slack[rows] - change
        force = self.force[:, rows]
        if aims is not None:
            aims = aims / self.room[:, rows]
            residual += aims[1] - aims[0]
            force = force - aims
        d_room = self.signs * (weights[rows] * residual)
        return d_room, -(ratio[:, rows] * d_room + force)


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
    small = problem.rows.table_fits
    relative = relative_weights(problem) if small else np.zeros(1)
    even = small and bool(np.min(relative) > LITTLE * np.max(relative))
    return (InteriorPoint if even else ClassBarrier)(problem, start)
