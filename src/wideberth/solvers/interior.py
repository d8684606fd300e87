"""A primal–dual interior-point Newton method for the robust SVM with smooth noise.

Written with t ≥ Ω(w) = ‖τ∘w‖ the problem is linear in x = (w, t, b) but for one cone:

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
(SIAM J. Optim. 1992). One identity saves a product per step: after a step of length t,
Σα_i e_i becomes (1−t)·(old) + t·(Q(x+dx) − Bᵀ(h+dh)), so the gap costs vector
operations only.

Works on any `Problem` with ℓ2 or per-feature noise, reduced ones included, and can be
shrunk between steps. Nothing here certifies; gaps are for steering.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from wideberth.problem import Problem

__all__ = ["InteriorPoint", "Start"]

#: Share of the way to the boundary that a step may go.
_TO_BOUNDARY = 0.995


@dataclass(frozen=True)
class Start:
    """Where to start: a primal point with its margins Zw, and shares α/c."""

    w: np.ndarray
    b: float
    margins: np.ndarray
    share: np.ndarray


class InteriorPoint:
    """The iteration; `step()` until `relative_gap` is small or it returns False.

    Both complementarity pairs of the hinge are kept as one: `room` = (1−a, a) and
    `force` = (p, q), arrays of shape (2, n), with room·force → μ.
    """

    def __init__(self, problem: Problem, start: Start):
        fold = problem.folded
        self.noisy = bool(problem.radii.any()) or (fold is not None and fold.s > 0)
        self._take(problem)
        d, omega = problem.rows.d, problem.noise.support(start.w)
        extra = []
        if self.noisy:
            reach = problem.noise.lipschitz(d) * float(np.linalg.norm(start.w))
            extra.append(1.1 * max(omega, 1e-3 * reach, 1e-12))
        if problem.intercept is not None:
            extra.append(start.b)
        self.x = np.concatenate((start.w, extra))
        self.products = start.margins + self.extras @ self.x[d:]  # ⟨x,e_i⟩
        self.slack = 1.0 - self.products
        reach = max(float(np.abs(self.slack).sum()) / max(problem.n, 1), 1e-9)
        share = np.clip(start.share, 0.05, 0.95)
        self.room = np.array([1.0 - share, share])
        upper = np.maximum(self.slack, 0.0) + reach
        self.force = np.array([upper, upper - self.slack])
        self.steps, self.recent_move = 0, np.zeros(problem.n)
        self._combine()
        self.cone = _Cone(self) if self.noisy else None
        self._measure()
        self.first_primal = self.primal

    def _take(self, problem: Problem) -> None:
        """Adopt a problem: weights, extra columns (−ρ, y), penalties, folded part."""
        self.problem, self.c = problem, problem.weights
        fold, d = problem.folded, problem.rows.d
        columns, penalties, folded = [], [], []
        if self.noisy:
            columns.append(-problem.radii)
            penalties.append(0.0)
            folded.append(0.0 if fold is None else -fold.s)
        if problem.intercept is not None:
            columns.append(problem.y)
            penalties.append(problem.intercept)
            folded.append(0.0 if fold is None else fold.balance)
        self.extras = np.empty((problem.n, len(columns)))
        for k, column in enumerate(columns):
            self.extras[:, k] = column
        self.penalty = np.concatenate((np.ones(d), penalties))
        self.folded = np.concatenate((np.zeros(d) if fold is None else fold.d, folded))

    @property
    def w(self) -> np.ndarray:
        """Weights of the features."""
        return self.x[: self.problem.rows.d]

    @property
    def b(self) -> float:
        """Intercept."""
        return 0.0 if self.problem.intercept is None else float(self.x[-1])

    @property
    def margins(self) -> np.ndarray:
        """Zw."""
        return self.products - self.extras @ self.x[self.problem.rows.d :]

    @property
    def share(self) -> np.ndarray:
        """α/c, strictly between 0 and 1."""
        return self.room[1]

    @property
    def alpha(self) -> np.ndarray:
        """Dual weights, strictly inside the box."""
        return self.c * self.room[1]

    @property
    def mu(self) -> float:
        """Mean complementarity product of the rows."""
        product = float(np.vdot(self.room, self.force))
        return max(product, 1e-300) / max(self.room.size, 1)

    @property
    def relative_gap(self) -> float:
        """Gap of the current point on its own problem, over its primal value."""
        return self.gap / max(self.primal, 1e-3 * self.first_primal)

    def _lift(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i e_i, by one product."""
        combined = self.problem.rows.combine(a)
        if not self.extras.shape[1]:
            return combined
        return np.concatenate((combined, a @ self.extras))

    def _combine(self) -> None:
        """Σα_i e_i, folded samples included."""
        self.combined = self._lift(self.alpha) + self.folded

    def _measure(self) -> None:
        """Primal value and gap at the current x and α, split as in theory §6.1."""
        problem, x, d = self.problem, self.x, self.problem.rows.d
        hinge = float(self.c @ np.maximum(self.slack, 0.0))
        complementarity = hinge - float(self.alpha @ self.slack)
        quadratic = 0.5 * float(self.penalty @ (x * x))
        self.primal = quadratic + hinge
        if problem.folded is not None:
            self.primal += problem.folded.total - float(self.folded @ x)
        near = self.combined[:d]
        if self.noisy:
            near = problem.noise.prox(near, max(-float(self.combined[d]), 0.0))
        stationarity = quadratic - float(self.combined @ x) + 0.5 * float(near @ near)
        if problem.intercept:
            stationarity += 0.5 * float(self.combined[-1]) ** 2 / problem.intercept
        elif problem.intercept is not None:
            off = float(self.combined[-1])
            stationarity += off * self.b + abs(off) * (1 + abs(self.b))
        self.gap = max(complementarity, 0.0) + max(stationarity, 0.0)

    def shrink(self, keep: np.ndarray, problem: Problem) -> None:
        """Go on with the rows `keep` (a mask) alone, which form `problem`."""
        self._take(problem)
        self.products, self.slack = self.products[keep], self.slack[keep]
        self.room, self.force = self.room[:, keep], self.force[:, keep]
        self.recent_move = self.recent_move[keep]
        self._combine()
        self._measure()

    # -- one step ----------------------------------------------------------------

    def step(self) -> bool:
        """One predictor–corrector step; False if no progress is possible."""
        with np.errstate(all="ignore"):  # at the end of float64; checked below
            return self._step()

    def _step(self) -> bool:
        ratio = self.force / self.room
        weights = 1.0 / (ratio[0] + ratio[1])  # θ/c
        if self.cone is not None:
            self.cone.scale(self.x)
        factor, ready = self._factor(self.c * weights)
        if not ready:
            return False
        mu = self.mu
        ahead = self._direction(factor, weights, ratio, 0.0, None)
        target = mu * self._centering(ahead, min(self._longest(ahead), 1.0), mu)
        cone = None if self.cone is None else self.cone.corrected(target)
        _, d_room, d_force, _ = ahead
        move = self._direction(factor, weights, ratio, target - d_room * d_force, cone)
        length = min(1.0, _TO_BOUNDARY * self._longest(move))
        if not (length > 1e-10 and np.isfinite(move[0]).all()):
            return False
        self._advance(length, move)
        return True

    def _factor(self, weights: np.ndarray):
        """Cholesky factor of Q + Σθ_i e_i e_iᵀ + BᵀW⁻²B."""
        matrix = self.problem.rows.curvature(weights, self.extras)
        matrix.flat[:: matrix.shape[0] + 1] += self.penalty
        if self.cone is not None:
            self.cone.add_curvature(matrix)
        return _cholesky(matrix)

    def _direction(self, factor, weights, ratio, target, cone):
        """Newton direction for room·force → target, and the cone's product alike."""
        wanted = target / self.room
        pull = self.slack
        if cone is not None or np.ndim(target):
            pull = pull - wanted[0] + wanted[1]
        right = self.combined - self.penalty * self.x
        right += self._lift(self.c * weights * pull)
        if self.cone is not None and cone is not None:
            right += self.cone.push(cone)
        dx = lapack.dpotrs(factor, right, lower=1)[0]
        d = self.problem.rows.d
        change = self.problem.rows.margins(dx[:d])
        if dx.size > d:
            change += self.extras @ dx[d:]
        da = weights * (pull - change)
        d_room = np.array([-da, da])
        d_force = wanted - self.force - ratio * d_room
        if self.cone is not None:
            self.cone.move(dx, cone)
        return dx, d_room, d_force, change

    def _longest(self, move) -> float:
        """Largest step that stays inside, at most 1/(share to the boundary)."""
        _, d_room, d_force, _ = move
        rate = 0.0
        if d_room.size:
            rate = max(-float((d_room / self.room).min()), 0.0)
            rate = max(-float((d_force / self.force).min()), rate)
        longest = 1.0 / rate if rate > 1.0 else 1.0 / _TO_BOUNDARY
        return longest if self.cone is None else min(longest, self.cone.longest())

    def _centering(self, move, length: float, mu: float) -> float:
        """Mehrotra's σ = (μ after the predictor / μ)³."""
        _, d_room, d_force, _ = move
        ahead = np.vdot(self.room + length * d_room, self.force + length * d_force)
        return min(max(float(ahead) / (max(d_room.size, 1) * mu), 0.0), 1.0) ** 3

    def _advance(self, t: float, move) -> None:
        dx, d_room, d_force, change = move
        balanced = self.penalty * (self.x + dx)
        if self.cone is not None:
            balanced -= self.cone.advance(t)
        self.combined = (1 - t) * self.combined + t * balanced
        self.x = self.x + t * dx
        self.products = self.products + t * change
        self.slack = 1.0 - self.products
        self.room = np.maximum(self.room + t * d_room, 1e-30)
        self.force = self.force + t * d_force
        self.recent_move = np.maximum(np.abs(change), 0.3 * self.recent_move)
        self.steps += 1
        self._measure()


