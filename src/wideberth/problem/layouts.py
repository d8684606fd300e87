"""Rows of dense arrays and of sparse matrices under the products of `rows.py`."""

from __future__ import annotations

from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from wideberth.kernels.sparse import add_gram
from wideberth.problem.arrays import float64, host, namespace
from wideberth.problem.common_values import CommonValues
from wideberth.problem.limits import (
    BLOCK_ROWS,
    CACHED_ENTRIES,
    DEVICE_ENTRIES,
    EPS,
    FEW_FEATURES,
    MOSTLY_ZERO,
    QUICK_GRAM,
)
from wideberth.problem.rows import Rotated, Rows, row_squares

#: Time of a multiplication in a compiled sparse Gram matrix ÷ that in a dense product.
_DENSE_SPEEDUP = 8.0
#: Number of entries read in order in the time that it takes to find a row somewhere in
#: a table; it is then copied and read (0.03 of 600 000×10 rows, 0.14 of 110 000×54 and
#: 0.4 of 20 000×300 take as long as all of them, one thread).
_GATHERED = 300
#: Time of a multiplication in a product with a vector, which waits for memory, ÷ that
#: in a dense product of matrices.
BLAS_SPEEDUP = 10.0


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
