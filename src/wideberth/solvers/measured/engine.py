"""What interior-point methods for sets per sample have in common: the hinges.

The problem is that of theory §8,

    min ½‖w‖² + ½λ_b b² + Σ c_i [u_i]_+ + m(w),   u_i = 1 − ⟨w,z_i⟩ − y_i b + κ_i(w),

m standing for settled samples. Both complementarity pairs of a hinge are kept as in
`newton/interior.py`: `room` = (1−a, a) with a = α/c, `force` = (p, q) with u → p − q,
and room·force → μ. How κ_i is treated tells the two methods apart: `RoundedOff` is the
quicker one, `Cones` the one that does not mind kinks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from wideberth.problem import Folded, Problem
from wideberth.problem.arrays import at_least, host, is_foreign, namespace
from wideberth.problem.limits import EPS, LITTLE, TINY
from wideberth.problem.rows import gamma
from wideberth.problem.sets import SumOfSets
from wideberth.solvers.newton.algebra import cholesky
from wideberth.solvers.newton.settings import SETTINGS


@dataclass(frozen=True)
class Model:
    """Σ c_iκ_i of settled samples as a quadratic, true at w to second order."""

    w: np.ndarray
    value: float
    gradient: np.ndarray
    curvature: np.ndarray
    rounding: float  # bound on the error of the gradient, which is Σ c_iδ_i

    @classmethod
    def of(cls, noise: SumOfSets | None, w: np.ndarray) -> Model:
        """That of samples with coefficients c_iρ_i."""
        value, gradient, rounding = 0.0, np.zeros(w.size), 0.0
        curvature = np.zeros((w.size, w.size))
        for bars, a in () if noise is None else noise.parts:
            bars.visited()
            for rows, part in bars.blocks():
                sizes = part.sizes(w)
                value += float(a[rows] @ sizes)
                gradient += part.pull(a[rows], w, sizes)
                curvature += part.curvature(a[rows], w, sizes)
            relative = bars.pull_rounding * bars.lipschitz(bars.d) + bars.axes_errors()
            rounding += float(a @ relative)
        return cls(w, value, gradient, curvature, rounding)

    def __add__(self, other: Model) -> Model:
        """Both, about the point of the other."""
        value, gradient = self.at(other.w)
        return Model(
            other.w,
            value + other.value,
            gradient + other.gradient,
            self.curvature + other.curvature,
            self.rounding + other.rounding,
        )

    def settled(self, fold: Folded) -> Folded:
        """Samples folded with their δ_i at the point of the model: Σ c_i(z_i − δ_i)."""
        moved, size = fold.d - self.gradient, float(np.linalg.norm(self.gradient))
        error = fold.rounding + self.rounding + gamma(2) * (fold.mass + size)
        return replace(fold, d=moved, rounding=error, mass=fold.mass + size)

    def at(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        step = w - self.w
        bent = self.curvature @ step
        value = self.value + float((self.gradient + 0.5 * bent) @ step)
        return value, self.gradient + bent


def labelled(X, y, free: bool):
    """Rows (z_i, y_i), without y_i where there is no intercept.

    Their columns lie together in memory, but for arrays of other libraries: then
    scaling all rows takes half the time.
    """
    if is_foreign(X):
        Z = X * y[:, None]
        return namespace(X).concat((Z, y[:, None]), axis=1) if free else Z
    Z = np.empty((X.shape[0], X.shape[1] + free), order="F")
    np.multiply(X, y[:, None], out=Z[:, : X.shape[1]])
    Z[:, X.shape[1] :] = y[:, None]
    return Z


class MeasuredEngine(ABC):
    """The iteration; `step()` until `relative_gap` is small or it returns False.

    From a `start` (w, b) it begins on the central path, at a tenth of the mean distance
    from the margin; without one at least squares on the slacks.
    `slack` are those that Newton's method sees, `true_slack` those at w; `combined` is
    Σα_i(z_i − δ_i, y_i), what is folded included.
    """

    slack: np.ndarray
    true_slack: np.ndarray
    combined: np.ndarray

    def __init__(self, problem: Problem, start=None, model: Model | None = None):
        self._adopt(problem, model)
        xp = self.xp = namespace(problem.y)
        self.Z = labelled(problem.rows.dense(slice(None)), problem.y, self.free)
        w, b = self._least_squares() if start is None else start
        self.x = np.append(w, b) if self.free else np.array(w)
        self._begin()
        distance = float(xp.sum(xp.abs(self.slack))) / max(problem.n, 1)
        distance = max(distance, SETTINGS.least_distance)
        if start is None:
            share = 0.5 * self.slack
            share = xp.clip(share, SETTINGS.start_inside, 1 - SETTINGS.start_inside)
            self.room = xp.stack([1.0 - share, share])
            upper = at_least(0.0, self.slack) + distance
            self.force = xp.stack([upper, upper - self.slack])
        else:
            self._centre(LITTLE * distance)
        self.moved = 0.0 * self.slack

    def _centre(self, mu: float) -> None:
        """Rooms and forces of product μ, with u = p − q to the last digit."""
        u, xp = self.slack, self.xp
        root = xp.sqrt(u * u + 4 * mu * mu)
        rest = xp.where(u > 0, 4 * mu * mu / (root + at_least(0.0, u)), root - u)
        self.room = xp.stack([rest, 2 * mu + 0.0 * u]) / (2 * mu + rest)
        self.force = mu / self.room

    def _adopt(self, problem: Problem, model: Model | None) -> None:
        """Take over a problem: its weights, penalties and what is folded."""
        self.problem, self.model, self.c = problem, model, problem.weights
        self.d, fold = problem.rows.d, problem.folded
        self.free = problem.intercept is not None
        size = self.d + self.free
        self.penalty, self.folded = np.ones(size), np.zeros(size)
        if fold is not None:
            self.folded[: self.d] = fold.d
        if self.free:
            self.penalty[-1] = problem.intercept
            self.folded[-1] = 0.0 if fold is None else fold.balance

    @abstractmethod
    def _begin(self) -> None:
        """Set what is known of the noise at x, and the slacks that Newton sees."""

    def step(self) -> bool:
        """One predictor–corrector step; False, and none, if no progress is possible.

        Steps replace x and α, and do not write into them: so they can be taken back.
        """
        before = dict(vars(self))
        with np.errstate(all="ignore"):  # at the end of float64; checked there
            possible = self._step()
        if not possible:
            vars(self).update(before)
        return possible

    @abstractmethod
    def _step(self) -> bool:
        """The step."""

    def _least_squares(self):
        """Minimise ½‖w‖² + ½λ_b b² + ¼Σc_i u_i² without noise."""
        half = 0.5 * self.c
        matrix = host((self.Z * half[:, None]).T @ self.Z)
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += self.penalty
        if matrix[-1, -1] == 0:  # no row has a weight: b stays 0
            matrix[-1, -1] = 1.0
        factor, right = cholesky(matrix), host(self.Z.T @ half) + self.folded
        x = 0 * right if factor is None else lapack.dpotrs(factor, right, lower=1)[0]
        if not np.isfinite(x).all():
            x = 0 * right
        return x[: self.d], float(x[-1]) if self.free else 0.0

    @property
    def w(self) -> np.ndarray:
        """Weights of the features."""
        return self.x[: self.d]

    @property
    def b(self) -> float:
        """Intercept."""
        return float(self.x[-1]) if self.free else 0.0

    @property
    def alpha(self) -> np.ndarray:
        """Dual weights, strictly inside the box."""
        return self.c * self.room[1, :]

    @property
    def mu(self) -> float:
        """Mean complementarity product of the rows."""
        product = float(self.xp.sum(self.room * self.force))
        return max(product, TINY) / max(2 * self.problem.n, 1)

    @property
    def relative_gap(self) -> float:
        """Gap of the current point on its own problem, over its primal value."""
        return self.gap / max(abs(self.primal), TINY)

    def _measure(self, u: np.ndarray, noise: np.ndarray, attained: float) -> None:
        """Primal value and gap, split as in theory §8.

        `combined` holds Σα_i(z_i − δ_i, y_i) and what is folded; `u` are the slacks at
        x, `noise` κ_i(w), and `attained` is Σα_i⟨δ_i,w⟩.
        """
        problem, alpha, settled = self.problem, self.alpha, 0.0
        self.true_slack = u
        if self.model is not None:
            settled, gradient = self.model.at(self.w)
            self.combined[: self.d] -= gradient
        hinge = float(self.c @ at_least(0.0, u))
        self.primal = 0.5 * float(self.penalty @ (self.x * self.x)) + hinge + settled
        if problem.folded is not None:
            self.primal += problem.folded.total - float(self.folded @ self.x)
        off = self.w - self.combined[: self.d]
        gap = max(hinge - float(alpha @ u), 0.0) + 0.5 * float(off @ off)
        gap += max(float(alpha @ noise) - attained, 0.0)
        if self.free:
            balance, penalty = float(self.combined[-1]), problem.intercept
            if penalty:
                gap += 0.5 * penalty * (self.b - balance / penalty) ** 2
            else:
                gap += abs(balance) * (1 + abs(self.b))
        self.gap = gap

    def _matrix(self, rows: np.ndarray, noise: np.ndarray):
        """Cholesky factor of Q + rowsᵀrows + noise + the model's curvature."""
        matrix = rows.T @ rows
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += self.penalty
        matrix[: self.d, : self.d] += noise
        if self.model is not None:
            matrix[: self.d, : self.d] += self.model.curvature
        return cholesky(matrix)

    def _centred(self, d_room, d_force, length: float) -> float:
        """Mehrotra's target: μ times (μ after the predictor / μ)³."""
        mu = self.mu
        room, force = self.room + length * d_room, self.force + length * d_force
        after = float(self.xp.sum(room * force)) / (2 * max(self.problem.n, 1) * mu)
        return mu * min(max(after, 0.0), 1.0) ** 3

    def _hinge_moves(self, da, ratio, aims):
        """Moves of room and force; their product goes to `aims`·room, 0 if None."""
        d_room = self.xp.stack([-da, da])
        d_force = -(ratio * d_room + self.force)
        return d_room, d_force if aims is None else d_force + aims

    def _hinge_room(self, d_room, d_force) -> float:
        """Largest step that keeps both positive, at most 1/(share to the boundary)."""
        if not self.problem.n:
            return 1.0 / SETTINGS.to_boundary
        xp = self.xp
        nearest = xp.min(d_room / self.room), xp.min(d_force / self.force)
        return 1.0 / max(-float(nearest[0]), -float(nearest[1]), SETTINGS.to_boundary)

    def _possible(self, length: float, dx: np.ndarray) -> bool:
        return length > EPS and bool(np.isfinite(dx).all())
