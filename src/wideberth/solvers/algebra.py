"""Linear algebra of second-order steps: round cones, factors, conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from wideberth.problem.limits import EPS, LITTLE, MOST_STEPS, TINY

# -- round cones K = {k : k_0 ≥ ‖k_1‖}, one in an array or one in each of its rows -----


def dots(a: np.ndarray, b: np.ndarray):
    """⟨a,b⟩, of each row."""
    return a @ b if a.ndim == 1 else np.einsum("ij,ij->i", a, b)


def _split(k: np.ndarray):
    """k_0 and k_1."""
    return (k[0], k[1:]) if k.ndim == 1 else (k[:, 0], k[:, 1:])


def _root(number):
    return math.sqrt(number) if isinstance(number, float) else np.sqrt(number)


def _at_least(least: float, number):
    return (
        max(number, least) if isinstance(number, float) else np.maximum(number, least)
    )


def _column(number):
    return number if isinstance(number, float) else number[:, None]


def determinant(k: np.ndarray):
    """k_0² − ‖k_1‖², kept positive."""
    first, rest = _split(k)
    size = _root(dots(rest, rest))
    return _at_least(TINY, (first - size) * (first + size))


def jordan_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a∘b = (⟨a,b⟩, a_0b_1 + b_0a_1)."""
    out = _column(_split(a)[0]) * b + _column(_split(b)[0]) * a
    out[..., 0] = dots(a, b)
    return out


def longest_step(k: np.ndarray, move: np.ndarray, square=None) -> float:
    """Largest t with k + t·move in all cones, 1 ÷ the fastest approach to an end.

    In the frame where k is (√det k, 0) a move (m_0, m_1) approaches by ‖m_1‖ − m_0.
    `square` is det k.
    """
    root = _root(determinant(k) if square is None else square)
    (first, rest), (lead, moved) = _split(k), _split(move)
    along = (first * lead - dots(rest, moved)) / root
    across = moved - _column((along + lead) / (first + root)) * rest
    rate = (_root(dots(across, across)) - along) / root
    fastest = float(rate if k.ndim == 1 else rate.max(initial=0.0))
    return 1 / fastest if fastest > 0 else np.inf


class Scaling:
    """The Nesterov–Todd scaling W of k and h: W⁻¹k = Wh = λ.

    W⁻² = ω(2(Jv)(Jv)ᵀ − J) with J = diag(1, −I), ω² = det h / det k, and v_0² − ‖v_1‖²
    = 1; its first entry is ωq, q = 2v_0² − 1.
    """

    def __init__(self, k: np.ndarray, h: np.ndarray):
        root_k, root_h = _root(determinant(k)), _root(determinant(h))
        even_k, even_h = k / _column(root_k), h / _column(root_h)
        size = _root(2 * (1 + _at_least(1.0, dots(even_k, even_h))))  # ≥ 1 in theory
        self.v = (even_k - even_h) / _column(size)
        self.v[..., 0] = (_split(even_k)[0] + _split(even_h)[0]) / size
        self.omega = root_h / root_k
        self.root = _column(_root(self.omega))
        self.scaled = self.inverse(k)  # λ
        self.square = determinant(self.scaled)

    def inverse(self, part: np.ndarray) -> np.ndarray:
        """W⁻¹ times a part: √ω [v_0, −v_1ᵀ; −v_1, I + v_1v_1ᵀ/(1+v_0)]."""
        (first, rest), (lead, tail) = _split(part), _split(self.v)
        along = dots(tail, rest)
        out = part + _column(along / (1 + lead) - first) * self.v
        out[..., 0] = lead * first - along
        out *= self.root
        return out

    def quotient(self, b: np.ndarray) -> np.ndarray:
        """The y with λ∘y = b."""
        a, lead = self.scaled, _split(self.scaled)[0]
        first = (2 * lead * _split(b)[0] - dots(a, b)) / self.square
        out = (b - _column(first) * a) / _column(lead)
        out[..., 0] = first
        return out


# -- Newton's matrix -------------------------------------------------------------------


