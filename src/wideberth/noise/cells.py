"""An error for every cell of the data: ellipsoids and boxes along the features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from wideberth.noise.covariances import Covariances
from wideberth.noise.error_bars import (
    ErrorBars,
    Factors,
    SmoothBars,
    Tangents,
    keeps_apart,
    smooth_tangents,
    squares,
)
from wideberth.noise.sets import Sets
from wideberth.noise.sums import SumOfBoxes, ratio
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
from wideberth.problem.rows import Passes, Rows, as_rows, gamma


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

    def take(self, J):
        part = type(self)(self.table.take(J))
        if "_maxima" in self.__dict__:
            part.__dict__["_maxima"] = pick(self._maxima, J)
        return part

    def restricted(self, columns):
        """The errors of some features alone."""
        return type(self)(self.table.take_columns(columns))

    def joined(self, other):
        X = concat([self.table.X, other.table.X])
        return type(self)(_as_table(X, self.table.passes))

    @property
    def pull_rounding(self):
        return self.table.combine_rounding + gamma(2 * self.d + 16)

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
        return smooth_tangents(z, radii, block * w, sizes, reach, off)

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

    def lipschitz(self, n_features):
        return namespace(self._maxima).sqrt(self._maxima)

    def pull(self, a, w, sizes):
        return self.table.combine(ratio(a, sizes)) * w

    def images(self, w):
        block = self.block(slice(None))
        return block * like(w, block)

    def by_columns(self):
        if sp.issparse(self.table.X):
            return self
        return Ellipsoids(_as_table(by_columns(self.table.X), self.table.passes))

    def along(self, w, u, sizes):
        return self.table.margins(w * u) * ratio(1.0, sizes)

    def factors(self, used):
        return _Diagonals(np.sqrt(self.block(slice(None))) * used[:, None])

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
        blocks = (
            a[rows] @ np.sqrt(part.block(slice(None))) for rows, part in self.blocks()
        )
        totals = sum(map(host, blocks), np.zeros(self.d))
        return float(totals.min(initial=np.inf)) if self.d else 0.0

    def scaled(self, factor):
        return Ellipsoids(_as_table(self.table.X * factor * factor))

    def carried(self, linear):
        if keeps_apart(linear):
            return Ellipsoids(_as_table(self.table.X @ linear.multiply(linear).T))
        A = linear.toarray()
        matrices = (A * self.block(slice(None))[:, None, :]) @ A.T
        return Covariances.of(matrices, rounded=self.d + 8)

    @property
    def largest(self):
        return float(np.sqrt(largest(self._maxima)))


@dataclass(frozen=True)
class Boxes(_PerCell):
    """Tolerances; the table holds them.

    Lopsided ones, from −e⁻ to e⁺, have half their widths in the table and both ends in
    `sides`. The set is even about its middle, `offsets`, and solvers see it there.
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

    def _with(self, table: Rows, change) -> Boxes:
        """Boxes with another table, and sides changed like it."""
        return Boxes(table, None if self.sides is None else change(self.sides))

    def take(self, J):
        part = self._with(self.table.take(J), lambda sides: sides[:, J])
        if "_maxima" in self.__dict__:
            part.__dict__["_maxima"] = pick(self._maxima, J)
        return part

    def restricted(self, columns):
        """The errors of some features alone."""
        table = self.table.take_columns(columns)
        return self._with(table, lambda sides: sides[:, :, columns])

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
        return self.block(slice(None)) * np.sign(w)

    def tangents(self, z, radii, w, rows):
        """Exact signs above; |z_i| + ρ_ie_i bounds the fall, with no bend."""
        e = radii[:, None] * self.block(rows)
        rise = np.sqrt(squares(z - e * np.sign(w)))
        fall = np.sqrt(squares(np.abs(z) + e))
        return Tangents(e @ np.abs(w), rise, fall, np.zeros(len(fall)))

    def left_out(self, w):
        return w == 0

    def sum(self, a, radii):
        a = a * radii
        size = float(a @ self.lipschitz(self.d))
        return SumOfBoxes.even(self.table.combine(a), size, self.pull_rounding)

    def penalty(self, s, n_features):
        return SumOfBoxes.penalty(s, n_features)

    def about_measurements(self, y):
        if self.sides is None:
            return self
        down, up = np.where(y[:, None] > 0, self.sides, self.sides[::-1])
        return LopsidedBoxes(down, up, self.pull_rounding)

    def conic(self, cp, w):
        return self.table.X @ cp.abs(w)

    def scaled(self, factor):
        table = _as_table(self.table.X * factor)
        return self._with(table, lambda sides: sides * factor)

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

        def carried(sides):  # what decreases with a feature changes its sides
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
class _Diagonals(Factors):
    """Diagonal F_i, one in a row."""

    table: np.ndarray

    def images(self, w):
        return self.table * w

    def lifted(self, parts):
        return self.table * parts


def _as_table(X, passes: Passes | None = None) -> Rows:
    beside = X if is_foreign(X) else np.empty(0)
    rows = as_rows(X, fill(beside, X.shape[0], 1.0))
    if passes is not None:
        rows.passes = passes
    return rows
