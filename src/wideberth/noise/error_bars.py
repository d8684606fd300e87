"""A set per sample: what error bars say about where each measurement may really be.

Sample i moves within ρ_i U_i, U_i closed, convex, bounded and symmetric. The sets
provide (theory §8) the support function r_i(w) = max_{δ∈U_i} ⟨w,δ⟩ of every sample, and
points of Σ a_i U_i that attain Σ a_i r_i(w), or nearly:

* `Ellipsoids`: a standard error e_ij for every cell, r_i(w) = √⟨e_i²,w²⟩.
* `Covariances`: a covariance S_i for every sample, r_i(w) = √(wᵀS_iw).
* `Boxes`: a tolerance ±e_ij for every cell, r_i(w) = ⟨e_i,|w|⟩.

The first two are smooth except for a kink where r_i = 0. Their δ_i is S_iw divided by a
size of at least r_i(w), which is in U_i, and inside where the size is larger.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from wideberth.noise.factors import product_residual
from wideberth.noise.sets import Sets
from wideberth.noise.sums import SumOfBoxes, SumOfEllipsoids, ratio
from wideberth.problem.arrays import (
    by_columns,
    concat,
    fill,
    float64,
    host,
    is_foreign,
    largest,
    like,
    namespace,
    pick,
)
from wideberth.problem.limits import (
    CACHED_ENTRIES,
    DEVICE_ENTRIES,
    EPS,
    TINY,
    power_of_two,
)
from wideberth.problem.rows import Passes, Rows, as_rows, gamma

#: Smoothing of r_i(w), relative to the size of the set times ‖w‖: a choice that changes
#: δ_i only where r_i(w) is nearly 0.
_LEAST_SIZE = 1e-10


class ErrorBars(Sets):
    """One set for every sample."""

    #: As far as the errors reach.
    default_radius = 1.0
    remedy = (
        "X_err holds covariances that are singular within rounding, which leaves the "
        "directions without errors open: give standard errors, lower radius, or add a "
        "small variance to their diagonals"
    )
    #: Whether the errors are kept by another library than NumPy and SciPy.
    on_device = False

    @property
    @abstractmethod
    def n(self) -> int:
        """Samples."""

    @property
    @abstractmethod
    def d(self) -> int:
        """Features."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """The largest error of any feature of any sample."""

    @abstractmethod
    def supports(self, w: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def lipschitz(self, n_features: int) -> np.ndarray: ...

    def rises(self, w: np.ndarray) -> np.ndarray:
        """max ⟨w,δ⟩ over moves δ of each measurement; r_i(w) but for lopsided boxes."""
        return self.supports(w)

    @abstractmethod
    def gradients(self, w: np.ndarray) -> np.ndarray:
        """δ_i ∈ U_i about the middle of the set with ⟨w,δ_i⟩ = r_i(w), one in a row."""

    def moves(self, w: np.ndarray) -> np.ndarray:
        return self.gradients(w)

    def unit(self, sigma, usual):
        """That of X; another one where errors are of another size."""
        if not self.largest or 1 / usual <= self.largest / sigma <= usual:
            return sigma
        return power_of_two(math.frexp(self.largest)[1])

    @abstractmethod
    def visited(self) -> None:
        """Count one read of all errors."""

    def uncounted(self, rows: slice = slice(None)) -> Self:
        """The sets of some samples, whose reads count nowhere."""
        part = self.take(rows)
        part.count_with(Passes(self.n))
        return part

    def blocks(self) -> Iterator[tuple[slice, Self]]:
        """Parts that a cache holds, and which rows they are; no read is counted."""
        entries = DEVICE_ENTRIES if self.on_device else CACHED_ENTRIES
        size = max(entries // max(self.d, 1), 1)
        for start in range(0, self.n, size):
            rows = slice(start, min(start + size, self.n))
            yield rows, self.uncounted(rows)

    @abstractmethod
    def carried(self, linear: sp.csr_array) -> ErrorBars:
        """The sets AU_i for a linear map A, with r_i(Aᵀw)."""


class SmoothBars(ErrorBars):
    """Sets with r_i(w) = √(wᵀS_iw)."""

    smooth = True

    @property
    def ellipsoids(self):
        return self

    def sum(self, a, radii):
        return SumOfEllipsoids(((self, a * radii),))

    def folded(self, a, radii):
        """With all sets if most of them are kept: then none is copied."""
        a = a * radii
        J = namespace(a).nonzero(a)[0]
        if 2 * J.shape[0] > a.shape[0]:
            return SumOfEllipsoids(((self, a),))
        return SumOfEllipsoids(((self.take(J), pick(a, J)),))

    def penalty(self, s, n_features):
        if s == 0:
            return SumOfEllipsoids()
        raise ValueError(
            f"norm_penalty={s:g} beside X_err goes with boxes (error_shape='box'), "
            "whose noise is a sum over features as it is; ellipsoids and covariances "
            "share no norm with it. Choose error_shape='box', or norm_penalty=0."
        )

    def size_errors(self, w: np.ndarray) -> np.ndarray | float:
        """What rounding changes r_i(w) by, beyond `gamma(d + 8)` of it."""
        return 0.0

    def open_errors(self, w: np.ndarray, radius: float) -> np.ndarray | float:
        """How far r_i(u) may be from that of the set as given, u within `radius` of w.

        The two are the same but for covariances, which are given as matrices S_i and
        kept as factors.
        """
        return 0.0

    def support_errors(self, w):
        return self.size_errors(w) + self.open_errors(w, 0.0)

    def sizes(self, w: np.ndarray) -> np.ndarray:
        """Numbers of at least r_i(w), and not zero where a set is not a point."""
        least = _LEAST_SIZE * float(np.linalg.norm(w)) * self.lipschitz(self.d)
        above = namespace(least).hypot(self.supports(w), least)
        return (1 + gamma(2 * self.d + 16)) * above + self.size_errors(w)

    @abstractmethod
    def pull(self, a: np.ndarray, w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_iδ_i at w, with sizes ≥ r_i(w)."""

    @property
    @abstractmethod
    def pull_rounding(self) -> float:
        """Bound on the error of `pull`, relative to Σ a_i·lipschitz_i."""

    def inscribed(self, a: np.ndarray) -> float:
        """The radius of a Euclidean ball inside Σ a_iU_i; 0 where none is known."""
        return 0.0

    def gradients(self, w):
        return self.images(w) * ratio(1.0, self.supports(w))[:, None]

    @abstractmethod
    def factors(self, used: np.ndarray) -> np.ndarray:
        """F_i with S_i = F_iF_iᵀ, 0 for samples that are not `used`.

        Of shape (n, d, d), or (n, d) where they are diagonal.
        """

    @abstractmethod
    def images(self, w: np.ndarray) -> np.ndarray:
        """S_iw, one in a row."""

    def by_columns(self) -> SmoothBars:
        """The same, laid out in memory so that images are quick."""
        return self

    @abstractmethod
    def along(self, w: np.ndarray, u: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """⟨δ_i,u⟩ for the δ_i at w, with sizes ≥ r_i(w)."""

    @abstractmethod
    def pressure(self, a: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_i S_i/sizes_i: a matrix, or its entries where it is diagonal."""

    @abstractmethod
    def curvature(self, a, w: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Σ a_i ∇²√(r_i²+ε²), where sizes are those roots."""

    def tangents(self, z, radii, w):
        some = self.uncounted()
        sizes, off = some.supports(w), some.size_errors(w)
        return smooth_tangents(
            z, radii, some.images(w), sizes, self.lipschitz(self.d), off
        )


def images_of(factors: np.ndarray, w: np.ndarray) -> np.ndarray:
    """F_iᵀw, one in a row, of `SmoothBars.factors`."""
    return factors * w if factors.ndim == 2 else w @ factors


def lifted(factors: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """F_ip_i, one in a row."""
    if factors.ndim == 2:
        return factors * parts
    return np.matmul(factors, parts[:, :, None])[:, :, 0]


class Tangents(NamedTuple):
    """How ψ_i(w) = ⟨w,z_i⟩ − κ_i(w) changes over a ball of radius r about a point.

    It rises by at most `rise`·r and falls by at most `fall`·r + `bend`·r².
    """

    support: np.ndarray  # κ_i at the point
    rise: np.ndarray
    fall: np.ndarray
    bend: np.ndarray


def smooth_tangents(z, radii, images, sizes, reach, off) -> Tangents:
    """Those of r_i = √(wᵀS_iw), `images` S_iw, `reach` the largest r_i of unit w.

    Above, ψ_i lies below its tangent plane. Below, √ lies below its own:
    r_i(w+u) ≤ r_i(w) + ⟨S_iw,u⟩/r_i(w) + uᵀS_iu/2r_i(w), and for any s ≥ r_i(w) in its
    place. `sizes` are r_i(w) up to `off`, F_iᵀw and S_iw up to that and its image.
    """
    above = sizes + off
    moves = images * ratio(radii, above)[:, None]
    slope = np.sqrt(squares(z - moves))
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        bend = np.where(reach > 0, 0.5 * radii * reach * (reach / above), 0.0)
    bend = np.where(np.isnan(bend), np.inf, bend) * (1 + gamma(64))
    fall = slope + radii * reach * ratio(off, above)
    return Tangents(radii * sizes, slope, fall, bend)


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

    def tables(self):
        return [self.table]

    def _with(self, table: Rows, change: Callable[[np.ndarray], np.ndarray]) -> Self:
        """The sets of another table; `change` does the same to arrays (2, n, d)."""
        return type(self)(table)

    def take(self, J):
        part = self._with(self.table.take(J), lambda sides: sides[:, J])
        if "_maxima" in self.__dict__:
            part.__dict__["_maxima"] = pick(self._maxima, J)
        return part

    def restricted(self, columns):
        table = self.table.take_columns(columns)
        return self._with(table, lambda sides: sides[:, :, columns])

    def joined(self, other):
        X = concat([self.table.X, other.table.X])
        return type(self)(_as_table(X, self.table.passes))

    @property
    def pull_rounding(self):
        return self.table.combine_rounding + gamma(2 * self.d + 16)

    @property
    def dense(self) -> np.ndarray:
        """The table as a dense array."""
        return self.table.dense(slice(None))

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
        errors = np.sqrt(self.dense)
        row = cp.reshape(w, (1, self.d), order="C")
        return cp.norm(cp.multiply(errors, row), axis=1)

    @classmethod
    def of(cls, errors, passes: Passes | None = None) -> Ellipsoids:
        """From a table of standard errors, dense or CSR."""
        if sp.issparse(errors):
            return cls(_as_table(errors.astype(np.float64).power(2).tocsr(), passes))
        return cls(_as_table(float64(errors) ** 2, passes))

    def supports(self, w):
        squares = self.table.margins(w * w)
        return namespace(squares).sqrt(squares)

    def lipschitz(self, n_features):
        return namespace(self._maxima).sqrt(self._maxima)

    def pull(self, a, w, sizes):
        return self.table.combine(ratio(a, sizes)) * w

    def images(self, w):
        block = self.dense
        return block * like(w, block)

    def by_columns(self):
        if sp.issparse(self.table.X):
            return self
        return Ellipsoids(_as_table(by_columns(self.table.X), self.table.passes))

    def along(self, w, u, sizes):
        return self.table.margins(w * u) * ratio(1.0, sizes)

    def factors(self, used):
        return np.sqrt(self.dense) * used[:, None]

    def pressure(self, a, sizes):
        return self.table.combine(ratio(a, sizes))

    def curvature(self, a, w, sizes):
        k = ratio(a, sizes)
        outer = self.table.curvature(ratio(k, sizes * sizes))
        return np.diag(self.table.combine(k)) - w[:, None] * outer * w

    def inscribed(self, a):
        """Its radius is the least Σ a_ie_ij of any feature.

        For ‖w‖ = 1 the root of a mean is above the mean of roots: √(Σw_j²e_ij²) ≥
        Σw_j²e_ij.
        """
        blocks = (a[rows] @ np.sqrt(part.dense) for rows, part in self.blocks())
        totals = sum(map(host, blocks), np.zeros(self.d))
        return float(totals.min(initial=np.inf)) if self.d else 0.0

    def divided(self, factor):
        return Ellipsoids(_as_table(self.table.X / factor / factor))

    def carried(self, linear):
        if keeps_apart(linear):
            return Ellipsoids(_as_table(self.table.X @ linear.multiply(linear).T))
        A = linear.toarray()
        matrices = (A * self.dense[:, None, :]) @ A.T
        return Covariances.of(matrices, rounded=self.d + 8)

    @property
    def largest(self):
        return float(np.sqrt(largest(self._maxima)))


@dataclass(frozen=True)
class Boxes(_PerCell):
    """Tolerances; the table holds them.

    Lopsided ones, from −e⁻ to e⁺, have half their widths in the table and both ends in
    `sides`. A `Problem` moves rows by `offsets` to the middles: boxes are even there.
    """

    sides: np.ndarray | None = None  # e⁻ and e⁺, (2, n, d)

    name, separable = "box", True

    @classmethod
    def of(cls, errors, passes: Passes | None = None) -> Boxes:
        """From a table of tolerances, dense or CSR."""
        if is_foreign(errors):
            return cls(_as_table(float64(errors), passes))
        return cls(_as_table(errors.astype(np.float64, copy=False), passes))

    @classmethod
    def lopsided(cls, sides: np.ndarray, passes: Passes | None = None) -> Boxes:
        """From tolerances downwards and upwards."""
        return cls(_as_table(0.5 * sides[0] + 0.5 * sides[1], passes), sides)

    @property
    def offsets(self):  # type: ignore[override]
        return None if self.sides is None else 0.5 * self.sides[1] - 0.5 * self.sides[0]

    def rises(self, w):
        if self.sides is None:
            return self.supports(w)
        down, up = self.sides
        return up @ np.maximum(w, 0.0) + down @ np.maximum(-w, 0.0)

    def moves(self, w):
        if self.sides is None:
            return super().moves(w)
        down, up = self.sides
        return np.where(w > 0, up, np.where(w < 0, -down, 0.0))

    def _with(self, table, change):
        return Boxes(table, None if self.sides is None else change(self.sides))

    def tables(self):
        ends = () if self.sides is None else self.sides
        return [self.table, *(_as_table(end, self.table.passes) for end in ends)]

    def cells(self, i, j):
        values = self.table.X[i, j]
        return float64(values.toarray() if sp.issparse(values) else values)

    def supports(self, w):
        return self.table.margins(np.abs(w))

    def lipschitz(self, n_features):
        return self.table.norms()

    def gradients(self, w):
        return self.dense * np.sign(w)

    def tangents(self, z, radii, w):
        """The slope at w bounds the rise, ‖|z_i| + ρ_ie_i‖ the fall; nothing bends."""
        e = radii[:, None] * self.dense
        rise = np.sqrt(squares(z - e * np.sign(w)))
        fall = np.sqrt(squares(np.abs(z) + e))
        return Tangents(e @ np.abs(w), rise, fall, np.zeros(len(fall)))

    def left_out(self, w):
        return w == 0

    def sum(self, a, radii):
        a = a * radii
        size, widths = float(a @ self.lipschitz(self.d)), self.table.combine(a)
        return SumOfBoxes(widths, widths, size, self.pull_rounding)

    def penalty(self, s, n_features):
        return SumOfBoxes.penalty(s, n_features)

    def about_measurements(self, y):
        if self.sides is None:
            return self
        down, up = np.where(y[:, None] > 0, self.sides, self.sides[::-1])
        return LopsidedBoxes(down, up, self.pull_rounding)

    def conic(self, cp, w):
        return self.table.X @ cp.abs(w)

    def divided(self, factor):
        return self._with(_as_table(self.table.X / factor), lambda s: s / factor)

    def carried(self, linear):
        if not keeps_apart(linear):
            raise ValueError(
                "X_err holds boxes (error_shape='box'), and a step before the "
                "classifier mixes features, which makes no box of a box. Use steps "
                "that keep features apart, such as scalers, or "
                "error_shape='ellipsoid'."
            )
        table = _as_table(self.table.X @ abs(linear).T)
        same, other = (part.maximum(0).T for part in (linear, -linear))

        def carried(sides):  # a negative factor exchanges the sides
            pairs = zip(sides, sides[::-1], strict=True)
            return np.stack([own @ same + opposite @ other for own, opposite in pairs])

        return self._with(table, carried)

    @property
    def largest(self):
        return largest(self._maxima)


@dataclass(frozen=True)
class LopsidedBoxes(Sets):
    """Boxes about the measurements, as z_i + δ moves: from −down_i to up_i.

    Solvers see boxes about their middles, which depend on the radii; this form is for
    what holds while all radii grow (`endpoints.critical_scale`).
    """

    down: np.ndarray
    up: np.ndarray
    rounding: float

    name, separable = "box", True

    def supports(self, w):
        """max ⟨−w,δ⟩: how far a margin may fall."""
        return self.down @ np.maximum(w, 0.0) + self.up @ np.maximum(-w, 0.0)

    def lipschitz(self, n_features):
        """At most both sides together."""
        return np.sqrt(squares(self.down + self.up))

    def sum(self, a, radii):
        a = a * radii
        size = float(a @ self.lipschitz(self.down.shape[1]))
        return SumOfBoxes(a @ self.down, a @ self.up, size, self.rounding)

    def penalty(self, s, n_features):
        return SumOfBoxes.penalty(s, n_features)


@dataclass(frozen=True)
class Covariances(SmoothBars):
    """A positive semidefinite matrix for every sample.

    The support function is κ_i(w) = √(wᵀS_iw). Computed is r_i(w) = ‖F_iᵀw‖ of a
    factor, S_i ≈ F_iF_iᵀ, which keeps its digits where w is next to the null space of
    S_i. How far apart they are is known, for scales t_ij ≥ √S_ijj of the features:

        |κ_i(w)² − r_i(w)²| ≤ ε_i‖t_i∘w‖²,  so  |κ_i(w) − r_i(w)| ≤ min(√ε_i‖t_i∘w‖,
        ε_i‖t_i∘w‖²/r_i(w)) ,

    and certificates count it (theory §8.3). The F_i come of correlations, so that units
    of the features do not matter.
    """

    matrices: np.ndarray  # S_i, (n, d, d)
    roots: np.ndarray  # F_i, likewise
    scales: np.ndarray  # t_i, (n, d)
    residuals: np.ndarray  # ε_i, (n,)
    #: Numbers with r_i(w)² ≥ least_i‖t_i∘w‖², 0 where S_i may be singular, (n,).
    least: np.ndarray
    passes: Passes | None = None
    name = "covariance"

    @classmethod
    def of(
        cls, matrices: np.ndarray, passes: Passes | None = None, rounded: int = 2
    ) -> Covariances:
        """From symmetric matrices, entries of which are off by γ_`rounded`√(S_jjS_kk).

        Eigenvalues of their correlations that are within rounding of 0 count as 0 in
        F_i, and in ε_i as what they are. Where S_i has negative ones beyond that, no
        set belongs to it, and the sample's is by definition that of F_i.
        """
        n, d = matrices.shape[:2]
        scales = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
        roots, residuals, least = np.empty_like(matrices), np.empty(n), np.empty(n)
        size = max(CACHED_ENTRIES // max(d * d, 1), 1)
        for rows in (slice(k, k + size) for k in range(0, n, size)):
            found = _factored(matrices[rows], scales[rows])
            roots[rows], residuals[rows], least[rows] = found
        return cls(
            matrices, roots, scales, residuals + gamma(rounded) * d, least, passes
        )

    @classmethod
    def of_factors(cls, roots: np.ndarray) -> Covariances:
        """The sets of factors F_i as given."""
        scales, none = np.sqrt(np.square(roots).sum(axis=2)), np.zeros(len(roots))
        return cls(roots @ roots.transpose(0, 2, 1), roots, scales, none, none)

    def conic(self, cp, w):
        return cp.hstack([cp.norm(root.T @ w) for root in self.roots])

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
        return np.sqrt(squares(self._parts(w)))

    def size_errors(self, w):
        return gamma(2 * self.d + 16) * float(np.linalg.norm(w)) * self._widths

    def open_errors(self, w, radius):
        if not self.residuals.any():
            return np.zeros(self.n)
        length, up = float(np.linalg.norm(w)), 1 + gamma(2 * self.d + 16)
        sizes = self.supports(w) - self.size_errors(w) - self._widths * radius
        sides = np.linalg.norm(self.scales * w, axis=1) + self._largest_scales * radius
        most = np.sqrt(self.residuals) * sides * up
        share = np.divide(most, sizes, out=np.ones(self.n), where=sizes > most)
        return np.minimum(most * share, self.axes_errors() * (length + radius)) * up

    def axes_errors(self):
        relative = np.sqrt(self.residuals)
        ratios = np.sqrt(ratio(self.residuals, self.least))
        relative *= np.where(self.least > 0, np.minimum(ratios, 1.0), 1.0)
        return relative * self._largest_scales * (1 + gamma(64))

    @cached_property
    def _largest_scales(self) -> np.ndarray:
        return self.scales.max(axis=1, initial=0.0)

    def lipschitz(self, n_features):
        return self._widths + self.axes_errors()

    @cached_property
    def _widths(self) -> np.ndarray:
        return np.sqrt(np.square(self.roots).sum(axis=(1, 2)))

    def pull(self, a, w, sizes):
        parts = ratio(a, sizes)[:, None] * self._parts(w)
        return np.einsum("ijk,ik->j", self.roots, parts)

    @property
    def pull_rounding(self):
        return gamma(self.n + 4 * self.d + 16)

    def images(self, w):
        return lifted(self.roots, self._parts(w))

    def along(self, w, u, sizes):
        return np.einsum("ij,j->i", self.images(w), u) * ratio(1.0, sizes)

    def factors(self, used):
        return self.roots * used[:, None, None]

    def pressure(self, a, sizes):
        weights = ratio(a, sizes)
        flat = self.matrices.reshape(self.n, self.d * self.d)
        return (weights @ flat).reshape(self.d, self.d)

    def curvature(self, a, w, sizes):
        images = self.images(w)
        images *= np.sqrt(ratio(a, sizes * sizes * sizes))[:, None]
        return self.pressure(a, sizes) - images.T @ images

    def count_with(self, passes):
        object.__setattr__(self, "passes", passes)

    def visited(self):
        if self.passes is not None:
            self.passes.add(self.n)

    def tables(self):
        flat = (part.reshape(self.n, -1) for part in (self.matrices, self.roots))
        return [as_rows(part, np.ones(self.n)) for part in flat]

    def _with(self, change, *others: Covariances) -> Self:
        """The sets with each array changed, together with those of others."""
        names = "matrices", "roots", "scales", "residuals", "least"
        sets = (self, *others)
        return replace(
            self, **{name: change(*(getattr(s, name) for s in sets)) for name in names}
        )

    def take(self, J):
        return self._with(lambda part: part[J])

    def joined(self, other):
        return self._with(lambda *parts: np.concatenate(parts), other)

    def divided(self, factor):
        return replace(
            self,
            matrices=self.matrices / factor / factor,  # whose square may overflow
            roots=self.roots / factor,
            scales=self.scales / factor,
        )

    def carried(self, linear):
        """From AF_i, so that no digit is lost that F_i has.

        Behind A the scales are t'_j = Σ_k|A_jk|t_ik, or more. AF_i and its products are
        off by roundings of these, and ‖t_i∘Aᵀw‖ ≤ √d‖t'∘w‖. Where a variance of AF_i
        rounds to 0, that of AS_iAᵀ need not be 0, and nothing is known of the least.
        """
        A = linear.toarray()
        found = type(self).of(Covariances.of_factors(A @ self.roots).matrices)
        scales = np.maximum(self.scales @ np.abs(A).T, found.scales)
        outputs = 1 if keeps_apart(linear) else len(A)
        unknown = np.where(scales > 0, np.inf, 0.0)
        known = found.scales > TINY
        grown = np.divide(scales, found.scales, out=unknown, where=known)
        return replace(
            found,
            scales=scales * (1 + gamma(self.d + 8)),
            residuals=found.residuals
            + gamma(2 * self.d + 16) * len(A)
            + outputs * self.residuals,
            least=found.least * ratio(1.0, np.square(grown).max(axis=1, initial=1.0)),
        )

    @property
    def largest(self):
        diagonals = np.diagonal(self.matrices, axis1=1, axis2=2)
        return float(np.sqrt(diagonals.max(initial=0.0)))


class Posteriors(Covariances):
    """What is left open about true features, as `TrueFeatures` hands it on.

    The posterior means allow for the errors already, so that no radius is needed.
    """

    default_radius = 0.0


def _factored(
    matrices: np.ndarray, scales: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """F_i, ε_i and what r_i(w)² is at least, per ‖t_i∘w‖².

    In units of powers of two, in which all variances are about 1 and no digit changes.
    """
    n, d = scales.shape
    exponents = np.frexp(scales)[1]
    units = np.where(scales > 0, np.ldexp(1.0, exponents), 0.0)
    inverse = np.where(scales > 0, np.ldexp(1.0, -exponents), 0.0)
    plain = inverse[:, :, None] * matrices * inverse[:, None, :]
    values, vectors = np.linalg.eigh(plain)
    least = d * EPS * np.maximum(values[:, -1:], 0.0)
    lengths = np.sqrt(np.where(values > least, values, 0.0))
    roots = vectors * lengths[:, None, :]
    rest, error = product_residual(plain, roots)
    beyond = np.where(values < -least, values, 0.0)
    if beyond.any():
        rest -= (vectors * beyond[:, None, :]) @ vectors.transpose(0, 2, 1)
        error = error + gamma(d + 4) * np.abs(beyond).sum(axis=1)
    shares = units * ratio(1.0, scales)  # from 1 to 2
    rest *= shares[:, :, None] * shares[:, None, :]
    residuals = np.linalg.norm(rest, axis=(1, 2)) + 4 * error
    # Eigenvalues of features that do not vary are 0, and come first.
    first = np.minimum((scales == 0).sum(axis=1), d - 1)
    smallest = values[np.arange(n), first]
    whole = (smallest > least[:, 0]) & (values[:, 0] >= -least[:, 0])
    smallest = np.where(whole, 0.5 * smallest, 0.0)  # half is more than eigh's rounding
    return units[:, :, None] * roots, residuals * (1 + gamma(64)), smallest


def _as_table(X, passes: Passes | None = None) -> Rows:
    beside = X if is_foreign(X) else np.empty(0)
    rows = as_rows(X, fill(beside, X.shape[0], 1.0))
    if passes is not None:
        rows.passes = passes
    return rows


def squares(rows: np.ndarray) -> np.ndarray:
    """Squared lengths of the rows."""
    return np.einsum("ij,ij->i", rows, rows)


def keeps_apart(linear: sp.csr_array) -> bool:
    """Whether no feature reaches two outputs of a linear map."""
    reached = sp.csr_array(linear).astype(bool).sum(axis=0)
    return int(reached.max(initial=0)) <= 1
