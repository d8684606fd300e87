"""Exact dual coordinate ascent over dense or CSR rows (theory §6.2).

    max D(α) = Σm_iα_i − ½[‖d‖ − s]_+² − ½β(Σα_iy_i)²,   0 ≤ α_i ≤ c_i,
    d = Σα_iz_i,  z_i = y_ix_i,  s = Σα_iρ_i,  β = 1/λ_b (0 without an intercept)

d, s and Σα_iy_i may include constants, as those of folded samples. Along one coordinate
D depends on ‖d‖², ⟨d,z_i⟩, ‖z_i‖², s, ρ_i and b = βΣα_iy_i alone, so its maximiser
costs one read of the row, a few scalar Newton steps, and, if α_i moves, one update of
d. Without noise the first step is exact (Hsieh et al., ICML 2008). Sums of what was
added and taken away may round to less than 0; ‖d‖² and s are kept ≥ 0, for beside d = 0
an s < 0 would give a w ≠ 0 without a direction.

A free b has λ_b = 0 and ties all coordinates together. A penalty ½λ(b − b⁰)² is added
then, whose b⁰ moves to b after every epoch (method of multipliers): β = 1/(λ_b + λ), and
b = β(Σα_iy_i + λb⁰).

Every row that is visited tells its slack u_i and with it c_i[u_i]_+ − α_iu_i, its part
of the duality gap at that moment. Their sum over an epoch over all rows is about the
gap, and costs nothing. Rows at a bound that their slack does not let them leave by far
are skipped until the other rows are about done (shrinking). Then all rows are looked
at: read in their order while nothing moves, which gives the gap at the point itself.

Random orders come from a generator of this package: the same seed gives the same order
on every platform. Nothing here certifies; callers evaluate what they get.
"""

from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np
import scipy.sparse as sp


cdef enum:
    NOTED = 100  # epochs of a call whose gaps are kept to find `halfway`


cdef extern from "sweeps.h" nogil:
    enum:
        RUN
        CONTIGUOUS
        STRIDED
        SPARSE_32
        SPARSE_64

    ctypedef struct Ascent:
        const double *y
        const double *targets
        const double *weights
        const double *radii
        const double *squares
        Py_ssize_t n_features
        double beta
        double *alpha
        double *d
        double s
        double norm2
        double b
        double balance
        Py_ssize_t *active
        Py_ssize_t n_active
        Py_ssize_t *runs
        uint64_t random
        double below
        double above
        double gap
        double rise
        double entries
        int looks

    ctypedef struct Matrix_double:
        const double *data
        Py_ssize_t next_row
        Py_ssize_t next_column
        const void *indices
        const void *indptr

    ctypedef struct Matrix_float:
        const float *data
        Py_ssize_t next_row
        Py_ssize_t next_column
        const void *indices
        const void *indptr

    void epoch_double(const Matrix_double *X, Ascent *at, int stored, int noisy)
    void epoch_float(const Matrix_float *X, Ascent *at, int stored, int noisy)
    double slope_at(
        double t, double along, double square, double norm2, double s, double radius,
        double linear, double beta, double *curvature,
    )
    double maximiser(
        double slope, double curvature, double along, double square, double norm2,
        double s, double radius, double linear, double beta, double low, double high,
    )


def best_step(
    double along,
    double square,
    double norm2,
    double s,
    double radius,
    double linear,
    double beta,
    double low,
    double high,
):
    """The maximiser over low ≤ t ≤ high of D along one coordinate.

    `along` is ⟨d,z_i⟩, `square` ‖z_i‖², `norm2` ‖d‖², `linear` m_i − y_ib.
    """
    cdef double curvature
    cdef double slope = slope_at(
        0.0, along, square, norm2, s, radius, linear, beta, &curvature
    )
    return maximiser(
        slope, curvature, along, square, norm2, s, radius, linear, beta, low, high
    )


cdef inline const double *_numbers(const double[::1] values) noexcept:
    """The address of an array, which the caller keeps alive."""
    return &values[0]


