"""A primal–dual interior-point Newton method for the robust SVM with smooth noise.

Written with t ≥ Ω(w) = ‖τ∘w‖ the problem is linear in x = (w, t, b) but for one cone:

    min ½‖w‖² + ½λ_b b² + Σ c_i [u_i]_+ ,   u_i = 1 − ⟨x, e_i⟩,   e_i = (z_i, −ρ_i, y_i),
    k = (t, τ∘w) ∈ K = {k_0 ≥ ‖k_1‖}

(t and b only where there are noise and intercept). Perturbing complementarity by μ > 0,
with shares a_i = α_i/c_i ∈ (0,1), multipliers p, q > 0 of the hinge and h ∈ K of the cone,

    Qx = Σα_i e_i + Bᵀh,   u = p − q,   (1−a)p = μ = aq,   k∘h ∝ μ(1,0),   k = Bx.

Newton's method, all but x eliminated, has the matrix Q + Σθ_i e_i e_iᵀ + BᵀW⁻²B with
θ_i = c_i / (p_i/(1−a_i) + q_i/a_i) and W the Nesterov–Todd scaling of (k,h). This is the
Hessian of theory §6.1 with its hard set J replaced by smooth weights θ: a dozen or two of
steps whatever C, scale or collinearity, kinks of Ω included (w* = 0, or no noisy feature
used), where the semismooth form creeps along its pieces. Steps are Mehrotra's (SIAM J.
Optim. 1992). One identity saves a product per step: after a step of length t, Σα_i e_i
becomes (1−t)·(old) + t·(Q(x+dx) − Bᵀ(h+dh)), so the gap costs vector operations only.

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
    """The iteration; `step()` until `relative_gap` is small or it returns False."""

    def __init__(self, problem: Problem, start: Start):
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
        self.share = np.clip(start.share, 0.05, 0.95)
        self.p = np.maximum(self.slack, 0.0) + reach
        self.q = self.p - self.slack
        self.steps, self.recent_move = 0, np.zeros(problem.n)
        self._combine()
        self.cone = _Cone(self, self._mu()) if self.noisy else None
        self._measure()
        self.first_primal = self.primal

    def _take(self, problem: Problem) -> None:
        """Adopt a problem: its weights, extra columns (−ρ, y), penalties, folded part."""
        self.problem, self.c = problem, problem.weights
        fold, d = problem.folded, problem.rows.d
        if not hasattr(self, "noisy"):
            self.noisy = bool(problem.radii.any()) or (fold is not None and fold.s > 0)
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
    def alpha(self) -> np.ndarray:
        """Dual weights, strictly inside the box."""
        return self.c * self.share

    @property
    def relative_gap(self) -> float:
        """Gap of the current point on its own problem, over its primal value."""
        return self.gap / max(self.primal, 1e-3 * self.first_primal)

    def _lift(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i e_i, by one product."""
        return np.concatenate((self.problem.rows.combine(a), a @ self.extras))

    def _combine(self) -> None:
        """Σα_i e_i, folded samples included."""
        self.combined = self._lift(self.alpha) + self.folded

    def _mu(self) -> float:
        """Mean complementarity product of the rows."""
        products = float(self.p @ (1.0 - self.share)) + float(self.q @ self.share)
        return max(products, 1e-300) / (2 * max(self.p.size, 1))

    def _measure(self) -> None:
        """Primal value and gap at the current x and α, split as in theory §6.1."""
        problem, x, fold, d = self.problem, self.x, self.problem.folded, self.w.size
        hinge = float(self.c @ np.maximum(self.slack, 0.0))
        complementarity = hinge - float(self.alpha @ self.slack)
        quadratic = 0.5 * float(self.penalty @ (x * x))
        self.primal = quadratic + hinge
        if fold is not None:
            self.primal += fold.total - float(self.folded @ x)
        toward = self.combined[:d]
        s = max(-float(self.combined[d]), 0.0) if self.noisy else 0.0
        near = problem.noise.prox(toward, s) if self.noisy else toward
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
        self.products, self.share = self.products[keep], self.share[keep]
        self.p, self.q = self.p[keep], self.q[keep]
        self.slack, self.recent_move = self.slack[keep], self.recent_move[keep]
        self._combine()
        self._measure()

    # -- one step ----------------------------------------------------------------

    def step(self) -> bool:
        """One predictor–corrector step; False if no progress is possible."""
        with np.errstate(all="ignore"):  # at the end of float64; checked below
            return self._step()

    def _step(self) -> bool:
        rest = 1.0 - self.share
        weights = 1.0 / (self.p / rest + self.q / self.share)  # θ/c
        if self.cone is not None:
            self.cone.scale(self)
        factor, ready = self._factor(self.c * weights)
        if not ready:
            return False
        mu = self._mu()
        zero = np.zeros(1) if self.cone is None else self.cone.target(0.0)
        ahead = self._direction(factor, weights, rest, 0.0, 0.0, zero)
        length = self._longest(rest, ahead)
        target = mu * self._centering(rest, ahead, length, mu)
        _, da, dp, dq, _, dh = ahead
        cone = zero if self.cone is None else self.cone.target(target, ahead[0], dh)
        move = self._direction(
            factor, weights, rest, target + da * dp, target - da * dq, cone
        )
        length = min(1.0, _TO_BOUNDARY * self._longest(rest, move))
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

    def _direction(self, factor, weights, rest, upper, lower, cone):
        """Newton direction for (1−a)p → upper, aq → lower, k∘h → cone."""
        up, down = upper / rest, lower / self.share
        pull = self.slack - up + down
        right = self.combined - self.penalty * self.x
        right += self._lift(self.c * weights * pull)
        if self.cone is not None:
            right += self.cone.force(cone)
        dx = lapack.dpotrs(factor, right, lower=1)[0]
        d = self.problem.rows.d
        change = self.problem.rows.margins(dx[:d])
        if dx.size > d:
            change += self.extras @ dx[d:]
        da = weights * (pull - change)
        dp = up - self.p + (self.p / rest) * da
        dq = down - self.q - (self.q / self.share) * da
        dh = None if self.cone is None else self.cone.dual_move(cone, dx)
        return dx, da, dp, dq, change, dh

    def _longest(self, rest, move) -> float:
        """Largest step that stays inside, at most 1/(share to the boundary)."""
        dx, da, dp, dq, _, dh = move
        rate = max(
            -float((dp / self.p).min(initial=0.0)),
            -float((dq / self.q).min(initial=0.0)),
            -float((da / self.share).min(initial=0.0)),
            float((da / rest).max(initial=0.0)),
        )
        longest = 1.0 / rate if rate > 1.0 else 1.0 / _TO_BOUNDARY
        if self.cone is not None:
            longest = min(longest, self.cone.longest(dx, dh))
        return longest

    def _centering(self, rest, move, length, mu) -> float:
        """Mehrotra's σ = (μ after the predictor / μ)³."""
        _, da, dp, dq, _, _ = move
        ahead = float((self.p + length * dp) @ (rest - length * da))
        ahead += float((self.q + length * dq) @ (self.share + length * da))
        ratio = ahead / (2 * max(rest.size, 1) * mu)
        return min(max(ratio, 0.0), 1.0) ** 3

    def _advance(self, t: float, move) -> None:
        dx, da, dp, dq, change, dh = move
        balanced = self.penalty * (self.x + dx)
        if self.cone is not None:
            balanced -= self.cone.pull_back(self.cone.h + dh)
            self.cone.h = self.cone.h + t * dh
        self.combined = (1 - t) * self.combined + t * balanced
        self.x = self.x + t * dx
        self.products = self.products + t * change
        self.slack = 1.0 - self.products
        self.share = np.minimum(np.maximum(self.share + t * da, 1e-30), 1 - 1e-16)
        self.p, self.q = self.p + t * dp, self.q + t * dq
        self.recent_move = np.maximum(np.abs(change), 0.3 * self.recent_move)
        self.steps += 1
        self._measure()