class _Cone:
    """The cone constraint k = (t, τ∘w) ∈ K with its multiplier h, in NT scaling.

    W² = η²(2vvᵀ − J) with J = diag(1, −I) makes W⁻¹k = Wh = λ. All moves are kept
    scaled: g = W⁻¹dk and y − g = Wdh, where λ∘y is what the product k∘h has to change
    by. Rows have c_i times μ as their true product; the cone has `weight` times μ.
    """

    def __init__(self, method: InteriorPoint):
        self.d, self.size = method.problem.rows.d, method.x.size
        self.scales = np.sqrt(
            np.broadcast_to(method.problem.noise.squares, (self.d,)).astype(float)
        )
        k = self._image(method.x)
        # h_0 balances s, h_1 opposes w; ⟨k,h⟩ fixes the weight of this barrier.
        s = max(-float(method.combined[self.d]), 1e-12 * float(method.c.sum()), 1e-300)
        self.h = s * np.concatenate(([1.0], -0.9 * k[1:] / k[0]))
        self.weight = float(k @ self.h) / method.mu

    def _image(self, x: np.ndarray) -> np.ndarray:
        """B x = (t, τ∘w)."""
        out = np.empty(self.d + 1)
        out[0] = x[self.d]
        np.multiply(self.scales, x[: self.d], out=out[1:])
        return out

    def _pull_back(self, h: np.ndarray) -> np.ndarray:
        """Bᵀh, in the order of x."""
        out = np.zeros(self.size)
        out[: self.d], out[self.d] = self.scales * h[1:], h[0]
        return out

    def scale(self, x: np.ndarray) -> None:
        """Compute the scaling at the current point."""
        k, h = self._image(x), self.h
        size_k, size_h = np.sqrt(_square(k)), np.sqrt(_square(h))
        flipped = h * (-1 / size_h)
        flipped[0] = -flipped[0]
        twice = k / size_k + flipped
        v = twice / np.sqrt(_square(twice))
        eta = np.sqrt(size_k / size_h)
        # W⁻¹ = η⁻¹ [v_0, −v_1ᵀ; −v_1, I + v_1v_1ᵀ/(1+v_0)]
        inverse = np.multiply.outer(v, v / (1 + v[0]))
        inverse[0], inverse[:, 0] = -v, -v
        inverse[0, 0] = v[0]
        inverse.flat[self.d + 2 :: self.d + 2] += 1.0
        self.inverse = inverse / eta
        self.scaled = self.inverse @ k  # λ
        self.v, self.eta = v, eta

    def corrected(self, mu: float) -> np.ndarray:
        """λ + y for the corrector: λ∘(λ+y) = weight·μe + g∘(λ+g), g the predictor's."""
        right = _product(self.g, self.scaled + self.g)
        right[0] += self.weight * mu
        return _divide(self.scaled, right)

    def push(self, corrected: np.ndarray) -> np.ndarray:
        """Bᵀ(h + W⁻¹y), the cone's part of the right-hand side (0 in a predictor)."""
        return self._pull_back(self.inverse @ corrected)

    def move(self, dx: np.ndarray, corrected: np.ndarray | None) -> None:
        """Note the scaled moves that go with dx: g = W⁻¹B dx and W dh = y − g."""
        self.g = self.inverse @ self._image(dx)
        self.dual_g = -self.scaled - self.g
        if corrected is not None:
            self.dual_g += corrected

    def advance(self, t: float) -> np.ndarray:
        """Move h by t·dh; returns Bᵀ(h + dh)."""
        dh = self.inverse @ self.dual_g
        full = self._pull_back(self.h + dh)
        self.h = self.h + t * dh
        return full

    def add_curvature(self, matrix: np.ndarray) -> None:
        """Add BᵀW⁻²B in place; W⁻² = η⁻²(2(Jv)(Jv)ᵀ − J)."""
        d, weight = self.d, self.eta**-2
        tail = np.empty(d + 1)
        np.multiply(self.scales, self.v[1:], out=tail[:d])
        tail[d] = -self.v[0]
        matrix[: d + 1, : d + 1] += np.multiply.outer((2 * weight) * tail, tail)
        diagonal = matrix.reshape(-1)[: d * matrix.shape[0] : matrix.shape[0] + 1]
        diagonal += weight * self.scales**2
        matrix[d, d] -= weight

    def longest(self) -> float:
        """Largest step that keeps k and h, hence their scaled images, inside K."""
        return min(_reach(self.scaled, self.g), _reach(self.scaled, self.dual_g))


