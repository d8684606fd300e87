"""A set per sample: what error bars say about where each measurement may really be.

Sample i moves within ρ_i U_i, U_i closed, convex, bounded and symmetric. What is asked
of the sets (theory §8) is the support function r_i(w) = max_{δ∈U_i} ⟨w,δ⟩ of every
sample, and points of Σ a_i U_i that attain Σ a_i r_i(w), or nearly:

* `Ellipsoids`: a standard error e_ij for every cell, r_i(w) = √⟨e_i²,w²⟩.
* `Covariances`: a covariance S_i for every sample, r_i(w) = √(wᵀS_iw).
* `Boxes`: a tolerance ±e_ij for every cell, r_i(w) = ⟨e_i,|w|⟩.

The first two are smooth but for a kink where r_i = 0. Their δ_i is S_iw divided by a
size of at least r_i(w), which is in U_i, and inside where the size is larger.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import (
    at_least,
    concat,
    fill,
    float64,
    host,
    is_foreign,
    like,
    namespace,
    pick,
)
from wideberth.problem.limits import (
    CACHED_ENTRIES,
    DEVICE_ENTRIES,
    EPS,
    LITTLE,
    MOST_STEPS,
    TINY,
    power_of_two,
)
from wideberth.problem.rounding import accurate_sum
from wideberth.problem.rows import Passes, Rows, as_rows, gamma
from wideberth.problem.shape import ROUNDING, normals

#: Relative distance from a guess of w(α) within which it is taken: a choice; values are
#: valid wherever steps end.
_ENOUGH = 1e-3
#: Relative decrease of ‖v‖² below which steps to w(α) end: a choice. At kinks they
#: creep; 1e-3 leaves relative gaps of 1e-4 there, and 1e-6 still 1e-7.
_STALLED = 1e-9
#: Size that r_i(w) is rounded off by, relative to that of the set times ‖w‖: a choice
#: that leaves δ_i where it is but for a w that the set hardly sees.
_LEAST_SIZE = 1e-10


class ErrorBars(ABC):
    """One set for every sample."""

    name: str
    #: Whether r_i is differentiable wherever it is positive.
    smooth = True
    #: Whether the errors are kept by another library than NumPy and SciPy.
    on_device = False
    #: What shapes of noise that all samples share may be, and sets per sample are not.
    isotropic, axes, rotation_error, support_error = False, None, 0.0, 0.0

    @property
    @abstractmethod
    def n(self) -> int:
        """Samples."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Features."""

    @abstractmethod
    def supports(self, w: np.ndarray) -> np.ndarray:
        """r_i(w) of every sample."""

    def support_errors(self, w: np.ndarray) -> np.ndarray | float:
        """What rounding changes r_i(w) by, beyond `gamma(d + 8)` of it."""
        return 0.0

    @abstractmethod
    def lipschitz(self) -> np.ndarray:
        """The largest r_i(w) over ‖w‖₂ ≤ 1, or more."""

    @abstractmethod
    def pull(self, a: np.ndarray, w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_iδ_i at w, with sizes ≥ r_i(w)."""

    @property
    @abstractmethod
    def pull_rounding(self) -> float:
        """Bound on the error of `pull`, relative to Σ a_i·lipschitz_i."""

    @abstractmethod
    def gradients(self, w: np.ndarray, sizes: np.ndarray, rows=slice(None)):
        """δ_i at w of the samples `rows`, one in a row; `sizes` are theirs."""

    def inscribed(self, a: np.ndarray) -> float:
        """The radius of a Euclidean ball inside Σ a_iU_i; 0 where none is known."""
        return 0.0

    @staticmethod
    @abstractmethod
    def closest(
        pushes: Pushes,
        d: np.ndarray,
        near: np.ndarray | None,
        rough: bool = False,
        worth: float = 0.0,
    ) -> np.ndarray:
        """About the shortest v = d − Σa_iδ_i; `near` is a guess of it.

        `rough` where the next α will ask anew; `worth` is what ½‖v‖² is taken from, so
        that it tells which decreases do not matter.
        """

    @staticmethod
    @abstractmethod
    def gauge(pushes: Pushes, d: np.ndarray, most=np.inf) -> tuple[float, float]:
        """Bounds on the least t ≥ 0 with d ∈ tΣa_iU_i; rough if over `most`."""

    @abstractmethod
    def conic(self, cp, w):
        """r_i(w) as an expression of CVXPY, the module `cp`."""

    def support(self, w: np.ndarray) -> float:
        """The largest r_i(w)."""
        return float(self.supports(w).max(initial=0.0))

    def outlines(self) -> np.ndarray:
        """Points around the boundaries of U_i in two dimensions, (n, points, 2)."""
        around = [self.gradients(w, self.supports(w)) for w in normals()]
        return np.stack(around, axis=1)

    @property
    def magnitude(self) -> float:
        """The power of two next to the largest error; 1 where there is none."""
        return power_of_two(math.frexp(self.largest)[1]) if self.largest > 0 else 1.0

    def divided(self, factor: float) -> ErrorBars:
        """The sets `factor` times smaller."""
        return self if factor == 1.0 else self.scaled(1 / factor)

    @abstractmethod
    def tangents(self, z: np.ndarray, radii, w: np.ndarray, rows) -> Tangents:
        """κ_i = ρ_ir_i about w for the samples `rows`, beside their z_i."""

    @abstractmethod
    def count_with(self, passes: Passes) -> None:
        """Count reads of the errors together with those of the rows."""

    @abstractmethod
    def visited(self) -> None:
        """Count one read of all errors."""

    def blocks(self) -> Iterator[tuple[slice, Self]]:
        """Parts that a cache holds, and which rows they are; no read is counted."""
        entries = DEVICE_ENTRIES if self.on_device else CACHED_ENTRIES
        size = max(entries // max(self.d, 1), 1)
        for start in range(0, self.n, size):
            rows = slice(start, min(start + size, self.n))
            part = self.take(rows)
            part.count_with(Passes(self.n))
            yield rows, part

    def sizes(self, w: np.ndarray) -> np.ndarray:
        """Numbers of at least r_i(w), and not zero where a set is not a point."""
        least = _LEAST_SIZE * float(np.linalg.norm(w)) * self.lipschitz()
        above = namespace(least).hypot(self.supports(w), least)
        return (1 + gamma(2 * self.d + 16)) * above + self.support_errors(w)

    @abstractmethod
    def take(self, J) -> Self:
        """The sets of some samples."""

    def on_host(self) -> ErrorBars:
        """The same in NumPy, wherever they live."""
        return self

    @abstractmethod
    def scaled(self, factor: float) -> ErrorBars:
        """The sets `factor` times as large."""

    @abstractmethod
    def joined(self, other: ErrorBars) -> ErrorBars:
        """These sets, and then those."""

    @abstractmethod
    def carried(self, linear: sp.csr_array) -> ErrorBars:
        """The sets AU_i for a linear map A, with r_i(Aᵀw)."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest error of any feature of any sample."""


class SmoothBars(ErrorBars):
    """Sets with r_i(w) = √(wᵀS_iw)."""

    @staticmethod
    def closest(pushes, d, near, rough=False, worth=0.0):
        """By descent."""
        known = near is not None and bool(near.any())
        stalled = _STALLED if known and not rough else _ENOUGH
        return _descended(pushes, d, near if known else None, stalled, worth)

    @staticmethod
    def gauge(pushes, d, most=np.inf):
        """Between two bounds, which meet."""
        return _gauged(pushes, d, most)

    @abstractmethod
    def factors(self, used: np.ndarray) -> Factors:
        """F_i with S_i = F_iF_iᵀ of all samples, 0 where they are not `used`."""

    @abstractmethod
    def images(self, w: np.ndarray) -> np.ndarray:
        """S_iw, one in a row."""

    @abstractmethod
    def along(self, w: np.ndarray, u: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """⟨δ_i,u⟩ for the δ_i at w, with sizes ≥ r_i(w)."""

    @abstractmethod
    def pressure(self, a: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_i S_i/sizes_i: a matrix, or its entries where it is diagonal."""

    @abstractmethod
    def curvature(self, a, w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_i ∇²√(r_i²+ε²), where sizes are those roots."""


class Factors(ABC):
    """Matrices F_i, one for each sample."""

    @abstractmethod
    def images(self, w: np.ndarray) -> np.ndarray:
        """F_iᵀw, one in a row."""

    @abstractmethod
    def lifted(self, parts: np.ndarray) -> np.ndarray:
        """F_ip_i, one in a row."""

    @abstractmethod
    def gram(self, a: np.ndarray) -> np.ndarray:
        """Σ a_iF_iF_iᵀ."""


class Tangents(NamedTuple):
    """How ψ_i(w) = ⟨w,z_i⟩ − κ_i(w) changes over a ball about a point.

    By at most `rise` times the radius r upwards, and downwards by at most `fall` times
    it and `bend` times r².
    """

    support: np.ndarray  # κ_i at the point
    rise: np.ndarray
    fall: np.ndarray
    bend: np.ndarray


@dataclass(frozen=True)
class _PerCell(ErrorBars):
    """Errors for every cell, by a table of them (or of their squares) as rows."""

    table: Rows

    @property
    def on_device(self) -> bool:  # type: ignore[override]
        """Whether the table is kept by another library."""
        return is_foreign(self.table.X)

    @property
    def n(self) -> int:
        """Samples."""
        return self.table.n

    @property
    def d(self) -> int:
        """Features."""
        return self.table.d

    def count_with(self, passes):
        self.table.passes = passes

    def visited(self):
        self.table.passes.add(self.n)

    def on_host(self):
        return type(self)(_as_table(host(self.table.X), self.table.passes))

    def take(self, J):
        part = type(self)(self.table.take(J))
        if "_maxima" in self.__dict__:
            part.__dict__["_maxima"] = pick(self._maxima, J)
        return part

    def joined(self, other):
        X = concat([self.table.X, other.table.X])
        return type(self)(_as_table(X, self.table.passes))

    @property
    def pull_rounding(self):
        return self.table.combine_rounding + gamma(2 * self.d + 16)

    @abstractmethod
    def _totals(self, a: np.ndarray) -> np.ndarray:
        """Σ a_ie_ij of every feature."""

    def inscribed(self, a):
        """Its radius is the least Σ a_ie_ij of any feature.

        For boxes since Σ a_ir_i(w) = Σ|w_j|Σ a_ie_ij. For ellipsoids and ‖w‖ = 1 the
        root of a mean is above the mean of roots: √(Σw_j²e_ij²) ≥ Σw_j²e_ij.
        """
        return float(self._totals(a).min(initial=0.0 if not self.d else np.inf))

    def block(self, rows):
        """Some rows of the table, dense."""
        return self.table.dense(rows)

    @cached_property
    def _maxima(self) -> np.ndarray:
        X = self.table.X
        if not self.n or not self.d:
            return fill(self.table.y, self.n, 0.0)
        if is_foreign(X):
            return namespace(X).max(X, axis=1)
        return X.max(axis=1).toarray().ravel() if sp.issparse(X) else X.max(axis=1)


class Ellipsoids(_PerCell, SmoothBars):
    """Standard errors; the table holds their squares."""

    name = "ellipsoid"

    def conic(self, cp, w):
        errors = np.sqrt(self.block(slice(None)))
        row = cp.reshape(w, (1, self.d), order="C")
        return cp.norm(cp.multiply(errors, row), axis=1)

    def tangents(self, z, radii, w, rows):
        block = self.block(rows)
        reach = np.sqrt(block.max(axis=1, initial=0.0))
        sizes = np.sqrt(block @ (w * w))
        off = np.zeros(len(sizes))
        return _smooth_tangents(z, radii, block * w, sizes, reach, off)

    @classmethod
    def of(cls, errors, passes: Passes | None = None) -> Ellipsoids:
        """From a table of standard errors, dense or CSR."""
        if sp.issparse(errors):
            return cls(_as_table(errors.astype(np.float64).power(2).tocsr(), passes))
        if is_foreign(errors):
            return cls(_as_table(float64(errors) ** 2, passes))
        return cls(_as_table(np.square(errors, dtype=np.float64), passes))

    def supports(self, w):
        squares = self.table.margins(w * w)
        return namespace(squares).sqrt(squares)

    def lipschitz(self):
        return namespace(self._maxima).sqrt(self._maxima)

    def pull(self, a, w, sizes):
        return self.table.combine(_ratio(a, sizes)) * w

    def gradients(self, w, sizes, rows=slice(None)):
        block = self.block(rows)
        return block * like(w, block) * _ratio(1.0, sizes)[:, None]

    def images(self, w):
        block = self.block(slice(None))
        return block * like(w, block)

    def along(self, w, u, sizes):
        return self.table.margins(w * u) * _ratio(1.0, sizes)

    def factors(self, used):
        return _Diagonals(np.sqrt(self.block(slice(None))) * used[:, None])

    def pressure(self, a, sizes):
        return self.table.combine(_ratio(a, sizes))

    def curvature(self, a, w, sizes):
        k = _ratio(a, sizes)
        outer = self.table.curvature(_ratio(k, sizes * sizes))
        return np.diag(self.table.combine(k)) - w[:, None] * outer * w

    def _totals(self, a):
        blocks = (
            a[rows] @ np.sqrt(part.block(slice(None))) for rows, part in self.blocks()
        )
        return sum(map(host, blocks), np.zeros(self.d))

    def scaled(self, factor):
        return Ellipsoids(_as_table(self.table.X * (factor * factor)))

    def carried(self, linear):
        if keeps_apart(linear):
            return Ellipsoids(_as_table(self.table.X @ linear.multiply(linear).T))
        A = linear.toarray()
        return Covariances.of((A * self.block(slice(None))[:, None, :]) @ A.T)

    @property
    def largest(self):
        return float(np.sqrt(self._maxima.max(initial=0.0)))


class Boxes(_PerCell):
    """Tolerances; the table holds them."""

    name, smooth = "box", False

    @classmethod
    def of(cls, errors, passes: Passes | None = None) -> Boxes:
        """From a table of tolerances, dense or CSR."""
        if is_foreign(errors):
            return cls(_as_table(float64(errors), passes))
        return cls(_as_table(errors.astype(np.float64, copy=False), passes))

    def supports(self, w):
        return self.table.margins(np.abs(w))

    def lipschitz(self):
        return self.table.norms()

    def pull(self, a, w, sizes):
        return self.table.combine(a) * np.sign(w)

    def gradients(self, w, sizes, rows=slice(None)):
        return self.block(rows) * np.sign(w)

    @staticmethod
    def condensed(pushes: Pushes) -> Pushes:
        """The same sum of boxes, which is a box: one for all."""
        t = sum(bars.table.combine(a) for bars, a in pushes.parts)
        return Pushes(((Boxes.of(np.atleast_2d(t)), np.ones(1)),))

    def tangents(self, z, radii, w, rows):
        """Exact signs above; |z_i| + ρ_ie_i bounds the fall, with no bend."""
        e = radii[:, None] * self.block(rows)
        rise = np.sqrt(_squares(z - e * np.sign(w)))
        fall = np.sqrt(_squares(np.abs(z) + e))
        return Tangents(e @ np.abs(w), rise, fall, np.zeros(len(fall)))

    @staticmethod
    def gauge(pushes, d, most=np.inf):
        """The largest ratio of any feature: a sum of boxes is a box."""
        t = sum(bars.table.combine(a) for bars, a in pushes.parts)
        ratios = np.divide(np.abs(d), t, out=np.full(d.size, np.inf), where=t > 0)
        ratio = float(np.where(d == 0, 0.0, ratios).max(initial=0.0))
        return ratio, ratio

    def conic(self, cp, w):
        return self.table.X @ cp.abs(w)

    @staticmethod
    def closest(pushes, d, near, rough=False, worth=0.0):
        """A soft threshold of d."""
        t = sum(bars.table.combine(a) for bars, a in pushes.parts)
        return np.sign(d) * np.maximum(np.abs(d) - t, 0.0)

    def _totals(self, a):
        return self.table.combine(a)

    def scaled(self, factor):
        return Boxes(_as_table(self.table.X * factor))

    def carried(self, linear):
        if not keeps_apart(linear):
            raise ValueError(
                "X_err holds boxes (error_shape='box'), and a step before the "
                "classifier mixes features, which makes no box of a box. Use steps "
                "that keep features apart, such as scalers, or "
                "error_shape='ellipsoid'."
            )
        return Boxes(_as_table(self.table.X @ abs(linear).T))

    @property
    def largest(self):
        return float(self._maxima.max(initial=0.0))


@dataclass(frozen=True)
class Covariances(SmoothBars):
    """A positive semidefinite matrix for every sample.

    The sets are U_i = {F_iq : ‖q‖ ≤ 1} with S_i = F_iF_iᵀ up to rounding: r_i = ‖F_iᵀw‖
    keeps its digits where w is next to the null space of S_i, and √(wᵀS_iw) would not.
    What is proven is proven of these sets. The F_i come of correlations, so that units
    of the features do not matter: (F_iF_iᵀ)_jk is S_jk within rounding of √(S_jjS_kk).
    """

    matrices: np.ndarray  # S_i, (n, d, d)
    roots: np.ndarray  # F_i, likewise
    passes: Passes | None = None
    name = "covariance"

    @classmethod
    def of(cls, matrices: np.ndarray, passes: Passes | None = None) -> Covariances:
        """From symmetric matrices.

        Eigenvalues of their correlations that are within rounding of 0 count as 0.
        """
        scales = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        inverse = _ratio(1.0, scales)
        values, vectors = np.linalg.eigh(
            inverse[:, :, None] * matrices * inverse[:, None, :]
        )
        least = matrices.shape[1] * EPS * values[:, -1:]
        roots = np.sqrt(np.where(values > least, values, 0.0))
        roots = scales[:, :, None] * vectors * roots[:, None, :]
        return cls(matrices, roots, passes)

    def conic(self, cp, w):
        return cp.hstack([cp.norm(root.T @ w) for root in self.roots])

    def tangents(self, z, radii, w, rows):
        roots, reach = self.roots[rows], self._widths[rows]
        parts = w @ roots
        off = self._off(w, reach)
        return _smooth_tangents(
            z, radii, _lifted(roots, parts), _norms(parts), reach, off
        )

    @property
    def n(self) -> int:
        """Samples."""
        return self.matrices.shape[0]

    @property
    def d(self) -> int:
        """Features."""
        return self.matrices.shape[1]

    def _parts(self, w):
        """F_iᵀw of every sample, one in a row."""
        self.visited()
        return w @ self.roots

    def supports(self, w):
        return _norms(self._parts(w))

    def support_errors(self, w):
        return self._off(w, self._widths)

    def _off(self, w, widths):
        return gamma(2 * self.d + 16) * float(np.linalg.norm(w)) * widths

    def lipschitz(self):
        return self._widths

    @cached_property
    def _widths(self) -> np.ndarray:
        return np.sqrt(np.square(self.roots).sum(axis=(1, 2)))

    def pull(self, a, w, sizes):
        parts = _ratio(a, sizes)[:, None] * self._parts(w)
        return np.einsum("ijk,ik->j", self.roots, parts)

    @property
    def pull_rounding(self):
        return gamma(self.n + 4 * self.d + 16)

    def gradients(self, w, sizes, rows=slice(None)):
        roots = self.roots[rows]
        return _lifted(roots, (w @ roots) * _ratio(1.0, sizes)[:, None])

    def images(self, w):
        return _lifted(self.roots, self._parts(w))

    def along(self, w, u, sizes):
        return np.einsum("ij,j->i", self.images(w), u) * _ratio(1.0, sizes)

    def factors(self, used):
        return _Matrices(self.roots * used[:, None, None])

    def pressure(self, a, sizes):
        weights = _ratio(a, sizes)
        flat = self.matrices.reshape(self.n, self.d * self.d)
        return (weights @ flat).reshape(self.d, self.d)

    def curvature(self, a, w, sizes):
        images = self.images(w)
        images *= np.sqrt(_ratio(a, sizes * sizes * sizes))[:, None]
        return self.pressure(a, sizes) - images.T @ images

    def count_with(self, passes):
        object.__setattr__(self, "passes", passes)

    def visited(self):
        if self.passes is not None:
            self.passes.add(self.n)

    def take(self, J):
        return Covariances(self.matrices[J], self.roots[J], self.passes)

    def scaled(self, factor):
        square = factor * factor
        return Covariances(self.matrices * square, self.roots * factor, self.passes)

    def carried(self, linear):
        A = linear.toarray()
        return Covariances.of(A @ self.matrices @ A.T)

    def joined(self, other):
        matrices = np.concatenate((self.matrices, other.matrices))
        roots = np.concatenate((self.roots, other.roots))
        return Covariances(matrices, roots, self.passes)

    @property
    def largest(self):
        diagonals = np.diagonal(self.matrices, axis1=1, axis2=2)
        return float(np.sqrt(diagonals.max(initial=0.0)))


@dataclass(frozen=True)
class Pushes:
    """Sets of samples, each with a coefficient a_i ≥ 0: what Σ a_iκ_i is made of."""

    parts: tuple[tuple[Any, np.ndarray], ...] = ()  # of one kind of sets

    def __add__(self, other: Pushes) -> Pushes:
        parts = self.parts + other.parts
        if len(parts) < 2:
            return Pushes(parts)
        bars, a = parts[0]
        for more, b in parts[1:]:
            bars, a = bars.joined(more), concat([a, b])
        return Pushes(((bars, a),))

    def sizes(self, w: np.ndarray) -> list[np.ndarray]:
        """Numbers of at least r_i(w), and not zero where a set is not a point."""
        return [bars.sizes(w) for bars, _ in self.parts]

    def pull(self, w: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray:
        """Σ a_iδ_i at w."""
        parts = zip(self.parts, sizes, strict=True)
        return np.sum([bars.pull(a, w, own) for (bars, a), own in parts], axis=0)

    def shrunk(self, d: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray:
        """(I + Σ a_i S_i/sizes_i)⁻¹d."""
        parts = zip(self.parts, sizes, strict=True)
        pressure = sum(bars.pressure(a, own) for (bars, a), own in parts)
        if np.ndim(pressure) == 1:
            return d / (1 + pressure)
        return np.linalg.solve(np.eye(d.size) + pressure, d)

    def stretch(self, d: np.ndarray, w: np.ndarray) -> float:
        """About the t that is best for tw in ½‖w−d‖² + Σ a_ir_i(w)."""
        along = float(w @ d) - self.total(w)
        return max(along / max(float(w @ w), TINY), LITTLE)

    def newton(self, d: np.ndarray, w: np.ndarray, sizes) -> np.ndarray:
        """w after a step of Newton's method for ½‖w−d‖² + Σ a_ir_i(w)."""
        parts = zip(self.parts, sizes, strict=True)
        curvature = sum(bars.curvature(a, w, own) for (bars, a), own in parts)
        right = d - self.pull(w, sizes) - w
        return w + np.linalg.solve(np.eye(d.size) + curvature, right)

    def lifted(self, d: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray | None:
        """(Σ a_i S_i/sizes_i)⁻¹d; None where there is none."""
        parts = zip(self.parts, sizes, strict=True)
        pressure = sum(bars.pressure(a, own) for (bars, a), own in parts)
        if np.ndim(pressure) == 1:
            if np.any((pressure <= 0) & (d != 0)):
                return None
            return np.divide(d, pressure, out=np.zeros_like(d), where=pressure > 0)
        try:
            w = np.linalg.solve(pressure, d)
        except np.linalg.LinAlgError:
            return None
        off = np.linalg.norm(pressure @ w - d)
        return w if off <= ROUNDING * np.linalg.norm(d) else None

    def total(self, w: np.ndarray) -> float:
        """Σ a_i r_i(w)."""
        return sum(accurate_sum(a * bars.supports(w)) for bars, a in self.parts)

    def inscribed(self) -> float:
        """The radius of a Euclidean ball inside Σ a_iU_i; 0 where none is known."""
        return sum(bars.inscribed(a) for bars, a in self.parts)

    def error(self, w: np.ndarray) -> float:
        """What rounding changes it by, beyond that of sums of positive numbers."""
        return sum(accurate_sum(a * bars.support_errors(w)) for bars, a in self.parts)

    def reach(self) -> float:
        """Σ a_i times the largest r_i(w) over ‖w‖₂ ≤ 1."""
        return sum(float(a @ bars.lipschitz()) for bars, a in self.parts)


#: Of samples that all share one shape.
NO_PUSHES = Pushes()


def _gauged(pushes: Pushes, d: np.ndarray, most: float) -> tuple[float, float]:
    """The least t ≥ 0 with d ∈ tΣa_iU_i under smooth sets, between two bounds.

    From below by ⟨w,d⟩/Σa_ir_i(w) for any w. From above by δ_i = S_iw⁺/r_i(w), whose
    sum Σa_iδ_i is d for w⁺ = (Σa_iS_i/r_i(w))⁻¹d: they lie in tU_i for t the largest
    r_i(w⁺)/r_i(w). w⁺ is the next w; both meet where it is the last one.
    """
    if not d.any():
        return 0.0, 0.0
    error = gamma(64)  # of the few operations on sums of positive numbers
    lower, upper, w = 0.0, np.inf, d / np.linalg.norm(d)
    for _ in range(2 * MOST_STEPS):
        total = pushes.total(w)
        if total > 0:
            lower = max(lower, float(w @ d) / total * (1 - error))
        if lower > most:
            return lower, upper
        sizes = pushes.sizes(w)
        ahead = pushes.lifted(d, sizes)
        if ahead is None:  # nothing moves some feature that d has
            return lower, upper
        pairs = zip(pushes.sizes(ahead), sizes, strict=True)
        ratio = max(float(_ratio(new, old).max(initial=0.0)) for new, old in pairs)
        upper = min(upper, ratio * (1 + error))
        if upper - lower <= _ENOUGH * LITTLE * upper:
            break
        w = ahead / np.linalg.norm(ahead)
    return min(lower, upper), upper


def _smooth_tangents(z, radii, images, sizes, reach, off) -> Tangents:
    """Those of r_i = √(wᵀS_iw), `images` S_iw, `reach` the largest r_i of unit w.

    Above, ψ_i lies below its tangent plane. Below, √ lies below its own:
    r_i(w+u) ≤ r_i(w) + ⟨S_iw,u⟩/r_i(w) + uᵀS_iu/2r_i(w), and for any s ≥ r_i(w) in its
    place. `sizes` are r_i(w) up to `off`, F_iᵀw and S_iw up to that and its image.
    """
    above = sizes + off
    moves = images * _ratio(radii, above)[:, None]
    slope = np.sqrt(_squares(z - moves))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        bend = np.where(reach > 0, 0.5 * radii * reach * (reach / above), 0.0)
    bend = np.where(np.isnan(bend), np.inf, bend) * (1 + gamma(64))
    fall = slope + radii * reach * _ratio(off, above)
    return Tangents(radii * sizes, slope, fall, bend)


def _norms(rows: np.ndarray) -> np.ndarray:
    return np.sqrt(_squares(rows))


def _lifted(roots: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """F_ip_i, one in a row."""
    return np.matmul(roots, parts[:, :, None])[:, :, 0]


def _squares(rows: np.ndarray) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)


def _descended(
    pushes: Pushes, d: np.ndarray, near, stalled: float, worth: float
) -> np.ndarray:
    """About the shortest v = d − Σa_iδ_i under smooth sets (see `measured.py`).

    With the gradients at `near`, where those fit it; else by a descent, whose steps
    creep where some r_i(w) is next to 0 or the a_i are large. There a step of Newton's
    method follows, as long as it leads to a shorter v; where it does not, after twice
    as many steps.
    """
    w, best, least = d if near is None else near, d, np.inf
    sizes = pushes.sizes(w)
    if near is not None:
        best = d - pushes.pull(w, sizes)
        least = float(best @ best)
        off = best - w
        if float(off @ off) <= max(_ENOUGH**2 * least, 2 * stalled * worth):
            return best
    few = sum(a.size for _, a in pushes.parts) * d.size <= CACHED_ENTRIES
    steps, turn = 4 * MOST_STEPS if few else MOST_STEPS if near is None else 4, 2
    for step in range(steps):
        if step >= turn:
            scale = pushes.stretch(d, w)
            sizes = [scale * size for size in sizes]
        w = pushes.shrunk(d, sizes)
        ahead = pushes.sizes(w)
        both = [_larger(old, new) for old, new in zip(sizes, ahead, strict=True)]
        v, sizes = d - pushes.pull(w, both), ahead
        size, off = float(v @ v), np.inf
        if step >= turn:
            further = pushes.newton(d, w, sizes)
            there = pushes.sizes(further)
            shorter = d - pushes.pull(further, there)
            if (length := float(shorter @ shorter)) < size:
                w, sizes, v, size = further, there, shorter, length
                off = float((v - w) @ (v - w))
            else:
                turn = 2 * step
        if size < least:
            best = v
        if min(off, least - size) <= stalled * max(size, 2 * worth):
            break
        least = size
    return best


def keeps_apart(linear: sp.csr_array) -> bool:
    """Whether no feature reaches two outputs of a linear map."""
    reached = sp.csr_array(linear).astype(bool).sum(axis=0)
    return int(reached.max(initial=0)) <= 1


def _as_table(X, passes: Passes | None = None) -> Rows:
    beside = X if is_foreign(X) else np.empty(0)
    rows = as_rows(X, fill(beside, X.shape[0], 1.0))
    if passes is not None:
        rows.passes = passes
    return rows


def _larger(one, other):
    return namespace(one).maximum(one, other)


def _ratio(a, sizes: np.ndarray) -> np.ndarray:
    """a/sizes, 0 where a size is: such a set is a point as far as w can see."""
    if is_foreign(sizes):
        xp = namespace(sizes)
        return xp.where(sizes > TINY, a / at_least(TINY, sizes), 0.0)
    return np.divide(a, sizes, out=np.zeros(sizes.shape), where=sizes > TINY)


@dataclass(frozen=True)
class _Diagonals(Factors):
    """Diagonal F_i, one in a row."""

    table: np.ndarray

    def images(self, w):
        return self.table * w

    def lifted(self, parts):
        return self.table * parts

    def gram(self, a):
        return np.diag(a @ (self.table * self.table))


@dataclass(frozen=True)
class _Matrices(Factors):
    """Any F_i."""

    factors: np.ndarray

    def images(self, w):
        return w @ self.factors

    def lifted(self, parts):
        return _lifted(self.factors, parts)

    def gram(self, a):
        scaled = self.factors * np.sqrt(a)[:, None, None]
        return np.einsum("ijk,ilk->jl", scaled, scaled, optimize=True)


@dataclass(frozen=True)
class OwnNoise:
    """How far each sample may move: within ρ_i U_i, a set for each (theory §8)."""

    bars: ErrorBars
    radii: np.ndarray

    def supports(self, w: np.ndarray):
        """κ_i(w) = ρ_i r_i(w) of every sample."""
        return self.radii * self.bars.supports(w)

    def support_errors(self, w: np.ndarray):
        """What rounding changes κ_i(w) by, beyond `gamma(d + 8)` of it."""
        return self.radii * self.bars.support_errors(w)

    def lipschitz(self, n_features: int):
        """L_i of every sample: the largest κ_i(w) over ‖w‖₂ ≤ 1."""
        return self.radii * self.bars.lipschitz()

    @property
    def largest(self) -> np.ndarray:
        """L_i, how far a sample moves at most."""
        return self.lipschitz(self.bars.d)

    def total(self, alpha) -> float:
        """0: there is no shape to count Σα_iρ_i for."""
        return 0.0

    def pushes(self, weights, chosen) -> Pushes:
        """The sets of the samples `chosen` with c_iρ_i; all of them, if most are."""
        xp = namespace(weights)
        a = xp.where(chosen, weights * self.radii, 0.0)
        J = xp.nonzero(a)[0]
        if 2 * J.shape[0] > a.shape[0]:  # no copy
            return Pushes(((self.bars, a),))
        return Pushes(((self.bars.take(J), pick(a, J)),))

    def select(self, rows) -> OwnNoise:
        """The noise of some samples, by a slice or indices."""
        return OwnNoise(self.bars.take(rows), self.radii[rows])