@dataclass(frozen=True)
class Curvature:
    """diag(D) + Σ s_k r_kr_kᵀ, s_k = ±1, which may be all of Newton's matrix.

    `cross` couples the weights with the variable after them; `full` is added to the
    leading rows and columns, where a part is neither diagonal nor of low rank.
    """

    diagonal: np.ndarray
    rows: np.ndarray
    signs: np.ndarray
    cross: np.ndarray | None = None
    full: np.ndarray | None = None

    @classmethod
    def of(cls, diagonal: np.ndarray, rows=None, sign=1.0, **rest) -> Curvature:
        """All rows with one sign; one that is shorter than x has zeros beyond."""
        if rows is None:
            rows = np.empty((0, diagonal.size))
        return cls(diagonal, rows, np.full(len(rows), sign), **rest)

    def __add__(self, other: Curvature) -> Curvature:
        """Both; where one has fewer columns it has zeros beyond."""
        size = max(self.diagonal.size, other.diagonal.size)
        diagonal, ends = np.zeros(size), [len(self.rows), len(other.rows)]
        rows = np.zeros((sum(ends), size))
        for part, J in ((self, slice(0, ends[0])), (other, slice(ends[0], None))):
            diagonal[: part.diagonal.size] += part.diagonal
            rows[J, : part.diagonal.size] = part.rows
        full = self.full if other.full is None else other.full
        if self.full is not None and other.full is not None:
            full = np.zeros((size, size))
            for matrix in (self.full, other.full):
                full[: len(matrix), : len(matrix)] += matrix
        signs = np.concatenate((self.signs, other.signs))
        cross = self.cross if other.cross is None else other.cross
        return Curvature(diagonal, rows, signs, cross, full)

    def add_to(self, matrix: np.ndarray) -> np.ndarray:
        """Add it to a matrix of its size, in place."""
        size = len(matrix)
        matrix.reshape(-1)[:: size + 1] += self.diagonal
        if len(self.rows) == 1:
            matrix += np.multiply.outer(self.signs[0] * self.rows[0], self.rows[0])
        elif len(self.rows):
            matrix += self.rows.T @ (self.signs[:, None] * self.rows)
        if self.cross is not None:
            d = self.cross.size
            matrix[:d, d] += self.cross
            matrix[d, :d] += self.cross
        if self.full is not None:
            d = len(self.full)
            matrix[:d, :d] += self.full
        return matrix

    def product(self, x: np.ndarray) -> np.ndarray:
        """Its product with x."""
        return self.pull(x) + self.rows.T @ (self.signs * (self.rows @ x))

    def pull(self, x: np.ndarray) -> np.ndarray:
        """Its product with x but for the part of the rows."""
        out = self.diagonal * x
        if self.cross is not None:
            d = self.cross.size
            out[:d] += self.cross * x[d]
            out[d] += float(self.cross @ x[:d])
        if self.full is not None:
            d = len(self.full)
            out[:d] += self.full @ x[:d]
        return out

    def factor(self, border: int) -> Factor | ThinFactor | None:
        """What solves with it, by the smaller system; x ends with `border` few entries.

        None where rounding leaves none.
        """
        size = self.diagonal.size
        if self.full is None and len(self.rows) < size - border:
            return ThinFactor.of(self, border)
        return Factor.of(self.add_to(np.zeros((size, size))))


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
    """Solves (diag(D,Λ) + KᵀSK + B)x = r + Kᵀa with fewer rows K than columns.

    S = diag(±1), and B couples the weights w of x = (w,e) with the first of the few
    entries e, for which Λ may be 0. With K = (R,G), G' = G − RD⁻¹B and s = a − SKx
    (Woodbury's formula, in the s that is small where a is not):

        (S + RD⁻¹Rᵀ)s = Sa − RD⁻¹r_w − G'e,   w = D⁻¹(r_w + Rᵀs − Be),
        −G'ᵀs + (Λ − BᵀD⁻¹B)e = r_e − BᵀD⁻¹r_w .
    """

    def __init__(self, matrix: Curvature, border: int):
        self.matrix, self.d = matrix, matrix.diagonal.size - border
        self.diagonal, ends = matrix.diagonal[: self.d], matrix.diagonal[self.d :]
        self.R, self.G = matrix.rows[:, : self.d], matrix.rows[:, self.d :]
        even = self.R / np.sqrt(self.diagonal)
        inner = even @ even.T
        inner.reshape(-1)[:: len(inner) + 1] += matrix.signs
        self.definite = bool((matrix.signs > 0).all())
        if self.definite:
            self.inner = cholesky(inner) if len(inner) else inner
        else:
            lu, pivots, info = lapack.dgetrf(inner)
            self.inner, self.pivots = None if info else lu, pivots
        if self.inner is None:
            return
        small = np.diag(ends)
        if matrix.cross is not None:
            self.G = self.G.copy()
            self.G[:, 0] -= self.R @ (matrix.cross / self.diagonal)
            small[0, 0] -= float(matrix.cross @ (matrix.cross / self.diagonal))
        self.across = self._inner(self.G)
        self.small = self.G.T @ self.across + small

    @classmethod
    def of(cls, matrix: Curvature, border: int) -> ThinFactor | None:
        """None where rounding leaves no factor."""
        found = cls(matrix, border)
        if found.inner is None or not np.isfinite(found.small).all():
            return None
        units = np.sqrt(np.maximum(np.abs(np.diagonal(found.small)), TINY))  # of e
        even = found.small / units / units[:, None]
        sound = not border or np.linalg.cond(even) < 1 / EPS
        return found if sound else None

    def _inner(self, right: np.ndarray) -> np.ndarray:
        """(S + RD⁻¹Rᵀ)⁻¹ times vectors."""
        if not len(right):
            return right
        if self.definite:
            return lapack.dpotrs(self.inner, right, lower=1)[0]
        return lapack.dgetrs(self.inner, self.pivots, right)[0]

    def solve(self, right: np.ndarray) -> np.ndarray:
        """x without a."""
        return self.solve_rows(right, np.zeros(0))[0]

    def solve_rows(self, right: np.ndarray, a: np.ndarray):
        """x, and s of the rows of a, the first ones; refined once."""
        matrix, n = self.matrix, len(self.R)
        known = np.zeros(n)
        known[: a.size] = matrix.signs[: a.size] * a
        x, s = self._solve(right, known)
        off = right - matrix.pull(x) + matrix.rows.T @ s
        dx, ds = self._solve(off, known - matrix.rows @ x - matrix.signs * s)
        return x + dx, (s + ds)[: a.size]

    def _solve(self, right: np.ndarray, known: np.ndarray):
        cross = self.matrix.cross
        scaled, rest = right[: self.d] / self.diagonal, right[self.d :].copy()
        if cross is not None:
            rest[0] -= float(cross @ scaled)
        s = self._inner(known - self.R @ scaled)
        e = np.linalg.solve(self.small, rest + self.G.T @ s)
        s = s - self.across @ e
        pulled = self.R.T @ s
        if cross is not None:
            pulled -= cross * e[0]
        return np.concatenate((scaled + pulled / self.diagonal, e)), s


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
