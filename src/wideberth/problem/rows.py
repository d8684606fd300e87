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
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from wideberth.kernels.sparse import add_gram, less_values
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
    DEVICE_ENTRIES,
    EPS,
    FEW_FEATURES,
    MOSTLY_ZERO,
    QUICK_GRAM,
)

#: Number of rows that tell which values are common: a choice; what is common in more
#: than half of the rows is so in more than half of these, or nearly.
_PROBED = 1000
#: Time of a multiplication in a compiled sparse Gram matrix ÷ that in a dense product.
_DENSE_SPEEDUP = 8.0
#: Number of entries read in order in the time that it takes to find a row somewhere in
#: a table; it is then copied and read (0.03 of 600 000×10 rows, 0.14 of 110 000×54 and
#: 0.4 of 20 000×300 take as long as all of them, one thread).
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

    def taken_out(self, X) -> sp.csr_array:
        """S."""
        return less_values(X, self.values)

    def complete(self, gram: np.ndarray, u: np.ndarray, total: float) -> None:
        """Make Σ a_i x_i x_iᵀ of Σ a_i s_i s_iᵀ, with u = Σ a_i s_i and Σa_i."""
        across = np.multiply.outer(u + 0.5 * total * self.values, self.values)
        gram += across + across.T


class DenseRows(Rows):
    """Rows of a dense array of any namespace, float32 or float64."""

    cut_for_free = True

    @property
    def _block_rows(self):
        if self.X.dtype == namespace(self.X).float64:
            return self.n if self._foreign else BLOCK_ROWS
        return self._batch_rows

    @property
    def _batch_rows(self):
        if self._foreign:
            return max(DEVICE_ENTRIES // max(self.d, 1), 1)
        return super()._batch_rows

    @property
    def _few(self):
        return self.d / (_GATHERED + 2 * self.d)

    @property
    def _gathers(self):
        return not self._foreign and super()._gathers

    def _pieces(self, size):
        if self._foreign or self.X.dtype == np.float64:
            yield from super()._pieces(size)
            return
        # One buffer for all conversions: fresh memory costs more than the copy.
        buffer = np.empty((min(size, self.n), self.d))
        for start in range(0, self.n, size):
            rows = slice(start, min(start + size, self.n))
            block = buffer[: rows.stop - start]
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
        """Rows of a device in float64, once for all products; None where they are many.

        A chunk has two blocks, and is let go when its question is answered.
        """
        fits = self._foreign and self.n * self.d <= 2 * DEVICE_ENTRIES
        return float64(self.X) if fits else None

    def _squared(self, block):
        return block * block

    def _row_squares(self, block):
        return row_squares(block)

    def _rotate(self):
        basis, coordinates = np.linalg.qr(self.X.T.astype(np.float64, copy=False))
        maps = (partial(np.matmul, Q) for Q in (basis.T, basis))
        return Rotated(np.ascontiguousarray(coordinates.T), *maps)

    def _gram(self, a, E, gram, cross):
        root = namespace(a).sqrt(a)
        size = min(self._batch_rows, self.n), self.d
        buffer = None if self._foreign else np.empty(size)
        for rows, block in self._batches():
            if buffer is None:
                scaled = block * root[rows, None]
            else:
                scaled = buffer[: block.shape[0]]
                np.multiply(host(block), root[rows, None], out=scaled)
            gram += host(scaled.T @ scaled)
            if E is not None:
                cross += host(block.T @ E[rows, :])


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
        start, stop = self.X.indptr[rows.start], self.X.indptr[rows.stop]
        block = sp.csr_array((rows.stop - rows.start, self.d))
        # Set one by one: the constructor would copy what is part of a larger array.
        block.data = self.X.data[start:stop].astype(np.float64, copy=False)
        block.indices = self.X.indices[start:stop]
        block.indptr = self.X.indptr[rows.start : rows.stop + 1] - start
        return block

    @cached_property
    def _whole(self):
        return self.X if self.X.dtype == np.float64 else None

    def look_ahead(self):
        super().look_ahead()
        _ = self._transposed, self._pairs

    @cached_property
    def _transposed(self) -> list[tuple[slice, sp.csc_array]]:
        """Every block, turned, without a copy; made once, which takes SciPy a while."""
        blocks = []
        for start in range(0, self.n, self._block_rows):
            rows = slice(start, min(start + self._block_rows, self.n))
            ends = self.X.indptr[rows.start : rows.stop + 1]
            block = sp.csc_array((self.d, rows.stop - start))
            # Set one by one: the constructor would copy what is part of a larger array.
            block.data = self.X.data[ends[0] : ends[-1]]
            block.indices = self.X.indices[ends[0] : ends[-1]]
            block.indptr = ends - ends[0]
            blocks.append((rows, block))
        return blocks

    def _combine_all(self, a):
        out = np.zeros(self.d)
        for rows, block in self._transposed:
            out += block @ a[rows]
        return out

    def _squared(self, block):
        return sp.csr_array((block.data**2, block.indices, block.indptr), block.shape)

    def _rotate(self):
        X = self.X.astype(np.float64)
        values, vectors = np.linalg.eigh((X @ X.T).toarray())
        kept = values > self.n * EPS * values[-1]
        scales, vectors = np.sqrt(values[kept]), vectors[:, kept]
        inward, outward = (partial(f, X, vectors / scales) for f in (_into, _out_of))
        return Rotated(vectors * scales, inward, outward)

    @cached_property
    def _common(self) -> CommonValues | None:
        """Values that Gram matrices are computed without."""
        return CommonValues.of(self.X)

    @cached_property
    def _sparser(self) -> sp.csr_array:
        """The rows less those values."""
        return self.X if self._common is None else self._common.taken_out(self.X)

    @cached_property
    def _pairs(self) -> float:
        """About how many pairs of entries a row has, less common values."""
        if self._common is not None:
            return 0.5 * self._common.entries**2
        lengths = np.diff(self.X.indptr).astype(np.float64)
        return 0.5 * float(lengths @ lengths) / max(self.n, 1)

    @property
    def _as_dense(self) -> bool:
        """Whether Gram matrices are best computed from dense batches."""
        dense = self.d**2 <= 2 * _DENSE_SPEEDUP * self._pairs
        return dense or self.n * self.d**2 <= QUICK_GRAM

    def gram_passes(self):
        products = self.d**2 / BLAS_SPEEDUP if self._as_dense else 1.5 * self._pairs
        return products * self.n / max(self.entries(), 1)

    def _gram(self, a, E, gram, cross):
        if self._as_dense:
            self._gram_dense(a, E, gram, cross)
            return
        add_gram(self._sparser, a, gram)
        if self._common is not None:
            self._common.complete(gram, self._sparser.T @ a, float(a.sum()))
        if E is not None:
            cross += self.X.T @ E

    def _gram_dense(self, a, E, gram, cross):
        root, size = np.sqrt(a), max(CACHED_ENTRIES // self.d, 1)
        for rows, sparse in self._pieces(size):
            block = host(sparse)
            if E is not None:
                cross += block.T @ E[rows]
            block *= root[rows, None]
            gram += block.T @ block


def as_rows(X, y) -> Rows:
    """Wrap validated data (see `validation.check_data`) without copying it.

    But for numbers that are not aligned, as those of a message or of a part of a file
    may be: BLAS for old processors ends the process on such.
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


def _into(X, basis: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weights of the features in the basis Xᵀ·basis."""
    return basis.T @ (X @ w)


def _out_of(X, basis: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Weights of the features, of those in the basis Xᵀ·basis."""
    return X.T @ (basis @ w)
