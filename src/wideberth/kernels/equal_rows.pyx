"""Rows of a table that are equal, number by number.

Every row has a hash, Σ_j r_j·bits(s_i x_ij) for random r_j of 32 bits. A hash table
holds one row of each group; a row of the same hash is compared with it before it joins
the group. So a collision costs time and merges nothing. The r_j are the same in every
run, so that runs repeat: someone who knows them can make up rows of one hash, for which
the time grows with the square of their number. The groups are right then, too.
"""

import numpy as np
import scipy.sparse as sp

from libc.stdint cimport int32_t, uint32_t, uint64_t

ctypedef fused real:
    float
    double

ctypedef fused index:
    int
    long long

cdef extern from "hashes.h" nogil:
    uint64_t mixed(double value)
    void hashes_double(
        const double *x, Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t next,
        const double *signs, const uint32_t *factors, uint64_t *hashes,
    )
    void hashes_float(
        const float *x, Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t next,
        const double *signs, const uint32_t *factors, uint64_t *hashes,
    )

#: Number of entries that are hashed before they are compared: they stay in the cache.
cdef Py_ssize_t BLOCK = 1 << 15


def group_rows(X, signs, before, Py_ssize_t most):
    """Number the distinct rows of X times their signs, ±1, in order of appearance.

    Rows are equal if their numbers `before` are, too. Returns for every row the number
    of its group, and for every group its first row; None if there are more than `most`
    groups. X is an array or a canonical CSR matrix.
    """
    n, d = X.shape
    factors = np.random.default_rng(0).integers(2**32, size=d, dtype=np.uint32)
    hashes = before.astype(np.uint64) << np.uint64(40)
    most = min(most, n)
    label, first = np.empty(n, dtype=np.int32), np.empty(most, dtype=np.int32)
    table = np.zeros(1 << max(int(2 * most).bit_length(), 1), dtype=np.int32)
    state = signs, before, factors, hashes, table, label, first
    if sp.issparse(X):
        rows = np.empty((n, 0), X.dtype), X.data, X.indices, X.indptr, X.nnz
    else:
        nothing = np.empty(0, dtype=np.intc)
        rows = X, np.empty(0, X.dtype), nothing, nothing, n * d
    found = _group(*rows, *state)
    return None if found < 0 else (label, first[:found].copy())


def _group(
    const real[:, :] X,
    const real[::1] data,
    const index[::1] indices,
    const index[::1] indptr,
    Py_ssize_t entries,
    const double[::1] signs,
    const int32_t[::1] before,
    const uint32_t[::1] factors,
    uint64_t[::1] hashes,
    int32_t[::1] table,
    int32_t[::1] label,
    int32_t[::1] first,
):
    """The groups of the rows of X, or of CSR rows where there are `indptr`."""
    cdef Py_ssize_t i, k, slot, start, stop = 0, found = 0
    cdef Py_ssize_t n = X.shape[0], size = max(n * BLOCK // max(entries, 1), 1)
    cdef uint64_t mask = table.shape[0] - 1
    cdef bint same, sparse = indptr.shape[0] > 0
    with nogil:
        while stop < n:
            start, stop = stop, min(stop + size, n)
            if sparse:
                _hash_sparse(data, indices, indptr, start, stop, signs, factors, hashes)
            else:
                _hash_dense(X, start, stop, signs, factors, hashes)
            for i in range(start, stop):
                slot = _slot(hashes[i], mask)
                while table[slot] != 0:
                    k = first[table[slot] - 1]
                    same = hashes[k] == hashes[i] and before[k] == before[i]
                    if same and sparse:
                        same = _same_sparse(
                            data, indices, indptr, i, k, signs[i] * signs[k]
                        )
                    elif same:
                        same = _same_dense(X, i, k, signs[i] * signs[k])
                    if same:
                        break
                    slot = (slot + 1) & mask
                if table[slot] == 0:  # a new group
                    if found == first.shape[0]:
                        with gil:
                            return -1
                    first[found] = i
                    found += 1
                    table[slot] = found
                label[i] = table[slot] - 1
    return found


cdef inline Py_ssize_t _slot(uint64_t hashed, uint64_t mask) noexcept nogil:
    """A place in the table, to which all bits count (2⁶⁴ ÷ the golden ratio)."""
    hashed ^= hashed >> 32
    return ((hashed * <uint64_t>0x9E3779B97F4A7C15) >> 32) & mask


cdef inline void _hash_dense(
    const real[:, :] X,
    Py_ssize_t start,
    Py_ssize_t stop,
    const double[::1] signs,
    const uint32_t[::1] factors,
    uint64_t[::1] hashes,
) noexcept nogil:
    cdef Py_ssize_t i, j, n = stop - start, d = X.shape[1]
    cdef Py_ssize_t next_row = X.strides[0] // <Py_ssize_t>sizeof(real)
    if n == 0 or d == 0:
        return
    if X.strides[1] == sizeof(real):
        if real is double:
            hashes_double(
                &X[start, 0], n, d, next_row, &signs[start], &factors[0], &hashes[start]
            )
        else:
            hashes_float(
                &X[start, 0], n, d, next_row, &signs[start], &factors[0], &hashes[start]
            )
    else:  # columns lie together
        for j in range(X.shape[1]):
            for i in range(start, stop):
                hashes[i] += factors[j] * mixed(signs[i] * X[i, j])


cdef inline void _hash_sparse(
    const real[::1] data,
    const index[::1] indices,
    const index[::1] indptr,
    Py_ssize_t start,
    Py_ssize_t stop,
    const double[::1] signs,
    const uint32_t[::1] factors,
    uint64_t[::1] hashes,
) noexcept nogil:
    cdef Py_ssize_t i, p
    for i in range(start, stop):
        for p in range(indptr[i], indptr[i + 1]):
            hashes[i] += factors[indices[p]] * mixed(signs[i] * data[p])


cdef inline bint _same_dense(
    const real[:, :] X, Py_ssize_t i, Py_ssize_t k, double sign
) noexcept nogil:
    """Whether row i is row k times a sign."""
    cdef Py_ssize_t j
    cdef int differ = 0
    cdef const real *one = &X[i, 0]
    cdef const real *other = &X[k, 0]
    if X.strides[1] == sizeof(real):
        for j in range(X.shape[1]):
            differ |= one[j] != <real>sign * other[j]
    else:
        for j in range(X.shape[1]):
            differ |= X[i, j] != <real>sign * X[k, j]
    return differ == 0


cdef inline bint _same_sparse(
    const real[::1] data,
    const index[::1] indices,
    const index[::1] indptr,
    Py_ssize_t i,
    Py_ssize_t k,
    double sign,
) noexcept nogil:
    """Whether row i is row k times a sign, whatever zeros either stores."""
    cdef Py_ssize_t p = indptr[i], q = indptr[k]
    while True:
        while p < indptr[i + 1] and data[p] == 0:
            p += 1
        while q < indptr[k + 1] and data[q] == 0:
            q += 1
        if p == indptr[i + 1] or q == indptr[k + 1]:
            return p == indptr[i + 1] and q == indptr[k + 1]
        if indices[p] != indices[q] or data[p] != <real>sign * data[q]:
            return False
        p += 1
        q += 1
