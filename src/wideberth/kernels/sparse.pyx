"""Loops over the rows of canonical CSR matrices."""

from libc.math cimport sqrt

import numpy as np
import scipy.sparse as sp

ctypedef fused real:
    float
    double

ctypedef fused index:
    int
    long long


def row_norms(const real[::1] data, const index[::1] indptr):
    """‖x_i‖ of the rows of a CSR matrix, from its numbers and where rows begin."""
    cdef Py_ssize_t i, p, stop, n = indptr.shape[0] - 1
    cdef int lane
    cdef double rest
    cdef double[4] sums
    out = np.empty(n)
    cdef double[::1] norms = out
    with nogil:
        for i in range(n):
            p, stop, rest = indptr[i], indptr[i + 1], 0.0
            for lane in range(4):
                sums[lane] = 0.0
            while p + 4 <= stop:
                for lane in range(4):
                    sums[lane] += <double>data[p + lane] * data[p + lane]
                p += 4
            while p < stop:
                rest += <double>data[p] * data[p]
                p += 1
            norms[i] = sqrt(rest + ((sums[0] + sums[2]) + (sums[1] + sums[3])))
    return out


def combine(X, const double[::1] a, Py_ssize_t block_rows):
    """Σ a_i x_i over the rows of a CSR matrix, block by block, in float64.

    Rows with a_i = 0 are not read.
    """
    out = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], block_rows):
        stop = min(start + block_rows, X.shape[0])
        part = np.zeros(X.shape[1]) if start else out
        _add_rows(X.data, X.indices, X.indptr, a, start, stop, part)
        if start:
            out += part
    return out


def _add_rows(
    const real[::1] data,
    const index[::1] indices,
    const index[::1] indptr,
    const double[::1] a,
    Py_ssize_t start,
    Py_ssize_t stop,
    double[::1] out,
):
    cdef Py_ssize_t i, p
    cdef double weight
    with nogil:
        for i in range(start, stop):
            weight = a[i]
            if weight != 0.0:
                for p in range(indptr[i], indptr[i + 1]):
                    out[indices[p]] += weight * data[p]


def add_gram(X, a, gram):
    """Add Σ a_i x_i x_iᵀ over the rows of a canonical CSR matrix, in float64."""
    lower = np.zeros(gram.shape)
    _add_lower(X.data, X.indices, X.indptr, np.ascontiguousarray(a), lower)
    gram += lower
    gram += np.tril(lower, -1).T


def _add_lower(
    const real[::1] data,
    const index[::1] indices,
    const index[::1] indptr,
    const double[::1] a,
    double[:, ::1] lower,
):
    cdef Py_ssize_t i, p, q
    cdef double weight
    cdef double *row
    with nogil:
        for i in range(a.shape[0]):
            if a[i] == 0.0:
                continue
            for p in range(indptr[i], indptr[i + 1]):
                weight = a[i] * data[p]
                row = &lower[indices[p], 0]
                for q in range(indptr[i], p + 1):  # sorted: columns up to that of p
                    row[indices[q]] += weight * data[q]


def less_values(X, const double[::1] values):
    """X − 1vᵀ of a canonical CSR matrix, canonical too, in float64."""
    columns = np.flatnonzero(values).astype(X.indices.dtype)
    most = X.nnz + X.shape[0] * columns.size
    data, indices = np.empty(most), np.empty(most, dtype=X.indices.dtype)
    ends = np.zeros_like(X.indptr)
    _subtract(X.data, X.indices, X.indptr, values, columns, data, indices, ends)
    # Copies, which give back what was too much.
    stored = ends[X.shape[0]]
    parts = data[:stored].copy(), indices[:stored].copy(), ends
    return sp.csr_array(parts, X.shape)


def _subtract(
    const real[::1] data,
    const index[::1] indices,
    const index[::1] indptr,
    const double[::1] values,
    const index[::1] columns,
    double[::1] out,
    index[::1] places,
    index[::1] ends,
):
    cdef Py_ssize_t i, p, q, stop, k = 0
    cdef index column
    cdef double value
    with nogil:
        for i in range(indptr.shape[0] - 1):
            p, stop = indptr[i], indptr[i + 1]
            for q in range(columns.shape[0]):
                column = columns[q]
                while p < stop and indices[p] < column:
                    out[k] = data[p]
                    places[k] = indices[p]
                    k += 1
                    p += 1
                value = -values[column]
                if p < stop and indices[p] == column:
                    value += data[p]
                    p += 1
                if value != 0.0:
                    out[k] = value
                    places[k] = column
                    k += 1
            while p < stop:
                out[k] = data[p]
                places[k] = indices[p]
                k += 1
                p += 1
            ends[i + 1] = k
