"""numba with this project's settings: lazy, cached, plain functions, IEEE arithmetic.

And for sparse rows, compiled, Σ a_i x_i x_iᵀ, one operation for every pair of entries,
and the rows less one value for each column (`common_values.py`).
Imported only where a compiled kernel is about to run: numba takes a third of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numba
import numpy as np
import scipy.sparse as sp
from numba.core.caching import FunctionCache


def jit(function: Callable, reordered: bool = False) -> Callable:
    """Compile on first call and keep the result on disk, where a disk lets us.

    Sums that may be `reordered` are added up several terms at a time.
    """
    fast = {"reassoc", "contract"} if reordered else False
    compiled = numba.njit(function, nogil=True, error_model="numpy", fastmath=fast)
    with suppress(RuntimeError, OSError):  # no directory to write a cache to
        compiled._cache = _Cache(function)  # type: ignore[attr-defined]
    return compiled


#: For sums that certify nothing: a dot product takes a sixth of the time or less.
jit_reordered = partial(jit, reordered=True)


class _Cache(FunctionCache):
    """Compiled functions on disk: a help, never a reason to fail.

    The disk may be full, the directory may lose its permissions, the files may be
    damaged. Then a function is compiled again.
    """

    def load_overload(self, sig, target_context):
        with suppress(Exception):
            return super().load_overload(sig, target_context)
        return None

    def save_overload(self, sig, data):
        with suppress(Exception):
            super().save_overload(sig, data)


def add_gram(X, a: np.ndarray, gram: np.ndarray) -> None:
    """Add Σ a_i x_i x_iᵀ over the rows of a canonical CSR matrix, in float64."""
    lower = np.zeros_like(gram)
    unsigned = np.uint32 if X.indices.dtype == np.int32 else np.uint64
    _add_lower(X.data, X.indices.view(unsigned), X.indptr, a, lower)
    gram += lower
    gram += np.tril(lower, -1).T


@jit
def _add_lower(data, indices, indptr, a, lower):
    for i in range(a.size):
        if a[i] == 0.0:
            continue
        for p in range(indptr[i], indptr[i + 1]):
            weight, row = a[i] * data[p], lower[indices[p]]
            for q in range(indptr[i], p + 1):  # sorted: columns up to that of p
                row[indices[q]] += weight * data[q]


def less_values(X, values: np.ndarray) -> sp.csr_array:
    """X − 1vᵀ of a canonical CSR matrix, canonical too, in float64."""
    columns = np.flatnonzero(values).astype(X.indices.dtype)
    most = X.nnz + X.shape[0] * columns.size
    data, indices = np.empty(most), np.empty(most, dtype=X.indices.dtype)
    ends = np.zeros_like(X.indptr)
    _subtract(X.data, X.indices, X.indptr, values, columns, data, indices, ends)
    # Copies, which give back what was too much.
    parts = data[: ends[-1]].copy(), indices[: ends[-1]].copy(), ends
    return sp.csr_array(parts, X.shape)


@jit
def _subtract(data, indices, indptr, values, columns, out, places, ends):
    k = 0
    for i in range(indptr.size - 1):
        p, stop = indptr[i], indptr[i + 1]
        for q in range(columns.size):
            column = columns[q]
            while p < stop and indices[p] < column:
                out[k], places[k] = data[p], indices[p]
                k, p = k + 1, p + 1
            value = -values[column]
            if p < stop and indices[p] == column:
                value += data[p]
                p += 1
            if value != 0.0:
                out[k], places[k] = value, column
                k += 1
        while p < stop:
            out[k], places[k] = data[p], indices[p]
            k, p = k + 1, p + 1
        ends[i + 1] = k
