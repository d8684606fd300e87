"""numba with this project's settings: lazy, cached, plain functions, IEEE arithmetic.

And Σ a_i x_i x_iᵀ of sparse rows, compiled: one operation for every pair of entries.
Imported only where a compiled kernel is about to run: numba takes a third of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

import numba
import numpy as np
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
