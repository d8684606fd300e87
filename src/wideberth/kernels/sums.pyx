"""Sums over samples, of which certificates and bounds on their rounding are made.

Vectors are float64 of any stride; that of one number for all samples is 0. Terms are
added in blocks of BLOCK, and then the sums of the blocks, so that each is rounded at
most as often as `problem.rounding.chain` says. Within a block there are LANES partial
sums. A term that is not a number makes the sum none.
"""

from libc.math cimport fabs, sqrt

import numpy as np

cdef extern from "norms.h" nogil:
    void norms_double(
        const double *x, Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t next,
        double *out,
    )
    void norms_float(
        const float *x, Py_ssize_t n_rows, Py_ssize_t n_columns, Py_ssize_t next,
        double *out,
    )

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* The value, or 0, without a branch: where signs are random, a branch that is
       wrongly foreseen takes longer than the sum. */
    static inline double value_if(int counts, double value)
    {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits &= (uint64_t)0 - (uint64_t)(counts != 0);
        memcpy(&value, &bits, sizeof bits);
        return value;
    }
    """
    double value_if(bint counts, double value) noexcept nogil

cdef enum:
    BLOCK = 2048
    LANES = 4

ctypedef fused real:
    float
    double


cdef struct Vector:
    const double *first
    Py_ssize_t stride  # in numbers


cdef inline Vector _vector(const double[:] values) noexcept:
    """Where the numbers of an array are; the caller keeps it alive."""
    cdef Vector vector
    vector.first = &values[0] if values.shape[0] else NULL
    vector.stride = values.strides[0] // <Py_ssize_t>sizeof(double)
    return vector


cdef inline double _at(const Vector *vector, Py_ssize_t i) noexcept nogil:
    return vector.first[i * vector.stride]


#: A sum over samples: its vectors, and numbers that all terms share.
cdef struct Terms:
    Vector a
    Vector b
    Vector sizes
    Vector supports
    Vector targets
    Vector added
    double scale
    double relative
    double shift


ctypedef double (*Term)(const Terms *terms, Py_ssize_t i) noexcept nogil


cdef inline double _value(const Terms *terms, Py_ssize_t i) noexcept nogil:
    return _at(&terms.a, i)


cdef inline double _product(const Terms *terms, Py_ssize_t i) noexcept nogil:
    return _at(&terms.a, i) * _at(&terms.b, i)


cdef inline double _hinge(const Terms *terms, Py_ssize_t i) noexcept nogil:
    cdef double slack = _at(&terms.b, i)
    return value_if(not slack <= 0, _at(&terms.a, i) * slack)


cdef inline double _upper(const Terms *terms, Py_ssize_t i) noexcept nogil:
    return value_if(_at(&terms.b, i) > 0, _at(&terms.a, i))


cdef inline double _lower(const Terms *terms, Py_ssize_t i) noexcept nogil:
    return value_if(not _at(&terms.b, i) > 0, _at(&terms.a, i))


cdef inline double _slack_error(const Terms *terms, Py_ssize_t i) noexcept nogil:
    cdef double size = terms.scale * _at(&terms.sizes, i) + _at(&terms.supports, i)
    size = size + fabs(_at(&terms.targets, i)) + terms.shift
    return size * terms.relative + _at(&terms.added, i)


cdef inline double _active_error(const Terms *terms, Py_ssize_t i) noexcept nogil:
    cdef double error = _slack_error(terms, i)
    return value_if(not _at(&terms.b, i) <= -error, _at(&terms.a, i) * error)


cdef inline double _sum(const Terms *terms, Py_ssize_t n, Term term) noexcept nogil:
    """Σ term_i over all samples; `term` is a constant wherever this is called."""
    cdef double sums[LANES]
    cdef double total = 0.0
    cdef Py_ssize_t start = 0, stop, i
    cdef int lane
    while start < n:
        stop = min(start + BLOCK, n)
        for lane in range(LANES):
            sums[lane] = 0.0
        i = start
        while i + LANES <= stop:
            for lane in range(LANES):
                sums[lane] += term(terms, i + lane)
            i += LANES
        while i < stop:
            sums[0] += term(terms, i)
            i += 1
        total += (sums[0] + sums[2]) + (sums[1] + sums[3])
        start = stop
    return total


def total(const double[:] values):
    """Σ values_i."""
    cdef Terms terms
    terms.a = _vector(values)
    return _sum(&terms, values.shape[0], _value)


def product(const double[:] a, const double[:] b):
    """Σ a_ib_i."""
    cdef Terms terms
    terms.a, terms.b = _vector(a), _vector(b)
    return _sum(&terms, a.shape[0], _product)


def hinge(const double[:] weights, const double[:] slack):
    """Σ c_i[u_i]_+."""
    cdef Terms terms
    terms.a, terms.b = _vector(weights), _vector(slack)
    return _sum(&terms, weights.shape[0], _hinge)


def class_sums(const double[:] values, const double[:] y):
    """Σ values_i over y_i > 0, and over the others."""
    cdef Terms terms
    terms.a, terms.b = _vector(values), _vector(y)
    return _sum(&terms, y.shape[0], _upper), _sum(&terms, y.shape[0], _lower)


def active_error(
    const double[:] weights,
    const double[:] slack,
    const double[:] sizes,
    const double[:] supports,
    const double[:] targets,
    const double[:] added,
    double scale,
    double relative,
    double b,
):
    """Σ c_ie_i over u_i > −e_i, with the errors of slacks

    e_i = relative · (scale · sizes_i + supports_i + |targets_i| + |b|) + added_i.
    """
    cdef Terms terms
    terms.a, terms.b, terms.sizes = _vector(weights), _vector(slack), _vector(sizes)
    terms.supports, terms.targets = _vector(supports), _vector(targets)
    terms.added, terms.scale, terms.relative = _vector(added), scale, relative
    terms.shift = fabs(b)
    return _sum(&terms, weights.shape[0], _active_error)


def slacks(
    const double[:] targets,
    const double[:] margins,
    const double[:] supports,
    const double[:] y,
    double b,
):
    """targets_i − margins_i + supports_i − y_ib, in this order."""
    cdef Py_ssize_t n = margins.shape[0], i
    out = np.empty(n)
    cdef double[::1] slack = out
    for i in range(n):
        slack[i] = ((targets[i] - margins[i]) + supports[i]) - y[i] * b
    return out


def within(const double[:] values, const double[:] most):
    """Whether 0 ≤ values_i ≤ most_i for all i."""
    cdef Py_ssize_t i
    for i in range(values.shape[0]):
        if not (0.0 <= values[i] <= most[i]):
            return False
    return True


def row_norms(const real[:, :] X):
    """‖x_i‖ of the rows of a dense array, float32 or float64, in any order."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, j, start = 0, stop
    cdef Py_ssize_t next_row = X.strides[0] // <Py_ssize_t>sizeof(real)
    cdef double value
    out = np.zeros(n)
    cdef double[::1] norms = out
    if n == 0 or d == 0:
        return out
    with nogil:
        if X.strides[1] == sizeof(real):
            if real is double:
                norms_double(&X[0, 0], n, d, next_row, &norms[0])
            else:
                norms_float(&X[0, 0], n, d, next_row, &norms[0])
        else:  # column by column, as they lie in memory, of a block at a time
            while start < n:
                stop = min(start + BLOCK, n)
                for j in range(d):
                    for i in range(start, stop):
                        value = X[i, j]
                        norms[i] += value * value
                for i in range(start, stop):
                    norms[i] = sqrt(norms[i])
                start = stop
    return out
