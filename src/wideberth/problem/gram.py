"""Σ a_i x_i x_iᵀ of sparse rows, compiled: one operation for every pair of entries."""

from __future__ import annotations

import numpy as np

from wideberth.problem.jit import jit

__all__ = ["add_gram"]


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
