"""Algebra of second-order steps: cones, rows, factors, conjugate gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from wideberth.problem import Problem
from wideberth.problem.arrays import host, like, namespace
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


# -- rows ------------------------------------------------------------------------------


class ExtendedRows:
    """Rows e_i = (z_i, −ρ_i, y_i), in which slacks are linear (theory §6.1).

    With x = (w, t, b) the slack of sample i is m_i − ⟨x,e_i⟩ at t = Ω(w), and at least
    that beyond. The column of −ρ_i is there only with noise that all samples share,
    that of y_i only with an intercept.

    Attributes
    ----------
    noisy : bool
        Whether t is part of x: some sample moves, or the norm is penalised.
    extras : array of shape (n, k)
        The columns beyond z_i.
    table : array of shape (n, d + k) or None
        All columns, where rows are few.
    penalty : array of shape (d + k,)
        The diagonal of Q: 1 for weights, 0 for t, λ_b for b.
    folded : array of shape (d + k,)
        Σ c_i e_i of folded samples.
    """

    def __init__(self, problem: Problem, noisy: bool | None = None):
        if noisy is None:
            moves = problem.outside.scale > 0 or namespace(problem.y).any(problem.radii)
            shared = problem.noise.proportional and bool(moves)
            noisy = shared and problem.noise.shape.lipschitz(problem.rows.d) > 0
        self.noisy = noisy
        self.adopt(problem)

    def adopt(self, problem: Problem) -> None:
        """Take over a problem; t stays part of x once it is."""
        self.problem, self.c = problem, problem.weights
        fold, d = problem.folded, problem.rows.d
        columns, penalties, folded = [], [], []
        if self.noisy:
            columns.append(-problem.radii)
            penalties.append(0.0)
            folded.append(-problem.outside.scale)
        if problem.intercept is not None:
            columns.append(problem.y)
            penalties.append(problem.intercept)
            folded.append(0.0 if fold is None else fold.balance)
        self.extras = problem.weights[:, None][:, :0]
        if columns:
            self.extras = namespace(problem.y).stack(columns, axis=1)
        self.table = problem.rows.table(self.extras)
        self.penalty = np.concatenate((np.ones(d), penalties))
        self.folded = np.concatenate((np.zeros(d) if fold is None else fold.d, folded))

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i e_i, by one product."""
        if self.table is not None:
            self.problem.rows.passes.add(self.problem.n)
            return host(self.table.T @ a)
        return np.concatenate((self.problem.rows.combine(a), host(a @ self.extras)))

    def products(self, dx: np.ndarray) -> np.ndarray:
        """⟨dx,e_i⟩, by one product."""
        if self.table is not None:
            self.problem.rows.passes.add(self.problem.n)
            return self.table @ like(dx, self.table)
        d = self.problem.rows.d
        change = self.problem.rows.margins(dx[:d])
        if dx.size > d:
            change += self.extras @ like(dx[d:], self.extras)
        return change

    def gathered(
        self, theta: np.ndarray, vectors: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, Sequence[np.ndarray]]:
        """Σ θ_i e_i e_iᵀ, and Σ θ_iv_i e_i for each of the `vectors`, by one read."""
        rows, size = self.problem.rows, self.penalty.size
        if self.table is None:
            gram = rows.curvature(theta, np.column_stack([self.extras, *vectors]))
            return np.ascontiguousarray(gram[:size, :size]), list(gram[size:, :size])
        rows.passes.add(self.problem.n)
        sums = [host(self.table.T @ (theta * vector)) for vector in vectors]
        scaled = self.table * namespace(theta).sqrt(theta)[:, None]
        return host(scaled.T @ scaled), sums

    def dense(self) -> np.ndarray:
        """The rows e_i themselves, as one array."""
        if self.table is not None:
            return self.table
        self.problem.rows.passes.add(self.problem.n)
        d, y = self.problem.rows.d, self.problem.y
        out = np.empty((self.problem.n, d + self.extras.shape[1]))
        np.multiply(self.problem.rows.dense(slice(None)), y[:, None], out=out[:, :d])
        out[:, d:] = self.extras
        return out

    def along(self, dx: np.ndarray, weigh: Callable) -> np.ndarray:
        """Σ a_i e_i with a = weigh(rows, ⟨dx,e_i⟩) for blocks of rows, by one read."""
        if self.table is not None:
            return host(self.table.T @ weigh(slice(None), self.products(dx)))
        if self.problem.n < self.problem.rows.d:  # blocks of few rows
            return self.combine(weigh(slice(None), self.products(dx)))
        d, weighed = self.problem.rows.d, np.empty(self.problem.n)
        beyond = self.extras @ dx[d:]

        def known(rows, margins):
            weighed[rows] = weigh(rows, margins + beyond[rows])
            return weighed[rows]

        combined = self.problem.rows.combine_along(dx[:d], known)
        return np.concatenate((combined, weighed @ self.extras))


