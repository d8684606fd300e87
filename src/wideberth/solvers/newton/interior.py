"""A primal–dual interior-point Newton method for the robust SVM.

Written with t ≥ Ω(w), which is ‖τ∘w‖ for smooth noise (`facets.py` has the others), the
problem is linear in x = (w, t, b) but for one cone:

    min ½‖w‖² + ½λ_b b² + Σ c_i [u_i]_+ ,   u_i = 1 − ⟨x,e_i⟩,  e_i = (z_i, −ρ_i, y_i),
    k = (t, τ∘w) ∈ K = {k_0 ≥ ‖k_1‖}

(t and b only where there are noise and intercept). Perturbing complementarity by μ > 0,
with shares a_i = α_i/c_i ∈ (0,1), multipliers p, q > 0 of the hinge and h ∈ K of the
cone,

    Qx = Σα_i e_i + Bᵀh,   u = p − q,   (1−a)p = μ = aq,   k∘h ∝ μ(1,0),   k = Bx.

Newton's method, all but x eliminated, has the matrix Q + Σθ_i e_i e_iᵀ + BᵀW⁻²B with
θ_i = c_i / (p_i/(1−a_i) + q_i/a_i) and W the Nesterov–Todd scaling of (k,h). This is
the Hessian of theory §6.1 with its hard set J replaced by smooth weights θ: a dozen or
two of steps whatever C, scale or collinearity, kinks of Ω included (w* = 0, or no noisy
feature used), where the semismooth form creeps along its pieces. Steps are Mehrotra's
(SIAM J. Optim. 1992). Two identities make them cheap:

* after a step of length t, Σα_i e_i becomes (1−t)·(old) + t·(Q(x+dx) − Bᵀ(h+dh)), so
  the gap costs vector operations only;
* the predictor, which aims at μ = 0, moves a and q (1−a and p) by r·a and −(1+r)·q. So
  its pairs have the products aq(1−t) − t²·aq·r(1+r) at length t, and r alone tells how
  far it may go and how much is to be corrected.

Works on any `Problem` with one shape of noise, reduced ones included, and can be
shrunk between steps. Nothing here certifies; gaps are for steering.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from wideberth.problem import Problem
from wideberth.problem.arrays import (
    at_least,
    extremes,
    floats,
    like,
)
from wideberth.problem.limits import EPS, TINY
from wideberth.solvers.newton.algebra import Factor, ThinFactor
from wideberth.solvers.newton.extended_rows import ExtendedRows
from wideberth.solvers.newton.facets import CONES
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.newton.start import Start, cone_room, least_squares


class InteriorPoint(ExtendedRows):
    """The iteration; `step()` until `relative_gap` is small or it returns False.

    Without a start it begins at least squares on the slacks.

    Both complementarity pairs of the hinge are kept as one: `room` = (1−a, a) and
    `force` = (p, q), arrays of shape (2, n), with room·force → μ; or, where a barrier
    states weights `relative` to each other, with relative·room·force → μ.
    """

    relative: Any = None

    def __init__(self, problem: Problem, start: Start | None = None):
        d = problem.rows.d
        self.adopt(problem)
        self.signs, xp = like(np.array([[-1.0], [1.0]]), self.c), self.xp
        start = least_squares(self) if start is None else start
        extra = [start.b] if problem.intercept is not None else []
        if self.noisy:
            size = problem.noise.shape.lipschitz(d) * float(np.linalg.norm(start.w))
            omega = max(
                problem.noise.shape.support(start.w),
                SETTINGS.start_inside * size,
                SETTINGS.least_distance,
            )
            distance = self._set_slack(start.margins, [omega, *extra])
            self.cone_room = cone_room(self, distance, omega)
            extra = [(1 + self.cone_room) * omega, *extra]
        distance = self._set_slack(start.margins, extra)
        self.x = np.concatenate((start.w, extra))
        share = xp.clip(start.share, SETTINGS.start_inside, 1 - SETTINGS.start_inside)
        self.room = xp.stack([1.0 - share, share])
        upper = at_least(0.0, self.slack) + distance
        self.force = xp.stack([upper, upper - self.slack])
        self.last_change = 0.0 * upper
        self.combined = self.combine(self.alpha) + self.folded
        self.cone: Any = (
            CONES[problem.noise.shape.dual_order](self) if self.noisy else None
        )
        self._measure()

    def _set_slack(self, margins, extra: list[float]) -> float:
        """Slacks at x = (w, extra); the mean distance from the margin."""
        beyond = like(np.array(extra), self.extras)
        self.slack = self.problem.targets - (margins + self.extras @ beyond)
        distance = float(self.xp.sum(self.xp.abs(self.slack))) / max(self.problem.n, 1)
        return max(distance, SETTINGS.least_distance)

    @property
    def w(self) -> np.ndarray:
        """Weights of the features."""
        return self.x[: self.problem.rows.d]

    @property
    def b(self) -> float:
        """Intercept."""
        return 0.0 if self.problem.intercept is None else float(self.x[-1])

    @property
    def share(self) -> np.ndarray:
        """α/c, strictly between 0 and 1."""
        return self.room[1, :]

    @property
    def alpha(self) -> np.ndarray:
        """Dual weights, strictly inside the box."""
        return self.c * self.room[1, :]

    @property
    def mu(self) -> float:
        """Mean complementarity product of the rows."""
        return max(float(self._mean(self.room * self.force)), TINY)

    @property
    def relative_gap(self) -> float:
        """Gap of the current point on its own problem, over its primal value.

        That is negative where folded rows were settled wrongly.
        """
        return self.gap / max(abs(self.primal), self.problem.least_scale, TINY)

    def _measure(self) -> None:
        """Primal value and gap at the current x and α, split as in theory §6.1."""
        problem, x, d = self.problem, self.x, self.problem.rows.d
        hinge, used = floats(
            self.c @ at_least(0.0, self.slack), self.alpha @ self.slack
        )
        complementarity = hinge - used
        quadratic = 0.5 * float(self.penalty @ (x * x))
        self.primal = quadratic + hinge - float(self.folded @ x)
        if problem.folded is not None:
            self.primal += problem.folded.total
        near = self.combined[:d]
        if self.noisy:
            near = problem.noise.shape.prox(near, max(-float(self.combined[d]), 0.0))
        stationarity = quadratic - float(self.combined @ x) + 0.5 * float(near @ near)
        if problem.intercept:
            stationarity += 0.5 * float(self.combined[-1]) ** 2 / problem.intercept
        elif problem.intercept is not None:
            off = float(self.combined[-1])
            stationarity += off * self.b + abs(off) * (1 + abs(self.b))
        self.gap = max(complementarity, 0.0) + max(stationarity, 0.0)

    def copied(self) -> InteriorPoint:
        """The method where it is; steps replace its arrays, never write into them."""
        other = copy(self)
        other.cone = copy(self.cone)
        return other

    def shrink(self, keep: np.ndarray, problem: Problem) -> None:
        """Go on with the rows `keep` (a mask) alone, which form `problem`."""
        self.adopt(problem)
        self.slack, self.last_change = self.slack[keep], self.last_change[keep]
        self.room, self.force = self.room[:, keep], self.force[:, keep]
        self.resync()

    def widen(self, problem: Problem, places: np.ndarray) -> None:
        """Go on with more features; those before are at `places` of `problem`."""
        before = self.x
        self.adopt(problem)
        self.x = np.zeros(self.penalty.size)
        self.x[places], rest = before[: places.size], before[places.size :]
        self.x[problem.rows.d :] = rest
        self.combined = self.combine(self.alpha) + self.folded
        if self.cone is not None:
            self.cone.widen(self, places)
            self.slack = self.slack - self.extras @ like(
                self.x[problem.rows.d :] - rest, self.extras
            )
        self._measure()

    def resync(self) -> None:
        """Compute Σα_i e_i afresh; the identity that carries it drifts by rounding."""
        self.combined = self.combine(self.alpha) + self.folded
        self._measure()

    # -- one step ----------------------------------------------------------------

    def step(self) -> bool:
        """One predictor–corrector step; False if no progress is possible."""
        with np.errstate(all="ignore"):  # at the end of float64; checked below
            return self._step()

    def _step(self) -> bool:
        ratio = self.force / self.room
        weights = 1.0 / (ratio[0, :] + ratio[1, :])  # θ/c
        if self.cone is not None:
            self.cone.scale(self.x)
        factor, right = self._system(weights)
        if factor is None:
            return False
        dx = factor.solve(right)
        rate, error, known = self._predict(dx, weights)
        target, cone = self._correct(dx, rate, error)
        lifts = (self._aims(target) + error) / self.room
        right = right + self._lifted(lifts, weights, target, known)
        if cone is not None:
            right += self.cone.right_side(cone)
        dx = factor.solve(right)
        change = self.products(dx)
        rate = self._rate(slice(None), weights, lifts[1, :] - lifts[0, :] - change)
        lifts /= self.force
        lifts -= 1.0 + rate  # the relative move of the force
        if self.cone is not None:
            self.cone.move(dx, cone)
        nearest = floats(extremes(rate)[0], extremes(lifts)[0])
        length = min(1.0, SETTINGS.to_boundary * self._longest(*nearest))
        if not (length > EPS and np.isfinite(dx).all()):
            return False
        self._advance(length, dx, change, rate, lifts)
        return True

    def _system(self, weights: np.ndarray):
        """What solves with Newton's matrix, and the predictor's right-hand side."""
        weights = self.c * weights
        right = self.combined - self.penalty * self.x
        right += self.combine(weights * self.slack)
        return self._factor(weights), right

    def _factor(self, weights: np.ndarray) -> Factor | ThinFactor | None:
        """What solves with Q + Σθ_i e_i e_iᵀ + BᵀW⁻²B."""
        n, d = self.problem.n, self.problem.rows.d
        thin = None if self.cone is None or n >= d else self.cone.thin()
        if thin is not None:
            return self._thin_factor(weights, *thin)
        return self._factored(self.curvature(weights))

    def _factored(self, gram: np.ndarray) -> Factor | None:
        """The factor of Q + Σθ_i e_i e_iᵀ + BᵀW⁻²B, of which the middle is given."""
        matrix = np.ascontiguousarray(gram)
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += self.penalty
        if self.cone is not None:
            self.cone.add_curvature(matrix)
        return Factor.of(matrix)

    def _thin_factor(self, weights, bend, lead) -> ThinFactor | None:
        """The same with more features than rows: rows θ_i^½e_i, and one of the cone."""
        n, d = self.problem.n, self.problem.rows.d
        K = np.empty((n + 1, self.x.size))
        K[n, d:] = 0.0
        K[n, : d + 1] = lead
        self.problem.rows.passes.add(n)
        labelled = self.problem.rows.dense(slice(None)) * self.problem.y[:, None]
        K[:n, :d], K[:n, d:] = labelled, self.extras
        K[:n] *= np.sqrt(weights)[:, None]
        return ThinFactor.of(self.penalty[:d] + bend, self.penalty[d:], K)

    def _predict(self, dx: np.ndarray, weights: np.ndarray):
        """The predictor's relative move of the room, and what its products are off by.

        And what is known of the corrector's right-hand side, here nothing.
        """
        rate = self._rate(slice(None), weights, -self.products(dx))
        return rate, self._error(slice(None), rate), None

    def _rate(self, rows, weights: np.ndarray, change):
        """Relative move of the room where residuals u change by so much.

        Arrays of the size of the rows are written over where that is safe: memory that
        is new costs more than what is computed in it.
        """
        change += self.slack[rows]
        change *= weights[rows]
        rate = self.signs * change
        rate /= self.room[:, rows]
        return rate

    def _error(self, rows, rate):
        """What products of room and force lack of their aim 0 after a predictor."""
        error = 1.0 + rate
        error *= rate
        error *= self.room[:, rows]
        error *= self.force[:, rows]
        return error

    def _correct(self, dx: np.ndarray, rate, error):
        """μ that the step aims at, by Mehrotra's rule, and what the cone has to change.

        The rule is σ = (μ after the predictor / μ)³.
        """
        first, second, least, most = floats(
            self._mean(self.room * self.force), self._mean(error), *extremes(rate)
        )
        if self.cone is not None:
            self.cone.move(dx, None)
        length, mu = min(self._longest(least, -1 - most), 1.0), max(first, TINY)
        after = (1 - length) * mu - length * length * second
        target = self._target(mu, after)
        return target, None if self.cone is None else self.cone.corrected(target)

    def _target(self, mu: float, after: float) -> float:
        return mu * min(max(after / mu, 0.0), 1.0) ** 3

    def _lifted(self, lifts, weights, target, known):
        """What the corrector's right-hand side has beyond the predictor's."""
        return self.combine(self.c * weights * (lifts[1, :] - lifts[0, :]))

    def _aims(self, target: float):
        """What each product of room and force is to become, before correction."""
        return target if self.relative is None else target / self.relative

    def _mean(self, products):
        """Mean over all pairs, in the barrier's own units."""
        if self.relative is not None:
            products = products * self.relative
        total = products.sum() if self.xp is np else self.xp.sum(products)
        return total / max(2 * self.problem.n, 1)

    def _longest(self, *rates: float) -> float:
        """Largest step that stays inside, at most 1/(share to the boundary)."""
        rate = -min(rates)
        longest = 1.0 / rate if rate > 1.0 else 1.0 / SETTINGS.to_boundary
        return longest if self.cone is None else min(longest, self.cone.longest())

    def _advance(self, t: float, dx, change, room_rate, force_rate) -> None:
        balanced = self.penalty * (self.x + dx)
        if self.cone is not None:
            balanced -= self.cone.advance(t)
        self.combined = (1 - t) * self.combined + t * balanced
        self.x = self.x + t * dx
        self.slack = self.slack - t * change
        self.room = at_least(TINY, _grown(self.room, t, room_rate))
        self.force = _grown(self.force, t, force_rate)
        self.last_change = change
        self._measure()


def _grown(values, t: float, rate):
    """values·(1 + t·rate), in the memory of the rate."""
    rate *= t
    rate += 1.0
    rate *= values
    return rate