cdef class Sweeps:
    """Sweeps over the rows of a problem, from a dual point that they move.

    Parameters
    ----------
    X : array or canonical CSR matrix
        The rows x_i.
    y, targets, weights, radii, squares : float64 arrays of n
        y_i = ±1, m_i, c_i, ρ_i and ‖x_i‖².
    beta : float
        β.
    pull : float
        λβ of a penalty ½λ(b − b⁰)² that b⁰ follows; 0 without one.
    alpha, d : float64 arrays of n and of the features
        α and d: read and updated.
    s, b, balance : float
        s, b and Σα_iy_i.
    value : float
        D(α).
    seed : int
        Decides the order of the rows.

    Attributes
    ----------
    s, b, balance, value : float
        The same after the sweeps so far.
    gap, told_gap : float
        About the gap after the last epoch over all rows, and after the last one.
    epochs, active : int
        Epochs of the last call, and rows that the next one begins with.
    halfway : tuple
        Entries, rows, epochs and `told_gap` of the last call when it had read half.
    """

    cdef Ascent at
    cdef Matrix_double doubles
    cdef Matrix_float floats
    cdef int stored, noisy
    cdef bint single
    cdef double pull
    cdef Py_ssize_t n
    cdef object held
    cdef Py_ssize_t[::1] active_rows
    cdef readonly double gap, told_gap, value
    cdef double shrunk, whole, last_whole
    cdef readonly Py_ssize_t epochs
    cdef readonly tuple halfway

    def __init__(
        self, X, y, targets, weights, radii, squares, double beta, double pull, alpha, d,
        double s, double b, double balance, double value, uint64_t seed,
    ):
        cdef double[::1] changing
        cdef Py_ssize_t[::1] runs
        self.n = len(y)
        self.active_rows = np.arange(self.n)
        runs = np.empty(self.n // RUN + 2, dtype=np.intp)
        self.held = [y, targets, weights, radii, squares, alpha, d, runs]
        self.at.y, self.at.targets = _numbers(y), _numbers(targets)
        self.at.weights, self.at.radii = _numbers(weights), _numbers(radii)
        self.at.squares = _numbers(squares)
        changing = alpha
        self.at.alpha = &changing[0]
        changing = d
        self.at.d = &changing[0]
        self.at.n_features = changing.shape[0]
        self.at.norm2 = max(float(np.dot(d, d)), 0.0)
        self.at.runs = &runs[0]
        self.at.active = &self.active_rows[0]
        self.at.beta, self.at.s, self.at.b, self.at.balance = beta, s, b, balance
        self.at.random, self.pull = seed, pull
        self.noisy = bool(s > 0 or np.any(radii))
        self.value, self.gap, self.epochs = value, INFINITY, 0
        self.told_gap = self.last_whole = INFINITY
        self._read(X)
        self.activate_all()
        self.at.below = self.at.above = INFINITY
        self.at.looks = 0

    def _read(self, X):
        """Take the addresses of the rows."""
        cdef const double[::1] doubles
        cdef const float[::1] floats
        cdef const int32_t[::1] i32
        cdef const int64_t[::1] i64
        cdef const void *indices = NULL
        cdef const void *indptr = NULL
        next_row = next_column = 0
        if sp.issparse(X):
            data = X.data
            self.stored = SPARSE_32
            if X.indices.dtype == np.int32:
                i32 = X.indptr
                indptr = &i32[0]
                i32 = X.indices
                indices = &i32[0] if X.nnz else NULL
            else:
                self.stored = SPARSE_64
                i64 = X.indptr
                indptr = &i64[0]
                i64 = X.indices
                indices = &i64[0] if X.nnz else NULL
        else:
            if not (X.flags.c_contiguous or X.flags.f_contiguous):
                X = np.ascontiguousarray(X)
            self.stored = CONTIGUOUS if X.flags.c_contiguous else STRIDED
            data = X.ravel(order="K")
            next_row, next_column = (X.shape[1], 1)
            if self.stored == STRIDED:
                next_row, next_column = 1, X.shape[0]
        self.held += [X, data]
        self.single = data.dtype == np.float32
        if self.single:
            floats = data
            self.floats.data = &floats[0] if data.size else NULL
            self.floats.indices, self.floats.indptr = indices, indptr
            self.floats.next_row, self.floats.next_column = next_row, next_column
        else:
            doubles = data
            self.doubles.data = &doubles[0] if data.size else NULL
            self.doubles.indices, self.doubles.indptr = indices, indptr
            self.doubles.next_row, self.doubles.next_column = next_row, next_column

    cdef void epoch(self) noexcept nogil:
        """One epoch over the active rows."""
        if self.single:
            epoch_float(&self.floats, &self.at, self.stored, self.noisy)
        else:
            epoch_double(&self.doubles, &self.at, self.stored, self.noisy)

    cdef void activate_all(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n):
            self.active_rows[i] = i
        self.at.n_active = self.n

    cdef void look(self) noexcept nogil:
        """Compute the gap of all rows; those that do not rest at a bound are active."""
        self.activate_all()
        self.at.looks = 1
        self.epoch()
        self.at.looks = 0
        self.gap, self.shrunk = self.at.gap, 0

    @property
    def s(self):
        return self.at.s

    @property
    def b(self):
        return self.at.b

    @property
    def balance(self):
        return self.at.balance

    def penalise(self, double beta, double pull):
        """Go on with another β and λβ, from the same b."""
        self.at.beta, self.pull = beta, pull

    @property
    def active(self):
        return self.at.n_active

    def run(
        self, Py_ssize_t most_epochs, double most_entries, double tol, double least=0.0
    ):
        """Sweep until about `tol` times the objective, or `least`, is left of the gap.

        Ends after so many epochs or once so many entries are read, too. Rows that were
        left out come back once the others have the gap that is asked for; or a tenth
        of that of all rows, and epochs over them have cost as much as one over all.
        Where most rows were left out, all are looked at, and those alone come back
        whose slacks ask for it.

        Returns the entries read and the rows visited.
        """
        cdef Py_ssize_t k = 0, visited, half = 0
        cdef double entries = 0.0, rows = 0.0, left, told
        cdef double read[NOTED]
        cdef double seen[NOTED]
        cdef double gaps[NOTED]
        cdef bint few
        with nogil:
            while k == 0 or (k < most_epochs and entries < most_entries):
                visited = self.at.n_active
                self.epoch()
                self.value += self.at.rise
                entries, rows, k = entries + self.at.entries, rows + visited, k + 1
                told = self.at.gap
                if visited == self.n:
                    # Slacks are those of the middle of the epoch: the gap at its end
                    # is less by half of what an epoch takes.
                    if told < self.last_whole < INFINITY:
                        told *= sqrt(told / self.last_whole)
                    self.last_whole, self.gap = self.at.gap, told
                    self.whole, self.shrunk = self.at.entries, 0
                else:
                    self.last_whole = INFINITY
                    left = tol * max(self.value + told, least)
                    self.shrunk += self.at.entries
                    few = self.shrunk >= self.whole and told <= 0.1 * self.gap
                    if 2 * self.at.n_active > self.n:
                        if few or told <= left:  # an epoch over all costs little more
                            self.activate_all()
                    elif few or told <= 0.5 * left or self.at.n_active == 0:
                        self.look()
                        entries, rows = entries + self.at.entries, rows + self.n
                        told = self.gap
                    # Rows that were left out may have a tenth of their gap still.
                    told = max(told, 0.1 * self.gap)
                # The gap is that at the b of the epoch, from which b⁰ moves on.
                self.at.b = self.at.beta * self.at.balance + self.pull * self.at.b
                self.told_gap = told
                if k <= NOTED:
                    read[k - 1], seen[k - 1], gaps[k - 1] = entries, rows, told
                if self.gap <= tol * max(self.value + self.gap, least):
                    break
        self.epochs = k
        while half + 1 < min(k, NOTED) and read[half + 1] <= 0.5 * entries:
            half += 1
        self.halfway = read[half], seen[half], half + 1, gaps[half]
        return entries, rows
