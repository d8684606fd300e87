"""The five products over the rows that every algorithm here is made of.

With Z the rows times their labels (z_i = y_i x_i, never materialised):

    margins(w) = Zw                      combine(a) = Zᵀa
    curvature(a, E) = Σ a_i e_i e_iᵀ, e_i = (z_i, E_i)
    norms() = ‖z_i‖                      take(J) = the rows J alone

Each is one read of the rows it touches; `Passes` counts them in data-pass equivalents
(rows touched ÷ rows of the original data), a cost that no noisy machine can blur.

Arithmetic is float64 whatever the data's precision, in blocks, so that float32 data is
never copied whole and every accumulation has a proven error bound:
`margin_rounding` = γ_d relative to ‖w‖‖z_i‖, `combine_rounding` = γ_{B+n/B} relative to
Σ|a_i|‖z_i‖, for blocks of B rows (γ_k = ku/(1−ku), u = 2⁻⁵³).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import (
    Array,
    fill,
    float64,
    host,
    is_foreign,
    like,
    namespace,
    pick,
)
from wideberth.problem.limits import (
    BLOCK_ROWS,
    CACHED_ENTRIES,
)


def gamma(k: float) -> float:
    """γ_k = ku/(1−ku): relative error bound of k float64 operations (u = 2⁻⁵³)."""
    ku = k * 2.0**-53
    return ku / (1 - ku)


@dataclass
class Passes:
    """Data-pass equivalents: rows touched, each product counting once, ÷ n.

    Products that are taken of a block while it is in the cache count as one.
    """

    n_rows: int
    rows_touched: int = 0

    def add(self, rows: int) -> None:
        """Count one product over `rows` rows."""
        self.rows_touched += rows

    @property
    def count(self) -> float:
        """Passes so far."""
        return self.rows_touched / max(self.n_rows, 1)


class Rotated(NamedTuple):
    """Rows in an orthonormal basis of their span: X̃ of shape (n, r), r ≤ n.

    They have the same inner products. `inward` takes weights of the features to that
    basis, `outward` takes weights there back.
    """

    coordinates: np.ndarray
    inward: Callable[[np.ndarray], np.ndarray]
    outward: Callable[[np.ndarray], np.ndarray]


class Rows(ABC):
    """Labelled rows in memory; subclasses say how a block of them is multiplied."""

    #: Whether a piece of them costs nothing; where it does, two products with all rows
    #: may take less time than one read for both (MNIST, sparse: two thirds).
    cut_for_free: ClassVar[bool]

    @property
    @abstractmethod
    def _few(self) -> float:
        """Share of the rows up to which gathering them is quicker than reading all."""

    def __init__(self, X, y: np.ndarray, passes: Passes | None = None):
        self.X = X
        self.y = y
        self.n, self.d = X.shape
        self.passes = Passes(self.n) if passes is None else passes
        #: Whether they are of another array library than NumPy and SciPy.
        self._foreign = not isinstance(X, np.ndarray) and is_foreign(X)

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Zw, in float64; the first time, ‖z_i‖ in the same read."""
        if not w.any():
            return fill(self.y, self.n, 0.0)
        self.passes.add(self.n)
        if "_norms" not in self.__dict__:
            return self._margins_and_norms(w)
        return self._products(w)

    def projections(self, w: np.ndarray) -> np.ndarray:
        """Zw, as `margins` has it, in a read that leaves norms to others."""
        self.passes.add(self.n)
        return self._products(w)

    def _products(self, w: np.ndarray) -> np.ndarray:
        w = like(w, self.y)
        if self._whole is not None:
            return (self._whole @ w) * self.y
        out = fill(self.y, self.n, 0.0)
        for rows, block in self._blocks():
            out[rows] = (block @ w) * self.y[rows]
        return out

    def _margins_and_norms(self, w: np.ndarray) -> np.ndarray:
        w = like(w, self.y)
        out, squares = fill(self.y, self.n, 0.0), fill(self.y, self.n, 0.0)
        for rows, block in self._batches():
            out[rows] = (block @ w) * self.y[rows]
            squares[rows] = self._row_squares(block)
        self.__dict__["_norms"] = namespace(squares).sqrt(squares)
        return out

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Zᵀa, in float64; rows with a_i = 0 are not multiplied where few are left."""
        if self._gathers and np.count_nonzero(a) < self._few * self.n:
            return self._combine_few(np.flatnonzero(a), a)
        self.passes.add(self.n)
        return self._combine_all(a * self.y)

    def _combine_all(self, a: np.ndarray) -> np.ndarray:
        """Xᵀa over all rows, block by block."""
        if self._whole is not None:
            return host(self._whole.T @ a)
        out = np.zeros(self.d)
        for rows, block in self._blocks():
            out += host(block.T @ a[rows])
        return out

    def combine_along(self, w: np.ndarray, weigh: Callable) -> np.ndarray:
        """Zᵀa with a = weigh(rows, Zw) for blocks of rows, by one read of them.

        Several a at a time are the rows of a matrix.
        """
        self.passes.add(self.n)
        out = np.zeros(self.d)
        for rows, block in self._batches():
            a = weigh(rows, (block @ w) * self.y[rows])
            out = out + (a * self.y[rows]) @ block
        return out

    @property
    def _gathers(self) -> bool:
        """Whether picking out rows may be quicker than reading them all."""
        return self.n > BLOCK_ROWS

    def _combine_few(self, J: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Σ_J a_i z_i, gathering a cache-sized batch of rows at a time."""
        self.passes.add(J.size)
        out = np.zeros(self.d)
        for start in range(0, J.size, self._batch_rows):
            batch = J[start : start + self._batch_rows]
            block = self.X[batch].astype(np.float64, copy=False)
            out += block.T @ (a[batch] * self.y[batch])
        return out

    def curvature(self, a: np.ndarray, extras: np.ndarray | None = None) -> np.ndarray:
        """Σ a_i e_i e_iᵀ with a ≥ 0 and e_i = (z_i, extras_i): k more columns, n×k."""
        self.passes.add(self.n)
        d, k = self.d, 0 if extras is None else extras.shape[1]
        gram = np.zeros((d + k, d + k))
        if extras is None or k == 0:
            self._gram(a, None, gram, None)
            return gram
        weighted = a[:, None] * extras
        gram[d:, d:] = host(weighted.T @ extras)
        weighted *= self.y[:, None]
        self._gram(a, weighted, gram[:d, :d], gram[:d, d:])
        gram[d:, :d] = gram[:d, d:].T
        return gram

    @property
    def table_fits(self) -> bool:
        """Whether they are few enough for a table of all of them."""
        return self.n * self.d <= CACHED_ENTRIES

    def table(self, extras: np.ndarray) -> np.ndarray | None:
        """All rows e_i = (z_i, extras_i) as one array, where that is small; else None.

        Then products are single calls, and calls are what small problems cost, and
        large ones on a device. ‖z_i‖ come of the same read.
        """
        if self._foreign:
            labelled = float64(self.X) * self.y[:, None]
            out = namespace(self.X).concat([labelled, extras], axis=1)
        elif not self.table_fits:
            return None
        else:
            X = self.X if isinstance(self.X, np.ndarray) else self.X.toarray()
            out = np.empty((self.n, self.d + extras.shape[1]))
            labelled = np.multiply(X, self.y[:, None], out=out[:, : self.d])
            out[:, self.d :] = extras
        if "_norms" not in self.__dict__:
            norm = namespace(labelled).linalg.vector_norm
            self.__dict__["_norms"] = norm(labelled, axis=1)
        return out

    @cached_property
    def array(self) -> np.ndarray:
        """All rows x_i as one float64 array, rows together in memory; for small data.

        A copy, unless they are stored so.
        """
        X = self.X if isinstance(self.X, np.ndarray) else self.X.toarray()
        return np.ascontiguousarray(X, dtype=np.float64)

    @cached_property
    def rotated(self) -> Rotated:
        """Coordinates of the rows in an orthonormal basis of their span; computed once.

        For more features than rows.
        """
        self.passes.add(self.n)
        return self._rotate()

    def norms(self) -> np.ndarray:
        """‖z_i‖; computed once."""
        return self._norms

    def magnitudes(self, w: np.ndarray) -> np.ndarray:
        """Σ_j |w_j x_ij|: what the rounding of a margin is a share of."""
        self.passes.add(self.n)
        out, sizes = fill(self.y, self.n, 0.0), like(np.abs(w), self.y)
        for rows, block in self._batches():
            out[rows] = abs(block) @ sizes
        return out

    def weighted_squares(self, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_j z_ij²: squared norms in a diagonal metric."""
        self.passes.add(self.n)
        out, weights = fill(self.y, self.n, 0.0), like(weights, self.y)
        for rows, block in self._blocks():
            out[rows] = self._squared(block) @ weights
        return out

    def projected_squares(self, *groups: np.ndarray) -> list[np.ndarray]:
        """Σ_k ⟨(x_i,1), direction_k⟩² for each group, a (d+1)×k array; one read."""
        self.passes.add(self.n)
        out = [fill(self.y, self.n, 0.0) for _ in groups]
        directions = like(np.hstack(groups), self.y)
        ends = np.cumsum([group.shape[1] for group in groups]).tolist()
        for rows, block in self._batches():
            image = block @ directions[:-1, :]
            image += directions[-1, :]
            for squares, start, end in zip(out, [0, *ends], ends, strict=False):
                squares[rows] = row_squares(image[:, start:end])
        return out

    @cached_property
    def _norms(self) -> np.ndarray:
        self.passes.add(self.n)
        squares = fill(self.y, self.n, 0.0)
        for rows, block in self._blocks():
            squares[rows] = self._row_squares(block)
        return namespace(squares).sqrt(squares)

    @abstractmethod
    def entries(self, J: np.ndarray | None = None) -> int:
        """Stored numbers in the rows J, or in all: what a product costs."""

    @abstractmethod
    def gram_passes(self) -> float:
        """About how many products with a vector a curvature takes the time of."""

    @property
    def margin_rounding(self) -> float:
        """Bound on |fl(⟨w,z_i⟩) − ⟨w,z_i⟩| ÷ ‖w‖‖z_i‖."""
        return gamma(self.d + 2)

    @property
    def combine_rounding(self) -> float:
        """Bound on ‖fl(Zᵀa) − Zᵀa‖ ÷ Σ|a_i|‖z_i‖."""
        sizes = self._block_rows, self._batch_rows
        return gamma(max(min(size, self.n) + self.n / size for size in sizes) + 2)

    def dense(self, rows) -> np.ndarray:
        """Some rows x_i as a float64 array."""
        part = self.X[rows, :]
        return float64(part.toarray() if sp.issparse(part) else part)

    def take(self, J) -> Rows:
        """A copy of the rows J (indices or a mask), counting into the same passes.

        A slice makes no copy, and does not count.
        """
        part = type(self)(pick(self.X, J), pick(self.y, J), self.passes)
        if not isinstance(J, slice):
            self.passes.add(part.n)
        if "_norms" in self.__dict__:
            part.__dict__["_norms"] = pick(self._norms, J)
        return part

    def with_labels(self, y: np.ndarray) -> Rows:
        """The same rows under other labels, counting passes of their own.

        What was computed of X alone is theirs too; `look_ahead` computes it.
        """
        rows = copy(self)
        rows.y, rows.passes = y, Passes(self.passes.n_rows)
        return rows

    def look_ahead(self) -> None:
        """Compute now, once for all labels, what solvers ask about X itself."""
        self.norms()

    def take_columns(self, columns: np.ndarray) -> Rows:
        """A copy of some features of all rows, counting into the same passes."""
        self.passes.add(self.n)
        if isinstance(self.X, np.ndarray):  # with rows together in memory
            X = np.take(self.X, columns, axis=1)
        else:
            X = self.X[:, columns]
        return type(self)(X, self.y, self.passes)

    @cached_property
    def _whole(self):
        """All rows as one float64 block, where they are one already."""
        fits = self.X.dtype == namespace(self.y).float64 and self.n <= self._block_rows
        return self.X if fits else None

    @property
    def _batch_rows(self) -> int:
        """Rows whose float64 copy stays in cache."""
        return max(CACHED_ENTRIES // max(self.d, 1), 1)

    @property
    @abstractmethod
    def _block_rows(self) -> int:
        """How many rows are multiplied at a time."""

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Consecutive blocks of rows as float64."""
        return self._pieces(self._block_rows)

    def _batches(self) -> Iterator[tuple[slice, Array]]:
        """Consecutive pieces of rows as float64, small enough to stay in cache."""
        return self._pieces(self._batch_rows)

    def _pieces(self, size: int) -> Iterator[tuple[slice, Array]]:
        for start in range(0, self.n, size):
            rows = slice(start, min(start + size, self.n))
            yield rows, self._block(rows)

    @abstractmethod
    def _block(self, rows: slice): ...

    @abstractmethod
    def _squared(self, block): ...

    def _row_squares(self, block) -> np.ndarray:
        return self._squared(block) @ np.ones(self.d)

    @abstractmethod
    def _rotate(self): ...

    @abstractmethod
    def _gram(self, a: np.ndarray, E, gram: np.ndarray, cross) -> None:
        """Add Σ a_i x_i x_iᵀ (a ≥ 0) to `gram` and XᵀE to `cross`, in one read."""


def row_squares(block):
    """‖row‖² of every row."""
    if isinstance(block, np.ndarray):
        return np.einsum("ij,ij->i", block, block)
    return namespace(block).linalg.vector_norm(block, axis=1) ** 2
