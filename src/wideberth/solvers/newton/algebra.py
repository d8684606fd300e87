"""Linear algebra of second-order steps: a cone, factors, conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.limits import EPS, LITTLE, MOST_STEPS, TINY


class Cone:
    """The cone constraint k = (t, τ∘w) ∈ K with its multiplier h, in NT scaling.

    W² = η²(2vvᵀ − J) with J = diag(1, −I) makes W⁻¹k = Wh = λ. All moves are kept
    scaled: g = W⁻¹dk and y − g = Wdh, where λ∘y is what the product k∘h has to change
    by. Rows have c_i times μ as their true product; the cone has `weight` times μ.
    """

    def __init__(self, method):
        self.d, self.size = method.problem.rows.d, method.x.size
        self.scales = np.sqrt(
            np.broadcast_to(method.problem.noise.shape.squares, (self.d,)).astype(float)
        )
        k = self._image(method.x)
        # h_0 balances s, h_1 opposes w; ⟨k,h⟩ fixes the weight of this barrier.
        s = max(
            -float(method.combined[self.d]),
            EPS * float(method.xp.sum(method.c)),
            TINY,
        )
        self.h = s * np.concatenate(([1.0], (method.cone_room - 1) * k[1:] / k[0]))
        self.weight = float(k @ self.h) / method.mu

    def _image(self, x: np.ndarray) -> np.ndarray:
        """B x = (t, τ∘w)."""
        out = np.empty(self.d + 1)
        out[0] = x[self.d]
        np.multiply(self.scales, x[: self.d], out=out[1:])
        return out

    def _adjoint(self, h: np.ndarray) -> np.ndarray:
        """Bᵀh, in the order of x."""
        out = np.zeros(self.size)
        out[: self.d], out[self.d] = self.scales * h[1:], h[0]
        return out

    def scale(self, x: np.ndarray) -> None:
        """Compute the scaling at the current point."""
        k, h = self._image(x), self.h
        size_k, size_h = math.sqrt(_square(k)), math.sqrt(_square(h))
        flipped = h * (-1 / size_h)
        flipped[0] = -flipped[0]
        twice = k / size_k + flipped
        v = twice / math.sqrt(_square(twice))
        eta = math.sqrt(size_k / size_h)
        # W⁻¹ = η⁻¹ [v_0, −v_1ᵀ; −v_1, I + v_1v_1ᵀ/(1+v_0)]
        inverse = np.multiply.outer(v, v / (1 + v[0]))
        inverse[0], inverse[:, 0] = -v, -v
        inverse[0, 0] = v[0]
        inverse.reshape(-1)[self.d + 2 :: self.d + 2] += 1.0
        inverse /= eta
        self.inverse = inverse
        self.scaled = self.inverse @ k  # λ
        self.v, self.eta = v, eta

    def corrected(self, mu: float) -> np.ndarray:
        """λ + y for the corrector: λ∘(λ+y) = weight·μe + g∘(λ+g), g the predictor's."""
        right = _product(self.g, self.scaled + self.g)
        right[0] += self.weight * mu
        return _divide(self.scaled, right)

    def right_side(self, corrected: np.ndarray) -> np.ndarray:
        """Bᵀ(h + W⁻¹y), the cone's part of the right-hand side (0 in a predictor)."""
        return self._adjoint(self.inverse @ corrected)

    def move(self, dx: np.ndarray, corrected: np.ndarray | None) -> None:
        """Note the scaled moves that go with dx: g = W⁻¹B dx and W dh = y − g."""
        self.g = self.inverse @ self._image(dx)
        self.dual_g = -self.scaled - self.g
        if corrected is not None:
            self.dual_g += corrected

    def advance(self, t: float) -> np.ndarray:
        """Move h by t·dh; returns Bᵀ(h + dh)."""
        dh = self.inverse @ self.dual_g
        full = self._adjoint(self.h + dh)
        self.h = self.h + t * dh
        return full

    def thin(self) -> None:
        """The curvature is no diagonal and few rows more."""

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
        square = _square(self.scaled)
        return min(
            _longest_step(self.scaled, square, self.g),
            _longest_step(self.scaled, square, self.dual_g),
        )


def _square(k: np.ndarray) -> float:
    """k_0² − ‖k_1‖², kept positive."""
    tail = k[1:]
    norm = math.sqrt(float(tail @ tail))
    return max((float(k[0]) - norm) * (float(k[0]) + norm), TINY)


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


