"""Mehrotra's steps of `interior.py` on K problems at once.

Names are those of `InteriorPoint`, with an axis of problems before that of the rows.
Noise is a smooth convex term here (theory §8): r(x) = √(Ω(x)² + ε²) stands for Ω(x),
with an ε that shrinks like √μ. Rows are g_i = z_i − ρ_iv with v = ∇r = τ²∘x/r ∈ U, and
Newton's matrix Q + Σθ_i g_i g_iᵀ gains s∇²r = (s/r)(diag(τ²) − vvᵀ), where s = Σα_iρ_i.
Slacks are not linear in x then: they are computed from x, and what p − q lacks to them
the next step makes up for.
The gap splits into parts that are never negative, with d = Σα_iz_i,

    Σ(c_i[u_i]_+ − α_iu_i) + ½‖w − (d − sv)‖² + s(r − ⟨v,w⟩) + (the intercept's);

r ≥ Ω and v ∈ U make it no smaller than the true one.

Gram matrices are summed in float32, in half the time, while the rounding stays far
below the curvature of ½‖w‖², as in `compiled/mehrotra.py`. Nothing is mended: a problem
whose steps end in no number is given back where it was best.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.limits import COARSE, EPS, LITTLE, MOST_STEPS, TINY
from wideberth.solvers.classes.stack import Stack
from wideberth.solvers.newton.settings import SETTINGS

# Signs of the changes of 1 − a and a.
_SIDES = np.array([-1.0, 1.0])[:, None, None]


@dataclass(frozen=True)
class Working:
    """K problems on r rows each, of shape (K, r, m), and what settled rows leave.

    `rows` are z_i, labels included; `fold`, `total` and `s` are Σc_iz_i, Σc_i and
    Σc_iρ_i of the rows settled at α_i = c_i.
    """

    rows: np.ndarray
    weights: np.ndarray
    radii: np.ndarray
    fold: np.ndarray
    total: np.ndarray
    s: np.ndarray

    def take(self, problems: np.ndarray) -> Working:
        """Some of the problems."""
        parts = {part.name: getattr(self, part.name) for part in fields(self)}
        return replace(self, **{name: value[problems] for name, value in parts.items()})


def minimise(
    work: Working,
    stack: Stack,
    x: np.ndarray,
    slack: np.ndarray,
    tol: float,
    goal: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Step to the relative gap `goal`, from points and their slacks.

    Returns x, α/c and the number of steps at the smallest gap of every problem. One
    that has come to `tol` goes on while its gap falls; one that ends in no number, not
    at all.
    """
    steps, K = _Steps(work, stack, x, slack), len(x)
    x, shares, taken = np.array(x), np.array(steps.room[1]), np.zeros(K, dtype=int)
    best, left = np.full(K, np.inf), np.arange(K)
    for step in range(MOST_STEPS + 1):
        better = steps.gap < best[left]
        places = left[better]
        best[places], taken[places] = steps.gap[better], step
        x[places], shares[places] = steps.x[better], steps.room[1][better]
        going = (best[left] > goal) & (better | (steps.gap > tol))
        if step == MOST_STEPS or not going.any():
            break
        if 2 * np.count_nonzero(going) <= left.size:  # a smaller copy pays
            steps.keep(going)
            left = left[going]
        steps.step()
    return x, shares, taken


