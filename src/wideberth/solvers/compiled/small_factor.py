"""Cholesky factors of small matrices in compiled loops, for `mehrotra.py`."""

from __future__ import annotations

import math

import numpy as np

from wideberth.problem.jit import jit


@jit
def factorise(matrix):
    """Write R with RᵀR = matrix over its upper triangle; False if there is none.

    Four rows of R at a time, and what they leave of the others: loops over one row are
    too short to be quick.
    """
    m = matrix.shape[0]
    rest = m - m % 4
    for first in range(0, rest, 4):
        if not _factorise_rows(matrix, first, first + 4):
            return False
        a, b = matrix[first], matrix[first + 1]
        c, d = matrix[first + 2], matrix[first + 3]
        for i in range(first + 4, m):
            row, p, q, r, s = matrix[i], a[i], b[i], c[i], d[i]
            for j in range(i, m):
                row[j] -= p * a[j] + q * b[j] + r * c[j] + s * d[j]
    return _factorise_rows(matrix, rest, m)


@jit
def _factorise_rows(matrix, first, last):
    """Write rows of R, what those before them leave being there already."""
    m = matrix.shape[0]
    for k in range(first, last):
        for i in range(first, k):
            factor = matrix[i, k]
            for j in range(k, m):
                matrix[k, j] -= factor * matrix[i, j]
        pivot = matrix[k, k]
        if not 0.0 < pivot < np.inf:
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(k, m):
            matrix[k, j] *= scale
    return True


@jit
def solve_factored(factor, right, x):
    """Solve RᵀR x = right."""
    m = right.size
    for j in range(m):
        x[j] = right[j]
    for k in range(m):
        x[k] /= factor[k, k]
        for j in range(k + 1, m):
            x[j] -= factor[k, j] * x[k]
    for k in range(m - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, m):
            total -= factor[k, j] * x[j]
        x[k] = total / factor[k, k]