def _square(k: np.ndarray) -> float:
    """k_0² − ‖k_1‖², kept positive."""
    tail = k[1:]
    norm = float(np.sqrt(tail @ tail))
    return max((float(k[0]) - norm) * (float(k[0]) + norm), 1e-300)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Jordan product a∘b of the cone."""
    out = a[0] * b + b[0] * a
    out[0] = a @ b
    return out


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve a∘y = b."""
    head = (2 * a[0] * b[0] - float(a @ b)) / _square(a)
    out = (b - head * a) / a[0]
    out[0] = head
    return out


def _reach(k: np.ndarray, move: np.ndarray) -> float:
    """Largest t with k + t·move ∈ K: the least positive root of at² + 2bt + c."""
    k0, move0 = float(k[0]), float(move[0])
    a = 2 * move0 * move0 - float(move @ move)
    b = 2 * k0 * move0 - float(k @ move)
    c = _square(k)
    limit = -k0 / move0 if move0 < 0 else np.inf
    root = b * b - a * c
    if root >= 0:
        pivot = -(b + np.copysign(np.sqrt(root), b))
        roots = (pivot / a if a else np.inf, c / pivot if pivot else np.inf)
        limit = min((t for t in roots if t > 0), default=limit)
    return limit


def _cholesky(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Factor a positive definite matrix, shifted a little if rounding asks for it."""
    factor, info = lapack.dpotrf(matrix, lower=1)
    shift = 1e-15 * float(np.max(np.diagonal(matrix))) if info else 0.0
    for _ in range(7):
        if info == 0:
            return factor, True
        factor, info = lapack.dpotrf(matrix + shift * np.eye(len(matrix)), lower=1)
        shift *= 100
    return factor, False