class _Cone:
    """The cone constraint k = (t, τ∘w) ∈ K with its multiplier h, in NT scaling.

    Rows have c_i times μ as their true product; the cone has `weight` times μ.

    W² = η²(2vvᵀ − J), J = diag(1, −I), W⁻² = η⁻²(2(Jv)(Jv)ᵀ − J); W⁻¹k = Wh = λ.
    """

    def __init__(self, method: InteriorPoint, mu: float):
        self.d = method.problem.rows.d
        scales = np.sqrt(np.broadcast_to(method.problem.noise.squares, (self.d,)))
        self.scales = scales
        k = self._image(method.x)
        # h_0 balances s, h_1 opposes w; the product ⟨k,h⟩ fixes the weight of this barrier.
        s = max(-float(method.combined[self.d]), 1e-12 * float(method.c.sum()), 1e-300)
        self.h = s * np.concatenate(([1.0], -0.9 * k[1:] / k[0]))
        self.weight = float(k @ self.h) / mu

    def _image(self, x: np.ndarray) -> np.ndarray:
        """B x = (t, τ∘w)."""
        return np.concatenate((x[self.d : self.d + 1], self.scales * x[: self.d]))

    def pull_back(self, h: np.ndarray) -> np.ndarray:
        """Bᵀh, in the order of x."""
        out = np.zeros(self.width)
        out[: self.d], out[self.d] = self.scales * h[1:], h[0]
        return out

    def scale(self, method: InteriorPoint) -> None:
        """Compute the scaling at the current point."""
        self.width = method.x.size
        self.k = self._image(method.x)
        size_k, size_h = _size(self.k), _size(self.h)
        k, h = self.k / size_k, self.h / size_h
        gamma = np.sqrt(0.5 * (1 + float(k @ h)))
        self.v = (k + np.concatenate(([h[0]], -h[1:]))) / (2 * gamma)
        self.eta = np.sqrt(size_k / size_h)
        self.scaled = self._scale(self.h)  # λ

    def _scale(self, h: np.ndarray) -> np.ndarray:
        """W h."""
        v0, v1 = self.v[0], self.v[1:]
        inner = float(v1 @ h[1:])
        head = v0 * h[0] + inner
        tail = h[1:] + v1 * (h[0] + inner / (1 + v0))
        return self.eta * np.concatenate(([head], tail))

    def _unscale(self, k: np.ndarray) -> np.ndarray:
        """W⁻¹ k."""
        v0, v1 = self.v[0], self.v[1:]
        inner = float(v1 @ k[1:])
        head = v0 * k[0] - inner
        tail = k[1:] + v1 * (-k[0] + inner / (1 + v0))
        return np.concatenate(([head], tail)) / self.eta

    def target(self, mu: float, dx=None, dh=None) -> np.ndarray:
        """Solve λ∘y = μe − λ∘λ − (W⁻¹dk)∘(Wdh) for y."""
        right = -_product(self.scaled, self.scaled)
        right[0] += self.weight * mu
        if dx is not None:
            right -= _product(self._unscale(self._image(dx)), self._scale(dh))
        return _divide(self.scaled, right)

    def force(self, y: np.ndarray) -> np.ndarray:
        """Bᵀ(h + W⁻¹y): what the cone adds to the right-hand side."""
        return self.pull_back(self.h + self._unscale(y))

    def dual_move(self, y: np.ndarray, dx: np.ndarray) -> np.ndarray:
        """dh = W⁻¹y − W⁻²B dx."""
        return self._unscale(y - self._unscale(self._image(dx)))

    def add_curvature(self, matrix: np.ndarray) -> None:
        """Add BᵀW⁻²B in place."""
        d, weight = self.d, self.eta**-2
        head, tail = self.v[0], -self.scales * self.v[1:]
        matrix[:d, :d] += (2 * weight) * np.outer(tail, tail)
        diagonal = matrix.reshape(-1)[: d * matrix.shape[0] : matrix.shape[0] + 1]
        diagonal += weight * self.scales**2
        matrix[:d, d] += (2 * weight * head) * tail
        matrix[d, :d] += (2 * weight * head) * tail
        matrix[d, d] += weight * (2 * head * head - 1)

    def longest(self, dx: np.ndarray, dh: np.ndarray) -> float:
        """Largest step that keeps k and h inside K."""
        return min(_reach(self.k, self._image(dx)), _reach(self.h, dh))


