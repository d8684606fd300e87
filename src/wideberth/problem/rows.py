"""The products over the rows that every algorithm here is made of.

With Z the rows times their labels (z_i = y_i x_i, never materialised):

    margins(w) = Zw                      combine(a) = Zᵀa
    curvature(a, E) = Σ a_i e_i e_iᵀ, e_i = (z_i, E_i)
    norms() = ‖z_i‖                      take(J) = the rows J alone

Each is one read of the rows it touches; `Passes` counts them in data-pass equivalents
(rows touched ÷ rows of the original data), a cost that does not depend on the machine.

`DenseRows` hold an array of NumPy or of another library, `SparseRows` a CSR matrix.
Arithmetic is float64 whatever the data's precision, in blocks, so that float32 data is
never copied whole and every sum over rows has a proven error bound:
`margin_rounding` = γ_d relative to ‖w‖‖z_i‖, `combine_rounding` = γ_{B+n/B} relative to
Σ|a_i|‖z_i‖, for blocks of B rows (γ_k = ku/(1−ku), u = 2⁻⁵³).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from wideberth.kernels.sparse import add_gram, combine, less_values
from wideberth.problem.arrays import (
    Array,
    doubles,
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
    DEVICE_ENTRIES,
    EPS,
    FEW_FEATURES,
    MOSTLY_ZERO,
    QUICK_GRAM,
)

#: Number of rows, spread over the data, in which common values are looked for: a
#: choice. What more than half of all rows hold, about half of these hold too.
_PROBED = 1000
#: Number of entries read in order in the time that it takes to find a row somewhere in
#: a table (0.03 of 600 000×10 rows, 0.14 of 110 000×54 and 0.4 of 20 000×300 take as
#: long as all of them, one thread).
_GATHERED = 300
#: Time of a multiplication in a product with a vector, which waits for memory, ÷ that
#: in a dense product of matrices.
BLAS_SPEEDUP = 10.0


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


class Rows(ABC):
    """Labelled rows in memory; subclasses say how a block of them is multiplied."""

    #: Whether a block of them costs nothing; if not, two products with all rows take
    #: less time than `combine_along`, although they are two reads.
    cut_for_free: ClassVar[bool]

    def __init__(self, X, y: np.ndarray, passes: Passes | None = None):
        self.X = X
        self.y = y
        self.n, self.d = X.shape
        self.passes = Passes(self.n) if passes is None else passes
        #: Whether they are of another array library than NumPy and SciPy.
        self._foreign = not isinstance(X, np.ndarray) and is_foreign(X)
        self._norms: np.ndarray | None = None

    # -- products with a vector ----------------------------------------------------

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Zw, in float64; the first call computes ‖z_i‖ in the same read."""
        if not w.any():
            return fill(self.y, self.n, 0.0)
        self.passes.add(self.n)
        w = like(w, self.y)
        if self._norms is None:
            out, squares = fill(self.y, self.n, 0.0), fill(self.y, self.n, 0.0)
            for rows, block in self._batches():
                out[rows] = block @ w
                squares[rows] = self._row_squares(block)
            self._norms = namespace(squares).sqrt(squares)
            return out * self.y
        if self.X.dtype == namespace(self.y).float64:
            return (self.X @ w) * self.y
        return self._per_row(self._blocks(), lambda block: block @ w) * self.y

    def combine(self, a: np.ndarray) -> np.ndarray:
        """Zᵀa, in float64; only the rows with a_i ≠ 0 are read where these are few."""
        if self._gathers and np.count_nonzero(a) < self._few * self.n:
            return self._combine_few(np.flatnonzero(a), a)
        self.passes.add(self.n)
        return self._combine_all(a * self.y)

    def _combine_all(self, a: np.ndarray) -> np.ndarray:
        """Xᵀa over all rows, block by block."""
        out = np.zeros(self.d)
        for rows, block in self._blocks():
            out += host(block.T @ a[rows])
        return out

    def _combine_few(self, J: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Σ_J a_i z_i, gathering a cache-sized batch of rows at a time."""
        self.passes.add(J.size)
        out = np.zeros(self.d)
        for start in range(0, J.size, self._batch_rows):
            batch = J[start : start + self._batch_rows]
            block = self.X[batch].astype(np.float64, copy=False)
            out += block.T @ (a[batch] * self.y[batch])
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

    # -- products with a matrix, squares -------------------------------------------

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

    def norms(self) -> np.ndarray:
        """‖z_i‖; computed once."""
        if self._norms is None:
            self.passes.add(self.n)
            squares = self._per_row(self._blocks(), self._row_squares)
            self._norms = namespace(squares).sqrt(squares)
        return self._norms

    def know_norms(self, norms: np.ndarray | None) -> None:
        """Take over ‖z_i‖ that were computed before, if they were."""
        self._norms = norms

    def magnitudes(self, w: np.ndarray) -> np.ndarray:
        """Σ_j |w_j x_ij|, which the rounding of a margin is relative to."""
        self.passes.add(self.n)
        sizes = like(np.abs(w), self.y)
        return self._per_row(self._batches(), lambda block: abs(block) @ sizes)

    def weighted_squares(self, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_j z_ij²: squared norms in a diagonal metric."""
        self.passes.add(self.n)
        weights = like(weights, self.y)
        return self._per_row(
            self._blocks(), lambda block: self._row_squares(block, weights)
        )

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

    # -- the rows themselves -------------------------------------------------------

    @property
    def table_fits(self) -> bool:
        """Whether they are few enough for a table of all of them."""
        return self.n * self.d <= CACHED_ENTRIES

    def table(self, extras: np.ndarray) -> np.ndarray | None:
        """All rows e_i = (z_i, extras_i) as one array; None where that is not small.

        Products are then single calls, and calls are most of the cost of small problems
        and of large ones on a device. ‖z_i‖ are computed in the same read.
        """
        if self._foreign:
            labelled = float64(self.X) * self.y[:, None]
            out = namespace(self.X).concat([labelled, extras], axis=1)
        elif not self.table_fits:
            return None
        else:
            out = np.empty((self.n, self.d + extras.shape[1]))
            labelled = out[:, : self.d]
            np.multiply(host(self.X), self.y[:, None], out=labelled)
            out[:, self.d :] = extras
        if self._norms is None:
            self._norms = namespace(labelled).linalg.vector_norm(labelled, axis=1)
        return out

    @cached_property
    def array(self) -> np.ndarray:
        """All rows x_i as one float64 array, row after row in memory; for small data.

        A copy, unless they are stored so.
        """
        return np.ascontiguousarray(host(self.X), dtype=np.float64)

    def dense(self, rows) -> np.ndarray:
        """Some rows x_i as a float64 array."""
        part = self.X[rows, :]
        return float64(part.toarray() if sp.issparse(part) else part)

    @cached_property
    def rotated(self) -> tuple[np.ndarray, np.ndarray | LinearOperator]:
        """Coordinates X̃ of the rows in an orthonormal basis B of their span: X = X̃Bᵀ.

        For more features than rows: X̃ has shape (n, r), r ≤ n. The basis, of shape
        (d, r), is an array or a linear operator. Computed once.
        """
        self.passes.add(self.n)
        return self._rotate()

    def take(self, J) -> Rows:
        """A copy of the rows J (indices or a mask), counting into the same passes.

        A slice makes no copy, and does not count.
        """
        part = type(self)(pick(self.X, J), pick(self.y, J), self.passes)
        if not isinstance(J, slice):
            self.passes.add(part.n)
        if self._norms is not None:
            part._norms = pick(self._norms, J)
        return part

    def take_columns(self, columns: np.ndarray) -> Rows:
        """A copy of some features of all rows, counting into the same passes."""
        self.passes.add(self.n)
        if isinstance(self.X, np.ndarray):  # with rows together in memory
            X = np.take(self.X, columns, axis=1)
        else:
            X = self.X[:, columns]
        return type(self)(X, self.y, self.passes)

    def with_labels(self, y: np.ndarray) -> Rows:
        """The same rows under other labels, with a new count of passes.

        Whatever was computed of X alone is kept; `look_ahead` computes it.
        """
        rows = copy(self)
        rows.y, rows.passes = y, Passes(self.passes.n_rows)
        return rows

    def look_ahead(self) -> None:
        """Compute now, once for all labels, what solvers ask about X itself."""
        self.norms()

    # -- costs and bounds on rounding ----------------------------------------------

    @abstractmethod
    def entries(self, J: np.ndarray | None = None) -> int:
        """Stored numbers in the rows J, or in all: what a product costs."""

    @abstractmethod
    def gram_passes(self) -> float:
        """Time of a curvature ÷ time of a product with a vector, roughly."""

    @property
    def margin_rounding(self) -> float:
        """Bound on |fl(⟨w,z_i⟩) − ⟨w,z_i⟩| ÷ ‖w‖‖z_i‖."""
        return gamma(self.d + 2)

    @property
    def combine_rounding(self) -> float:
        """Bound on ‖fl(Zᵀa) − Zᵀa‖ ÷ Σ|a_i|‖z_i‖."""
        sizes = self._block_rows, self._batch_rows
        return gamma(max(min(size, self.n) + self.n / size for size in sizes) + 2)

    # -- blocks --------------------------------------------------------------------

    @property
    @abstractmethod
    def _few(self) -> float:
        """Share of the rows up to which gathering them is quicker than reading all."""

    @property
    def _gathers(self) -> bool:
        """Whether picking out rows may be quicker than reading them all."""
        return not self._foreign and self.n > BLOCK_ROWS

    @property
    @abstractmethod
    def _block_rows(self) -> int:
        """Number of rows in a block: what products with a vector take at a time."""

    @property
    def _dense_rows(self) -> int:
        """Number of rows whose dense float64 copy stays in cache, or fits a device."""
        entries = DEVICE_ENTRIES if self._foreign else CACHED_ENTRIES
        return max(entries // max(self.d, 1), 1)

    @property
    def _batch_rows(self) -> int:
        """Number of rows in a batch, whose float64 copy stays in cache."""
        return self._dense_rows

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Consecutive blocks of rows as float64."""
        return self._pieces(self._block_rows)

    def _batches(self) -> Iterator[tuple[slice, Array]]:
        """Consecutive batches of rows as float64, small enough to stay in cache."""
        return self._pieces(self._batch_rows)

    def _slices(self, size: int) -> Iterator[slice]:
        for start in range(0, self.n, size):
            yield slice(start, min(start + size, self.n))

    def _pieces(self, size: int) -> Iterator[tuple[slice, Array]]:
        for rows in self._slices(size):
            yield rows, self._block(rows)

    def _per_row(self, pieces: Iterator[tuple[slice, Array]], function: Callable):
        """A number for every row, by a function of the blocks."""
        out = fill(self.y, self.n, 0.0)
        for rows, block in pieces:
            out[rows] = function(block)
        return out

    @abstractmethod
    def _block(self, rows: slice):
        """Some rows as a float64 matrix."""

    @abstractmethod
    def _row_squares(self, block, weights=None):
        """Σ_j weights_j x_ij² of every row of a block; ‖x_i‖² without weights."""

    @abstractmethod
    def _rotate(self) -> tuple[np.ndarray, np.ndarray | LinearOperator]: ...

    def _gram(self, a: np.ndarray, E, gram: np.ndarray, cross) -> None:
        """Add Σ a_i x_i x_iᵀ (a ≥ 0) to `gram` and XᵀE to `cross`, in one read.

        By products of dense batches.
        """
        root, size = namespace(a).sqrt(a), max(min(self._dense_rows, self.n), 1)
        buffer = None if self._foreign else np.empty((size, self.d))
        for rows, block in self._pieces(size):
            if buffer is None:
                scaled = block * root[rows, None]
            else:
                block, scaled = host(block), buffer[: block.shape[0]]
                np.multiply(block, root[rows, None], out=scaled)
            gram += host(scaled.T @ scaled)
            if E is not None:
                cross += host(block.T @ E[rows, :])


class DenseRows(Rows):
    """Rows of a dense array of any library, float32 or float64."""

    cut_for_free = True

    @property
    def _block_rows(self):
        if self.X.dtype == namespace(self.X).float64:
            return self.n if self._foreign else BLOCK_ROWS
        return self._batch_rows

    @property
    def _few(self):
        return self.d / (_GATHERED + 2 * self.d)

    def _pieces(self, size):
        if self._foreign or self.X.dtype == np.float64:
            yield from super()._pieces(size)
            return
        # One buffer for all conversions: fresh memory costs more than the copy.
        buffer = np.empty((min(size, self.n), self.d))
        for rows in self._slices(size):
            block = buffer[: rows.stop - rows.start]
            block[...] = self.X[rows]
            yield rows, block

    def entries(self, J=None):
        return self.d * (self.n if J is None else len(J))

    def gram_passes(self):
        return self.d / BLAS_SPEEDUP

    def _block(self, rows):
        X = self.X if self._converted is None else self._converted
        return float64(X[rows, :])

    @cached_property
    def _converted(self):
        """Rows on a device in float64, once for all products; None if they are many.

        A chunk has at most two blocks, and is freed when its question is answered.
        """
        fits = self._foreign and self.n * self.d <= 2 * DEVICE_ENTRIES
        return float64(self.X) if fits else None

    def _combine_all(self, a):
        if self.n <= BLOCK_ROWS and not self._foreign and self.X.dtype == np.float64:
            return self.X.T @ a  # one block
        return super()._combine_all(a)

    def _row_squares(self, block, weights=None):
        return row_squares(block) if weights is None else (block * block) @ weights

    def _rotate(self):
        basis, coordinates = np.linalg.qr(self.X.T.astype(np.float64, copy=False))
        return np.ascontiguousarray(coordinates.T), basis


class SparseRows(Rows):
    """Rows of a SciPy CSR matrix, float32 or float64, int32 or int64 indices."""

    cut_for_free = False
    _few = 0.1

    @property
    def _block_rows(self):
        return BLOCK_ROWS

    @cached_property
    def _batch_rows(self):
        return max(self.n * CACHED_ENTRIES // max(self.entries(), 1), 1)

    def entries(self, J=None):
        if J is None:
            return int(self.X.indptr[-1] - self.X.indptr[0])
        return int((self.X.indptr[J + 1] - self.X.indptr[J]).sum())

    def _block(self, rows):
        # It shares their memory, which the constructor of SciPy would copy.
        block = sp.csr_array((rows.stop - rows.start, self.d))
        ends = self.X.indptr[rows.start : rows.stop + 1]
        block.data = self.X.data[ends[0] : ends[-1]].astype(np.float64, copy=False)
        block.indices = self.X.indices[ends[0] : ends[-1]]
        block.indptr = ends - ends[0]
        return block

    def look_ahead(self):
        super().look_ahead()
        _ = self._pairs

    def _combine_all(self, a):
        return combine(self.X, doubles(a), self._block_rows)

    def _row_squares(self, block, weights=None):
        squares = sp.csr_array(
            (block.data**2, block.indices, block.indptr), block.shape
        )
        return squares @ (np.ones(self.d) if weights is None else weights)

    def _rotate(self):
        X = self.X.astype(np.float64)
        values, vectors = np.linalg.eigh((X @ X.T).toarray())
        kept = values > self.n * EPS * values[-1]
        scales, vectors = np.sqrt(values[kept]), vectors[:, kept]
        basis = aslinearoperator(X.T) @ aslinearoperator(vectors / scales)
        return vectors * scales, basis

    @cached_property
    def _common(self) -> CommonValues | None:
        """Common values, which Gram matrices are computed without."""
        return CommonValues.of(self.X)

    @cached_property
    def _sparser(self) -> sp.csr_array:
        """S, the rows less their common values."""
        if self._common is None:
            return self.X
        return less_values(self.X, self._common.values)

    @cached_property
    def _pairs(self) -> float:
        """Mean number of pairs of entries of a row, less common values."""
        if self._common is not None:
            return 0.5 * self._common.entries**2
        lengths = np.diff(self.X.indptr).astype(np.float64)
        return 0.5 * float(lengths @ lengths) / max(self.n, 1)

    @property
    def _gram_costs(self) -> tuple[float, float]:
        """Cost per row of a Gram matrix by dense batches, and by pairs of entries.

        In entries read; a pair takes as long as 1.5 of them.
        """
        return self.d**2 / BLAS_SPEEDUP, 1.5 * self._pairs

    @property
    def _as_dense(self) -> bool:
        """Whether Gram matrices are best computed from dense batches."""
        dense, sparse = self._gram_costs
        return dense <= sparse or self.n * self.d**2 <= QUICK_GRAM

    def gram_passes(self):
        dense, sparse = self._gram_costs
        cost = dense if self._as_dense else sparse
        return cost * self.n / max(self.entries(), 1)

    def _gram(self, a, E, gram, cross):
        if self._as_dense:
            super()._gram(a, E, gram, cross)
            return
        add_gram(self._sparser, a, gram)
        if self._common is not None:
            self._common.complete(gram, self._sparser.T @ a, float(a.sum()))
        if E is not None:
            cross += self.X.T @ E


@dataclass(frozen=True)
class CommonValues:
    """Values that most entries of a column share, taken out of sparse rows.

    One-hot columns of a frequent category are 1 nearly everywhere. With v_j the value
    that more than half of column j holds (0 where there is none), X = S + 1vᵀ where S
    is much sparser, and

        Σ a_i x_i x_iᵀ = Σ a_i s_i s_iᵀ + uvᵀ + vuᵀ + (Σa_i)vvᵀ ,   u = Σ a_i s_i ,

    takes one operation for every pair of entries of a row of S, not of X. `entries` is
    the mean number of entries of such a row.
    """

    values: np.ndarray
    entries: float

    @classmethod
    def of(cls, X) -> CommonValues | None:
        """Those of a CSR matrix; None unless they halve the pairs of entries."""
        if X.shape[0] > _PROBED:
            X = X[np.linspace(0, X.shape[0] - 1, _PROBED).astype(int)]
        n, d = X.shape
        stored = np.bincount(X.indices, minlength=d)
        if not (2 * stored > n).any():
            return None
        values = np.zeros(d)
        values[X.indices] = X.data  # the last one of each column
        equal = X.indices[X.data == values[X.indices]]
        held = np.bincount(equal, minlength=d)
        values[2 * held <= n] = 0.0
        entries = np.where(values != 0, n - held, stored).sum() / n
        return cls(values, entries) if 2 * entries**2 <= (X.nnz / n) ** 2 else None

    def complete(self, gram: np.ndarray, u: np.ndarray, total: float) -> None:
        """Make Σ a_i x_i x_iᵀ of Σ a_i s_i s_iᵀ, with u = Σ a_i s_i and Σa_i."""
        across = np.multiply.outer(u + 0.5 * total * self.values, self.values)
        gram += across + across.T


def as_rows(X, y) -> Rows:
    """Wrap data that `validation.check_data` has checked; it is copied if not aligned.

    Numbers of a message, or of a part of a file, may not be aligned: BLAS for old
    processors ends the process on such.
    """
    sparse = not isinstance(X, np.ndarray) and sp.issparse(X)
    values = X.data if sparse else X
    if isinstance(values, np.ndarray) and not values.flags.aligned:
        X = X.copy()
    return SparseRows(X, y) if sparse else DenseRows(X, y)


def to_csr(X):
    """X as CSR if it is a large, wide array of which at most a quarter is not zero."""
    large = isinstance(X, np.ndarray) and X.size > CACHED_ENTRIES
    if not large or X.shape[1] <= FEW_FEATURES:
        return X
    looked_at = X[:: max(X.size // CACHED_ENTRIES, 1)]
    if np.count_nonzero(looked_at) > MOSTLY_ZERO * looked_at.size:
        return X
    size = max(CACHED_ENTRIES // X.shape[1], 1)  # at a time: indices take space
    blocks = [_csr_block(X[start : start + size]) for start in range(0, len(X), size)]
    if sum(block.nnz for block in blocks) > MOSTLY_ZERO * X.size:
        return X
    return sp.vstack(blocks, format="csr")


def _csr_block(X: np.ndarray) -> sp.csr_array:
    """A few rows as CSR, by masks: SciPy's own way takes three times as long."""
    used = np.ascontiguousarray(X != 0)
    places, counts = np.flatnonzero(used), np.count_nonzero(used, axis=1)
    ends = np.cumsum(counts)
    columns = places - np.repeat(X.shape[1] * np.arange(len(X)), counts)
    data, index = X.reshape(-1)[places], (columns, np.concatenate(([0], ends)))
    return sp.csr_array((data, *(part.astype(np.int32) for part in index)), X.shape)


def row_squares(block):
    """‖row‖² of every row."""
    if isinstance(block, np.ndarray):
        return np.einsum("ij,ij->i", block, block)
    return namespace(block).linalg.vector_norm(block, axis=1) ** 2
