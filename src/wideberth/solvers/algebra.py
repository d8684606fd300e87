"""Linear algebra of second-order steps: round cones, factors, conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.limits import EPS, LITTLE, MOST_STEPS, TINY

# -- round cones K = {k : k_0 ≥ ‖k_1‖}, one in an array or one in each of its rows ------


def dots(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """⟨a,b⟩, of each row."""
    return a @ b if a.ndim == 1 else np.einsum("ij,ij->i", a, b)


def determinant(k: np.ndarray) -> np.ndarray:
    """k_0² − ‖k_1‖², kept positive."""
    first, rest = k[..., 0], k[..., 1:]
    size = np.sqrt(dots(rest, rest))
    return np.maximum((first - size) * (first + size), TINY)


def jordan_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a∘b = (⟨a,b⟩, a_0b_1 + b_0a_1)."""
    out = a[..., :1] * b + b[..., :1] * a
    out[..., 0] = dots(a, b)
    return out


class Scaling:
    """The Nesterov–Todd scaling W of k and h: W⁻¹k = Wh = λ.

    W⁻² = ω(2(Jv)(Jv)ᵀ − J) with J = diag(1, −I), ω² = det h / det k, and v_0² − ‖v_1‖²
    = 1; its first entry is ωq, q = 2v_0² − 1.
    """

    def __init__(self, k: np.ndarray, h: np.ndarray):
        root_k, root_h = np.sqrt(determinant(k)), np.sqrt(determinant(h))
        mirrored = h * (-1 / root_h)[..., None]
        mirrored[..., 0] *= -1
        twice = k / root_k[..., None] + mirrored
        self.v = twice / np.sqrt(determinant(twice))[..., None]
        self.omega = root_h / root_k
        self.root = np.sqrt(self.omega)[..., None]
        self.scaled = self.inverse(k)  # λ
        self.square = determinant(self.scaled)

    def inverse(self, part: np.ndarray) -> np.ndarray:
        """W⁻¹ times a part: √ω [v_0, −v_1ᵀ; −v_1, I + v_1v_1ᵀ/(1+v_0)]."""
        v, first = self.v, part[..., 0]
        along = dots(v[..., 1:], part[..., 1:])
        out = part + (along / (1 + v[..., 0]) - first)[..., None] * v
        out[..., 0] = v[..., 0] * first - along
        out *= self.root
        return out

    def quotient(self, b: np.ndarray) -> np.ndarray:
        """The y with λ∘y = b."""
        a = self.scaled
        first = (2 * a[..., 0] * b[..., 0] - dots(a, b)) / self.square
        out = (b - first[..., None] * a) / a[..., :1]
        out[..., 0] = first
        return out

    def longest(self, move: np.ndarray) -> float:
        """Largest t with λ + t·move in all cones: 1 ÷ the fastest approach to one's end.

        In the frame where λ is (√det λ, 0) a move (m_0, m_1) approaches by ‖m_1‖ − m_0.
        """
        root, first, lead = np.sqrt(self.square), self.scaled[..., 0], move[..., 0]
        along = (2 * first * lead - dots(self.scaled, move)) / root
        turned = (along + lead) / (first + root)
        across = move - turned[..., None] * self.scaled
        across[..., 0] = 0.0
        rate = (np.sqrt(dots(across, across)) - along) / root
        fastest = float(rate.max(initial=0.0) if rate.ndim else rate)
        return 1 / fastest if fastest > 0 else np.inf


# -- Newton's matrix --------------------------------------------------------------------