class _Steps:
    """The iteration: `room` = (1−a, a) and `force` = (p, q), of shape (2, K, r).

    `gap` is relative, and no number where a problem can go no further.
    """

    def __init__(self, work: Working, stack: Stack, x, slack):
        self.work, self.noisy = work, stack.noisy
        self.penalty, self.squares = stack.penalty, stack.squares
        self.inverse = 1 / np.where(self.penalty > 0, self.penalty, np.inf)
        self.free = bool(self.penalty[-1] == 0)
        self.coarse = work.rows.astype(np.float32)
        self.scaled = np.empty_like(self.coarse)
        self.matrix = np.empty((len(x), x.shape[1], x.shape[1]))
        self.sizes = np.einsum("krm,krm->kr", work.rows, work.rows)
        self.x, self.products = x, self._change(x)
        self.start = x * x  # √μ times as large an x makes the noise smooth
        least, inside = SETTINGS.least_distance, SETTINGS.start_inside
        distance = np.abs(slack)
        width = np.maximum(distance.max(axis=1, keepdims=True), least)
        share = np.clip(0.5 + 0.5 * slack / width, inside, 1 - inside)
        upper = np.maximum(slack, 0.0)
        upper += np.maximum(distance.mean(axis=1, keepdims=True), least)
        self.room = np.stack([1.0 - share, share])
        self.force = np.stack([upper, upper - slack])
        self._measure()

    def keep(self, problems: np.ndarray) -> None:
        """Go on with some of the problems."""
        self.work = self.work.take(problems)
        names = ["x", "start", "products", "slack", "combined", "coarse", "sizes"]
        names += ["mu", "gap", *(("s", "r", "v") if self.noisy else ())]
        for name in names:
            setattr(self, name, getattr(self, name)[problems])
        self.room, self.force = self.room[:, problems], self.force[:, problems]

    def _change(self, dx: np.ndarray) -> np.ndarray:
        """⟨dx,z_i⟩ of every row."""
        return (self.work.rows @ dx[:, :, None])[:, :, 0]

    def _lift(self, a: np.ndarray) -> np.ndarray:
        """Σa_iz_i."""
        return (a[:, None, :] @ self.work.rows)[:, 0]

    def _measure(self) -> None:
        """μ, slacks, Σα_iz_i and the gap over the primal value at x and α."""
        work, x, penalty = self.work, self.x, self.penalty
        alpha = work.weights * self.room[1]
        self.mu = _inner(self.room, self.force) / (2 * alpha.shape[1])
        self.combined = self._lift(alpha) + work.fold
        self.slack, near, apart, paid = 1.0 - self.products, self.combined, 0.0, 0.0
        if self.noisy:
            self._bend(alpha)
            near = near - self.s[:, None] * self.v
            apart = self.s * (self.r - np.einsum("km,km->k", self.v, x))
            paid = work.s * self.r
        hinge = np.einsum("kr,kr->k", work.weights, np.maximum(self.slack, 0.0))
        used = np.einsum("kr,kr->k", alpha, self.slack)
        primal = hinge + work.total - np.einsum("km,km->k", work.fold, x) + paid
        primal += 0.5 * ((x * x) @ penalty)
        off = penalty * x - near
        gap = np.maximum(hinge - used, 0.0) + 0.5 * ((off * off) @ self.inverse) + apart
        if self.free:  # Σα_iy_i is to be 0
            gap += np.abs(near[:, -1]) * (1 + np.abs(x[:, -1]))
        self.gap = gap / np.maximum(np.abs(primal), TINY)

    def _bend(self, alpha: np.ndarray) -> None:
        """s, r and v at x, and slacks with the noise."""
        work, x = self.work, self.x
        self.s = np.einsum("kr,kr->k", alpha, work.radii) + work.s
        self.r = np.sqrt((x * x + self.mu[:, None] * self.start) @ self.squares)
        self.r = np.maximum(self.r, TINY)
        self.v = x * self.squares / self.r[:, None]
        self.slack += work.radii * self.r[:, None]

    def step(self) -> None:
        """One predictor–corrector step."""
        ratio = self.force / self.room
        weights = 1.0 / (ratio[0] + ratio[1])  # θ/c
        factors = self._factors(self.work.weights * weights)
        _, d_room, d_force, _ = self._direction(factors, weights, ratio)
        ahead = np.minimum(self._longest(d_room, d_force), 1.0)
        first = _inner(self.room, d_force) + _inner(d_room, self.force)
        change = (first + ahead * _inner(d_room, d_force)) * ahead
        pairs = 2 * self.room.shape[2]
        target = self.mu * np.clip(1 + change / (pairs * self.mu), 0.0, 1.0) ** 3
        d_room *= d_force
        aims = target[:, None] - d_room
        dx, d_room, d_force, change = self._direction(factors, weights, ratio, aims)
        length = SETTINGS.to_boundary * self._longest(d_room, d_force)
        length = np.minimum(length, 1.0)[:, None]
        self.x = self.x + length * dx
        self.products = self.products + length * change
        self.room = np.maximum(self.room + length * d_room, TINY)
        self.force = self.force + length * d_force
        self._measure()
        self.gap[~(length[:, 0] > EPS)] = np.nan

    def _factors(self, theta: np.ndarray) -> list[np.ndarray]:
        """Cholesky factors of Newton's matrices; no numbers where there is none."""
        m = self.x.shape[1]
        size = np.einsum("kr,kr->k", theta, self.sizes).max()
        rows = self.coarse if COARSE * size <= LITTLE else self.work.rows
        if self.scaled.dtype != rows.dtype or len(self.scaled) != len(rows):
            self.scaled = np.empty_like(rows)
        roots = np.sqrt(theta).astype(rows.dtype)[:, :, None]
        scaled = np.multiply(rows, roots, out=self.scaled)
        matrix = self.matrix[: len(rows)]
        matrix[:] = scaled.transpose(0, 2, 1) @ scaled
        diagonal = matrix.reshape(len(matrix), -1)[:, :: m + 1]
        diagonal += self.penalty
        if self.noisy:
            radii, v, bend = self.work.radii, self.v, self.s / self.r
            moved = theta * radii
            weight = np.einsum("kr,kr->k", moved, radii) - bend
            lead = 0.5 * weight[:, None] * v - self._lift(moved)
            lead = lead[:, :, None] * v[:, None, :]
            matrix += lead + lead.transpose(0, 2, 1)
            diagonal += bend[:, None] * self.squares
        factors = [lapack.dpotrf(each.T, lower=1, overwrite_a=1) for each in matrix]
        return [factor if info == 0 else factor * np.nan for factor, info in factors]

    def _direction(self, factors, weights, ratio, aims=None):
        """Newton direction for room·force → aims, 0 if None."""
        residual, work = self.slack, self.work
        if aims is not None:
            aims = aims / self.room
            residual = residual - aims[0]
            residual += aims[1]
        pushes = work.weights * weights * residual
        right = self.combined - self.penalty * self.x + self._lift(pushes)
        if self.noisy:
            moved = self.s + np.einsum("kr,kr->k", pushes, work.radii)
            right -= moved[:, None] * self.v
        dx = np.array(
            [
                lapack.dpotrs(factor, one, lower=1)[0]
                for factor, one in zip(factors, right, strict=True)
            ]
        )
        change = self._change(dx)
        bent = change
        if self.noisy:
            along = np.einsum("km,km->k", self.v, dx)[:, None]
            bent = change - work.radii * along
        d_room = _SIDES * (weights * (residual - bent))
        d_force = ratio * d_room
        d_force += self.force
        if aims is None:
            d_force *= -1.0
        else:
            d_force = np.subtract(aims, d_force, out=d_force)
        return dx, d_room, d_force, change

    def _longest(self, d_room, d_force) -> np.ndarray:
        """Largest steps that stay inside, at most 1/(share to the boundary)."""
        nearest = np.minimum(
            (d_room / self.room).min(axis=(0, 2)),
            (d_force / self.force).min(axis=(0, 2)),
        )
        return np.where(nearest < -1.0, -1.0 / nearest, 1 / SETTINGS.to_boundary)


def _inner(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Σ over sides and rows, of every problem."""
    return np.einsum("jkr,jkr->k", a, b)