def _size(k: np.ndarray) -> float:
    """√(k_0² − ‖k_1‖²), kept positive."""
    tail = float(np.linalg.norm(k[1:]))
    return float(np.sqrt(max((k[0] - tail) * (k[0] + tail), 1e-300)))


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Jordan product a∘b of the cone."""
    out = a[0] * b + b[0] * a
    out[0] = float(a @ b)
    return out


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve a∘y = b."""
    head = (a[0] * b[0] - float(a[1:] @ b[1:])) / max(_size(a) ** 2, 1e-300)
    return np.concatenate(([head], (b[1:] - head * a[1:]) / a[0]))


def _reach(k: np.ndarray, move: np.ndarray) -> float:
    """Largest t with k + t·move ∈ K."""
    a = move[0] ** 2 - float(move[1:] @ move[1:])
    b = k[0] * move[0] - float(k[1:] @ move[1:])
    c = _size(k) ** 2
    limits = [-k[0] / move[0]] if move[0] < 0 else []
    root = b * b - a * c
    if root >= 0:
        # Roots of at² + 2bt + c, the stable way.
        pivot = -(b + np.copysign(np.sqrt(root), b))
        limits += [pivot / a] if a else []
        limits += [c / pivot] if pivot else []
    positive = [limit for limit in limits if limit > 0]
    return min(positive, default=np.inf)


def _cholesky(matrix: np.ndarray) -> tuple[np.ndarray, bool]:
    """Factor a positive definite matrix, shifted a little if rounding asks for it."""
    shift, scale = 0.0, float(np.max(np.diagonal(matrix)))
    for _ in range(8):
        shifted = matrix + shift * np.eye(len(matrix)) if shift else matrix
        factor, info = lapack.dpotrf(shifted, lower=1)
        if info == 0:
            return factor, True
        shift = max(100 * shift, 1e-15 * scale)
    return factor, False