def _longest_step(k: np.ndarray, square: float, move: np.ndarray) -> float:
    """Largest t with k + t·move ∈ K: the least positive root of at² + 2bt + square."""
    k0, move0 = float(k[0]), float(move[0])
    a = 2 * move0 * move0 - float(move @ move)
    b = 2 * k0 * move0 - float(k @ move)
    limit = -k0 / move0 if move0 < 0 else math.inf
    root = b * b - a * square
    if not root >= 0:
        return limit
    pivot = -(b + math.copysign(math.sqrt(root), b))
    first = pivot / a if a else math.inf
    second = square / pivot if pivot else math.inf
    if first > 0:
        limit = min(limit, first)
    return min(limit, second) if second > 0 else limit


class Factor:
    """Solves Mx = r by a Cholesky factor of M."""

    def __init__(self, factor: np.ndarray):
        self.factor = factor

    @classmethod
    def of(cls, matrix: np.ndarray) -> Factor | None:
        """That of a positive definite matrix; None where rounding leaves none."""
        factor = cholesky(matrix)
        return None if factor is None else cls(factor)

    def solve(self, right: np.ndarray) -> np.ndarray:
        """x."""
        return lapack.dpotrs(self.factor, right, lower=1)[0]


class ThinFactor:
    """Solves (diag(D,Λ) + KᵀK)x = r where K has fewer rows than columns (Woodbury).

    With K = (R,G), x = (w,e) and v = Kx: (I + RD⁻¹Rᵀ)v = RD⁻¹r_w + Ge, w = D⁻¹(r_w −
    Rᵀv) and Gᵀv + Λe = r_e, where e has a few entries, for which Λ may be 0.
    """

    def __init__(self, factor, diagonal, border, K):
        d = diagonal.size
        self.factor, self.diagonal, self.border, self.K = factor, diagonal, border, K
        self.R, self.G = K[:, :d], K[:, d:]
        self.across = lapack.dpotrs(factor, self.G, lower=1)[0]
        self.small = self.G.T @ self.across + np.diag(border)

    @classmethod
    def of(cls, diagonal, border, K) -> ThinFactor | None:
        """None where rounding leaves no factor."""
        R = K[:, : diagonal.size] / np.sqrt(diagonal)
        matrix = R @ R.T
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += 1.0
        factor = cholesky(matrix)
        if factor is None:
            return None
        found = cls(factor, diagonal, border, K)
        units = np.sqrt(np.maximum(np.diagonal(found.small), TINY))  # those of e
        even = found.small / units / units[:, None]
        return found if np.linalg.cond(even) < 1 / EPS else None

    def solve(self, right: np.ndarray) -> np.ndarray:
        """x, refined once: what cancels costs digits."""
        x = self._solve(right)
        whole = np.concatenate((self.diagonal, self.border))
        return x + self._solve(right - whole * x - self.K.T @ (self.K @ x))

    def _solve(self, right: np.ndarray) -> np.ndarray:
        d = self.diagonal.size
        scaled = right[:d] / self.diagonal
        v = lapack.dpotrs(self.factor, self.R @ scaled, lower=1)[0]
        e = np.linalg.solve(self.small, right[d:] - self.G.T @ v)
        v = v + self.across @ e
        return np.concatenate((scaled - (self.R.T @ v) / self.diagonal, e))


def cholesky(matrix: np.ndarray) -> np.ndarray | None:
    """Factor a positive definite matrix, shifted a little if rounding asks for it."""
    factor, info = lapack.dpotrf(matrix, lower=1)
    largest = float(np.max(np.diagonal(matrix))) if info else 0.0
    shift = EPS * largest
    while info and shift < largest:
        factor, info = lapack.dpotrf(matrix + shift * np.eye(len(matrix)), lower=1)
        shift *= 100
    return None if info else factor


def conjugate_gradients(
    product: Callable, right: np.ndarray, scaled: Callable, longest: float = np.inf
) -> Iterator[np.ndarray]:
    """Better and better x with Mx = `right`, by products with M.

    `scaled` solves with a preconditioner, in whose norm the residual falls to `LITTLE`
    of what it was; and it is no longer than `longest` in the end, as it is.
    """
    x, residual = np.zeros_like(right), right
    near = scaled(residual)
    direction, size = near, float(residual @ near)
    goal = LITTLE**2 * size
    for _ in range(MOST_STEPS):
        image = product(direction)
        curved = float(direction @ image)
        if not curved > 0:
            return
        x = x + (size / curved) * direction
        yield x
        residual = residual - (size / curved) * image
        near = scaled(residual)
        before, size = size, float(residual @ near)
        if size <= goal and float(residual @ residual) <= longest * longest:
            return
        direction = near + (size / before) * direction
