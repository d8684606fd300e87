"""The five products over the rows that every algorithm here is made of.

With Z the rows times their labels (z_i = y_i x_i, never materialised):

    margins(w) = Zw                      combine(a) = Zᵀa
    curvature(J, a, v) = Σ_J a_i (z_i − ρ_i v)(z_i − ρ_i v)ᵀ
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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

__all__ = ["DenseRows", "Passes", "Rows", "SparseRows", "as_rows", "gamma"]

#: Entries of a converted block: two of them stay in a core's second-level cache.
_BLOCK_ENTRIES = 1 << 16
#: Rows of a block that needs no conversion; bounds the error of `combine`.
_BLOCK_ROWS = 1 << 14


def gamma(k: float) -> float:
    """γ_k = ku/(1−ku): relative error bound of k float64 operations (u = 2⁻⁵³)."""
    ku = k * 2.0**-53
    return ku / (1 - ku)


@dataclass
class Passes:
    """Data-pass equivalents: rows touched, each product counting once, ÷ n."""

    n_rows: int
    rows_touched: int = 0

    def add(self, rows: int) -> None:
        """Count one product over `rows` rows."""
        self.rows_touched += rows

    @property
    def count(self) -> float:
        """Passes so far."""
        return self.rows_touched / max(self.n_rows, 1)


class Rows(ABC):
    """Labelled rows in memory; subclasses say how a block of them is multiplied."""

    def __init__(self, X, y: np.ndarray, passes: Passes | None = None):
        self.X = X
        self.y = y
        self.n, self.d = X.shape
        self.passes = Passes(self.n) if passes is None else passes

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Zw, in float64."""
        self.passes.add(self.n)
        out = np.empty(self.n)
        for rows, block in self._blocks():
            np.multiply(block @ w, self.y[rows], out=out[rows])
        return out

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Zᵀa, in float64."""
        self.passes.add(self.n)
        out = np.zeros(self.d)
        for rows, block in self._blocks():
            out += block.T @ (a[rows] * self.y[rows])
        return out

    def curvature(
        self, J: np.ndarray, a: np.ndarray, radii: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Σ_{i∈J} a_i (z_i − ρ_i v)(z_i − ρ_i v)ᵀ; `a` and `radii` run along J."""
        part = self.take(J)
        self.passes.add(part.n)
        gram = part._gram(a)
        weighted = a * radii
        if np.any(weighted):
            cross = part._signed_sum(weighted)
            gram -= np.outer(cross, v) + np.outer(v, cross)
            gram += (weighted @ radii) * np.outer(v, v)
        return gram

    def norms(self) -> np.ndarray:
        """‖z_i‖; computed once."""
        return self._norms

    def weighted_squares(self, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_j z_ij²: squared norms in a diagonal metric."""
        self.passes.add(self.n)
        out = np.empty(self.n)
        for rows, block in self._blocks():
            out[rows] = self._squared(block) @ weights
        return out

    @cached_property
    def _norms(self) -> np.ndarray:
        return np.sqrt(self.weighted_squares(np.ones(self.d)))

    @property
    def margin_rounding(self) -> float:
        """Bound on |fl(⟨w,z_i⟩) − ⟨w,z_i⟩| ÷ ‖w‖‖z_i‖."""
        return gamma(self.d + 2)

    @property
    def combine_rounding(self) -> float:
        """Bound on ‖fl(Zᵀa) − Zᵀa‖ ÷ Σ|a_i|‖z_i‖."""
        block = self._block_rows
        return gamma(min(block, self.n) + self.n / block + 2)

    def take(self, J: np.ndarray) -> Rows:
        """The rows J (indices or a mask), counting into the same passes."""
        part = type(self)(self.X[J], self.y[J], self.passes)
        if "_norms" in self.__dict__:
            part.__dict__["_norms"] = self._norms[J]
        return part

    @property
    @abstractmethod
    def _block_rows(self) -> int:
        """How many rows are multiplied at a time."""

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Consecutive blocks of rows as float64."""
        for start in range(0, self.n, self._block_rows):
            rows = slice(start, min(start + self._block_rows, self.n))
            yield rows, self._block(rows)

    def _signed_sum(self, a: np.ndarray) -> np.ndarray:
        return sum(
            (block.T @ (a[rows] * self.y[rows]) for rows, block in self._blocks()),
            start=np.zeros(self.d),
        )

    @abstractmethod
    def _block(self, rows: slice): ...

    @abstractmethod
    def _squared(self, block): ...

    @abstractmethod
    def _gram(self, a: np.ndarray) -> np.ndarray:
        """Σ a_i x_i x_iᵀ with a ≥ 0."""


class DenseRows(Rows):
    """Rows of a NumPy array, C or Fortran order, float32 or float64."""

    @property
    def _block_rows(self):
        if self.X.dtype == np.float64:
            return _BLOCK_ROWS
        return max(_BLOCK_ENTRIES // max(self.d, 1), 1)

    def _block(self, rows):
        return self.X[rows].astype(np.float64, copy=False)

    def _squared(self, block):
        return block * block

    def _gram(self, a):
        root = np.sqrt(a)
        gram = np.zeros((self.d, self.d))
        for rows, block in self._blocks():
            scaled = block * root[rows, None]
            gram += scaled.T @ scaled
        return gram


class SparseRows(Rows):
    """Rows of a SciPy CSR matrix, float32 or float64, int32 or int64 indices."""

    @property
    def _block_rows(self):
        return _BLOCK_ROWS

    def _block(self, rows):
        start, stop = self.X.indptr[rows.start], self.X.indptr[rows.stop]
        data = self.X.data[start:stop].astype(np.float64, copy=False)
        indptr = self.X.indptr[rows.start : rows.stop + 1] - start
        shape = (rows.stop - rows.start, self.d)
        return sp.csr_array((data, self.X.indices[start:stop], indptr), shape=shape)

    def _squared(self, block):
        return sp.csr_array((block.data**2, block.indices, block.indptr), block.shape)

    def _gram(self, a):
        gram = np.zeros((self.d, self.d))
        for rows, block in self._blocks():
            gram += (block.T @ (sp.diags_array(a[rows]) @ block)).toarray()
        return gram


def as_rows(X, y: np.ndarray) -> Rows:
    """Wrap validated data (see `_validation.check_data`) without copying it."""
    return SparseRows(X, y) if sp.issparse(X) else DenseRows(X, y)