@dataclass(frozen=True)
class Curvature:
    """diag(D) + Σ s_k r_kr_kᵀ, what a block adds to Newton's matrix.

    `cross` couples the weights with the variable after them; `full` is a matrix of the
    weights, where their part is neither diagonal nor of low rank.
    """

    diagonal: np.ndarray  # of the size of x
    rows: np.ndarray | None = None  # r_k
    signs: np.ndarray | None = None  # s_k = ±1; None where all are 1
    cross: np.ndarray | None = None
    full: np.ndarray | None = None

    def add_to(self, matrix: np.ndarray) -> None:
        """Add it in place."""
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += self.diagonal
        if self.rows is not None and len(self.rows) == 1 and self.signs is None:
            matrix += np.multiply.outer(self.rows[0], self.rows[0])
        elif self.rows is not None:
            signed = self.rows if self.signs is None else self.signs[:, None] * self.rows
            matrix += self.rows.T @ signed
        if self.cross is not None:
            d = self.cross.size
            matrix[:d, d] += self.cross
            matrix[d, :d] += self.cross
        if self.full is not None:
            d = len(self.full)
            matrix[:d, :d] += self.full


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
    """Solves (diag(D,Λ) + KᵀSK + B)x = r where K has fewer rows than columns (Woodbury).

    S = diag(±1), and B couples the weights w of x = (w,e) with the first of the few
    entries e, for which Λ may be 0. With K = (R,G), G' = G − RD⁻¹B and v = SKx:

        (S + RD⁻¹Rᵀ)v = RD⁻¹r_w + G'e,   w = D⁻¹(r_w − Rᵀv − Be),
        G'ᵀv + (Λ − BᵀD⁻¹B)e = r_e − BᵀD⁻¹r_w .
    """

    def __init__(self, diagonal, border, K, signs=None, cross=None):
        d = diagonal.size
        self.diagonal, self.border, self.K = diagonal, border, K
        self.signs, self.cross = signs, cross
        self.R, self.G = K[:, :d], K[:, d:]
        even = self.R / np.sqrt(diagonal)
        inner = even @ even.T
        inner.reshape(-1)[:: len(inner) + 1] += 1.0 if signs is None else signs
        self.definite = signs is None
        self.factor = cholesky(inner) if self.definite else None
        if not self.definite:
            *self.factor, info = lapack.dgetrf(inner)
            self.factor = None if info else self.factor
        if self.factor is None:
            return
        small = np.diag(border)
        if cross is not None:
            self.G = self.G.copy()
            self.G[:, 0] -= self.R @ (cross / diagonal)
            small[0, 0] -= float(cross @ (cross / diagonal))
        self.across = self._inner(self.G)
        self.small = self.G.T @ self.across + small

    @classmethod
    def of(cls, diagonal, border, K, signs=None, cross=None) -> ThinFactor | None:
        """None where rounding leaves no factor."""
        found = cls(diagonal, border, K, signs, cross)
        if found.factor is None or not np.isfinite(found.small).all():
            return None
        if not border.size:
            return found
        units = np.sqrt(np.maximum(np.abs(np.diagonal(found.small)), TINY))  # of e
        even = found.small / units / units[:, None]
        return found if np.linalg.cond(even) < 1 / EPS else None

    def _inner(self, right: np.ndarray) -> np.ndarray:
        """(S + RD⁻¹Rᵀ)⁻¹ times vectors."""
        if self.definite:
            return lapack.dpotrs(self.factor, right, lower=1)[0]
        return lapack.dgetrs(*self.factor, right)[0]

    def product(self, x: np.ndarray) -> np.ndarray:
        """The matrix times x."""
        image = self.K @ x
        out = np.concatenate((self.diagonal, self.border)) * x
        out += self.K.T @ (image if self.signs is None else self.signs * image)
        if self.cross is not None:
            d = self.diagonal.size
            out[:d] += self.cross * x[d]
            out[d] += float(self.cross @ x[:d])
        return out

    def solve(self, right: np.ndarray) -> np.ndarray:
        """x, refined once: what cancels costs digits."""
        x = self._solve(right)
        return x + self._solve(right - self.product(x))

    def _solve(self, right: np.ndarray) -> np.ndarray:
        d = self.diagonal.size
        scaled, rest = right[:d] / self.diagonal, right[d:].copy()
        if self.cross is not None:
            rest[0] -= float(self.cross @ scaled)
        v = self._inner(self.R @ scaled)
        e = np.linalg.solve(self.small, rest - self.G.T @ v)
        v = v + self.across @ e
        pulled = self.R.T @ v
        if self.cross is not None:
            pulled += self.cross * e[0]
        return np.concatenate((scaled - pulled / self.diagonal, e))


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