# -- Newton's matrix -------------------------------------------------------------------


@dataclass(frozen=True)
class Curvature:
    """diag(D) + Σ s_k r_kr_kᵀ, s_k = ±1: a part of Newton's matrix, or all of it.

    `full` is added to that, where a part is neither diagonal nor of low rank. What is
    shorter than x has zeros beyond.
    """

    diagonal: np.ndarray
    rows: np.ndarray
    signs: np.ndarray
    full: np.ndarray | None = None

    @classmethod
    def of(
        cls, diagonal: np.ndarray, rows=None, sign=1.0, *, full=None, dense=False
    ) -> Curvature:
        """All rows with one sign; where it is `dense`, others are added to a matrix."""
        size = diagonal.size
        rows = np.empty((0, size)) if rows is None else rows
        full = np.zeros((size, size)) if dense else full
        return cls(diagonal, rows, np.full(len(rows), sign), full)

    def __iadd__(self, other: Curvature) -> Curvature:
        """The same in place where it has a matrix."""
        if self.full is None:
            return self + other
        other.add_to(self.full)
        return self

    def __add__(self, other: Curvature) -> Curvature:
        """Both; one matrix where either has one."""
        sizes = [part.diagonal.size for part in (self, other)]
        size, ends = max(sizes), [len(self.rows), len(other.rows)]
        diagonal = np.zeros(size)
        if self.full is not None or other.full is not None:
            full = other.add_to(self.add_to(np.zeros((size, size))))
            return Curvature.of(diagonal, full=full)
        rows = np.zeros((sum(ends), size))
        for part, J in ((self, slice(0, ends[0])), (other, slice(ends[0], None))):
            diagonal[: part.diagonal.size] += part.diagonal
            rows[J, : part.diagonal.size] = part.rows
        return Curvature(diagonal, rows, np.concatenate((self.signs, other.signs)))

    def add_to(self, matrix: np.ndarray) -> np.ndarray:
        """Add it to a matrix of its size or larger, in place."""
        size = self.diagonal.size
        part = matrix[:size, :size]
        matrix.reshape(-1)[: size * len(matrix) : len(matrix) + 1] += self.diagonal
        if len(self.rows) == 1:
            part += np.multiply.outer(self.signs[0] * self.rows[0], self.rows[0])
        elif len(self.rows):
            part += self.rows.T @ (self.signs[:, None] * self.rows)
        if self.full is not None:
            part += self.full
        return matrix

    def product(self, x: np.ndarray) -> np.ndarray:
        """Its product with x."""
        out = self.diagonal * x + self.rows.T @ (self.signs * (self.rows @ x))
        return out if self.full is None else out + self.full @ x

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
    """Solves (diag(D,Λ) + KᵀSK)x = r + Kᵀa with fewer rows K than columns.

    S = diag(±1), x = (w,e) with few entries e, for which Λ may be 0. With K = (R,G) and
    s = a − SKx (Woodbury's formula, in the s that is small where a is not):

        (S + RD⁻¹Rᵀ)s = Sa − RD⁻¹r_w − Ge,   w = D⁻¹(r_w + Rᵀs),   Λe − Gᵀs = r_e .
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
        if self.inner is not None:
            self.across = self._inner(self.G)
            self.small = self.G.T @ self.across + np.diag(ends)

    @classmethod
    def of(cls, matrix: Curvature, border: int) -> ThinFactor | None:
        """None where rounding leaves no factor."""
        factor = cls(matrix, border)
        if factor.inner is None or not np.isfinite(factor.small).all():
            return None
        units = np.sqrt(np.maximum(np.abs(np.diagonal(factor.small)), TINY))  # of e
        even = factor.small / units / units[:, None]
        sound = not border or np.linalg.cond(even) < 1 / EPS
        return factor if sound else None

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
        matrix, known = self.matrix, np.zeros(len(self.R))
        known[: a.size] = matrix.signs[: a.size] * a
        x, s = self._solve(right, known)
        off = right - matrix.diagonal * x + matrix.rows.T @ s
        dx, ds = self._solve(off, known - matrix.rows @ x - matrix.signs * s)
        return x + dx, (s + ds)[: a.size]

    def _solve(self, right: np.ndarray, known: np.ndarray):
        scaled = right[: self.d] / self.diagonal
        s = self._inner(known - self.R @ scaled)
        e = np.linalg.solve(self.small, right[self.d :] + self.G.T @ s)
        s = s - self.across @ e
        return np.concatenate((scaled + self.R.T @ s / self.diagonal, e)), s


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
