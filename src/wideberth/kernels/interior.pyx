"""Mehrotra's interior-point method on rows in memory (theory §6.1, §14).

With rows e_i = (s_i x_i, −ρ_i, s_i) and x = (w, t, b) it minimises

    P(x) = ½⟨x,Qx⟩ + total − ⟨fold,x⟩ + Σ c_i [u_i]_+ ,  u_i = m_i − ⟨x,e_i⟩ ,  t ≥ Ω(w)

over x; Q is diagonal: 1 for every feature, 0 for t, λ_b for b. t is there only where
there is noise, b only with an intercept. The dual maximises

    D(α) = total + Σ m_iα_i − ½dist(d, sU)² − balance²/(2λ_b) ,   0 ≤ α_i ≤ c_i ,
    (d, −s, balance) = fold + Σ α_i e_i .

Unknowns are x, a_i = α_i/c_i, the slacks p_i and q_i of the hinge, and the multiplier
of t ≥ Ω(w). They satisfy, with μ → 0,

    Qx = fold + Σ c_ia_ie_i + noise,   p_i − q_i = u_i ,   (1−a_i)p_i = a_iq_i = μ .

A step eliminates all but dx:

    (Q + Σ θ_ie_ie_iᵀ + BᵀW⁻²B) dx = right ,   θ_i = c_i / (p_i/(1−a_i) + q_i/a_i) .

Its matrix is factorised once and solved with twice, for the predictor (μ = 0) and for
the step, which aims at σμ with σ = (μ after the predictor / μ)³ and corrects what the
products of the predictor's moves are off by.

Rows of little curvature, all together less than ½‖w‖² has and less than `little` of all
others, are left out of the matrix; the next step makes up for it. The matrix is summed
in float32, in half the time, while its rounding stays far below the curvature of ½‖w‖².
All else is float64. Nothing is mended: where rounding spoils a factor or a step the
run ends where it is. Nothing here is a proof: callers evaluate what comes back.

`minimise` steps on few rows where slacks are about known: the others are put to the
bound that their slack wants, and return where that turns out to be wrong.
"""

import numpy as np

from libc.math cimport INFINITY, copysign, fabs, sqrt
from scipy.linalg.cython_blas cimport dgemv, dsyrk, ssyrk
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs

cpdef enum Kind:
    """Noise: none, Ω = Στ_j|w_j|, Ω = ‖τ∘w‖₂, and the last with one τ for all."""

    NONE, BOX, ROUND, SPHERE

cdef double EPS = np.finfo(np.float64).eps
cdef double COARSE = np.finfo(np.float32).eps
#: Stands for 0 where something is divided by it or has to be positive.
cdef double TINY = 1e-300
#: Share of an error that may be left over where another one decides.
cdef double LITTLE = 0.1
#: Number of rows whose products are summed in float32 before they are added in
#: float64; a block of 65 columns stays in the nearest cache.
cdef enum:
    BLOCK = 256


cdef struct Steering:
    # START_INSIDE, LEAST_DISTANCE, TO_BOUNDARY, SETTLED_MOVES, MOST_STEPS of `solvers`.
    double start_inside
    double least_distance
    double to_boundary
    double settled_moves
    int most_steps


cdef class SmallProblem:
    """The problem at the top: its rows x_i, what belongs to them, and the fold.

    `fold` is in the order of x, `scales` are τ, `intercept` is λ_b or None. Gaps are
    relative to P, or to `least_scale` where that is more.
    """

    cdef const double[:, ::1] X
    cdef const double[::1] signs, radii, targets, weights
    cdef double[::1] penalty, fold
    cdef double total, least_scale
    cdef bint noisy, centred
    cdef Py_ssize_t n, d, m
    cdef object scales
    cdef int kind

    def __init__(
        self, X, signs, targets, weights, radii, fold, double total, scales, int kind,
        intercept, double least_scale,
    ):
        self.X, self.signs, self.targets = X, signs, targets
        self.weights, self.radii, self.fold, self.scales = weights, radii, fold, scales
        self.least_scale = max(least_scale, TINY)
        self.total, self.kind, self.noisy = total, kind, kind != NONE
        self.centred = intercept is not None
        self.n, self.d = X.shape
        self.m = self.d + self.noisy + self.centred
        self.penalty = np.ones(self.m)
        if self.noisy:
            self.penalty[self.d] = 0.0
        if self.centred:
            self.penalty[self.m - 1] = intercept


# -- noise -------------------------------------------------------------------------


cdef class Noise:
    """No noise; subclasses are the cone t ≥ Ω(w), with k at x and its multiplier h.

    Entry j < d of x belongs to feature j, entry d is t. The cone's part BᵀW⁻²B of
    Newton's matrix is diag(`diagonal`) + `row``row`ᵀ in these d + 1 entries.
    """

    cdef Py_ssize_t d, size
    cdef double[::1] memory
    cdef double *scales
    cdef double *diagonal
    cdef double *row
    cdef double lipschitz  # largest Ω(w) for ‖w‖ = 1
    cdef double facets  # number of inequalities; infinite if Ω is smooth
    cdef double most_inside  # bound on how far beyond Ω(w) to start, in Ω(w)

    def __init__(self, scales):
        self.d = scales.size

    cdef void _allocate(self, scales, Py_ssize_t vectors) except *:
        """Memory for vectors of d + 1 numbers; the first three are for this class."""
        self.d, self.size = scales.size, scales.size + 1
        self.memory = np.zeros((3 + vectors) * self.size)
        self.scales, self.diagonal = self._vector(0), self._vector(1)
        self.row = self._vector(2)
        for j in range(self.d):
            self.scales[j] = scales[j]

    cdef double *_vector(self, Py_ssize_t k) noexcept:
        return &self.memory[k * self.size]

    cdef double support(self, const double *w) noexcept nogil:
        """Ω(w)."""
        return 0.0

    cdef void start(
        self, const double *x, double s, double inside, double mu
    ) noexcept nogil:
        """Set a multiplier that balances s; its product with k fixes its weight in μ."""

    cdef void scale(self, const double *x) noexcept nogil:
        """Compute the scaling at the current point, `diagonal` and `row`."""

    cdef void add_curvature(self, double *matrix, Py_ssize_t m) noexcept nogil:
        """Add BᵀW⁻²B to the triangle [i, j ≥ i] of the rows."""
        cdef Py_ssize_t i, j
        for i in range(self.size):
            for j in range(i, self.size):
                matrix[i * m + j] += self.row[i] * self.row[j]
            matrix[i * m + i] += self.diagonal[i]

    cdef void correct(self, double target, double *right) noexcept nogil:
        """Aim at products `target` after the predictor; add to the right-hand side."""

    cdef void move(self, const double *dx, bint corrected) noexcept nogil:
        """Note the moves that go with dx, of the predictor or of the step."""

    cdef double longest(self) noexcept nogil:
        """Largest step that stays inside."""
        return INFINITY

    cdef void advance(self, double t) noexcept nogil:
        """Go on by a step of length t."""

    cdef double distance(self, const double *v, double s) noexcept nogil:
        """‖v − sU‖², or more where that has no closed form."""
        return dot(self.d, v, v)


cdef class RoundNoise(Noise):
    """t ≥ ‖τ∘w‖₂ in Nesterov–Todd scaling: k = (t, τ∘w), W⁻¹k = Wh = λ.

    W⁻¹ = η⁻¹ [v_0, −v_1ᵀ; −v_1, I + v_1v_1ᵀ/(1+v_0)]. Moves are kept scaled: g = W⁻¹dk
    and y − g = Wdh, where λ∘y is what the product k∘h has to change by. Entry 0 of the
    vectors belongs to t, entry 1 + j to feature j.
    """

    cdef double *k
    cdef double *h
    cdef double *v
    cdef double *scaled  # λ
    cdef double *g
    cdef double *dual_g  # y − g
    cdef double *corrected  # λ + y
    cdef double *work
    cdef double eta, weight
    cdef bint equal  # one τ for all features

    def __init__(self, scales, bint equal):
        self._allocate(scales, 8)
        self.lipschitz, self.facets = scales.max(initial=0.0), INFINITY
        self.most_inside, self.equal = LITTLE, equal
        self.k, self.h, self.v = self._vector(3), self._vector(4), self._vector(5)
        self.scaled, self.g = self._vector(6), self._vector(7)
        self.dual_g, self.corrected = self._vector(8), self._vector(9)
        self.work = self._vector(10)

    cdef double support(self, const double *w) noexcept nogil:
        cdef Py_ssize_t j
        cdef double total = 0.0
        for j in range(self.d):
            total += (self.scales[j] * w[j]) * (self.scales[j] * w[j])
        return sqrt(total)

    cdef void start(
        self, const double *x, double s, double inside, double mu
    ) noexcept nogil:
        """h_0 balances s, h_1 opposes w."""
        cdef Py_ssize_t j
        self._image(x, self.k)
        self.h[0] = s
        for j in range(1, self.size):
            self.h[j] = s * (inside - 1.0) * self.k[j] / self.k[0]
        self.weight = dot(self.size, self.k, self.h) / mu

    cdef void scale(self, const double *x) noexcept nogil:
        """W⁻² = η⁻²(2(Jv)(Jv)ᵀ − J), J = diag(1, −I)."""
        cdef Py_ssize_t j, d = self.d
        cdef double size_k, size_h, norm, root
        self._image(x, self.k)
        size_k, size_h = sqrt(self._square(self.k)), sqrt(self._square(self.h))
        self.v[0] = self.k[0] / size_k + self.h[0] / size_h
        for j in range(1, self.size):
            self.v[j] = self.k[j] / size_k - self.h[j] / size_h
        norm = sqrt(self._square(self.v))
        for j in range(self.size):
            self.v[j] /= norm
        self.eta = sqrt(size_k / size_h)
        self._unscale(self.k, self.scaled)
        root = sqrt(2.0) / self.eta
        for j in range(d):
            self.row[j] = root * self.scales[j] * self.v[1 + j]
            self.diagonal[j] = (self.scales[j] / self.eta) ** 2
        self.row[d], self.diagonal[d] = -root * self.v[0], -1.0 / self.eta**2

    cdef void correct(self, double target, double *right) noexcept nogil:
        """λ∘(λ+y) = weight·target + g∘(λ+g), with the predictor's g; Bᵀ(h + W⁻¹y)."""
        cdef Py_ssize_t j, size = self.size
        cdef double head
        cdef double *scaled = self.scaled
        cdef double *g = self.g
        cdef double *out = self.corrected
        for j in range(1, size):
            out[j] = g[0] * (scaled[j] + g[j]) + (scaled[0] + g[0]) * g[j]
        out[0] = dot(size, g, scaled) + dot(size, g, g) + self.weight * target
        head = 2.0 * scaled[0] * out[0] - dot(size, scaled, out)
        head /= self._square(scaled)
        for j in range(1, size):
            out[j] = (out[j] - head * scaled[j]) / scaled[0]
        out[0] = head
        self._unscale(out, self.work)
        for j in range(self.d):
            right[j] += self.scales[j] * self.work[1 + j]
        right[self.d] += self.work[0]

    cdef void move(self, const double *dx, bint corrected) noexcept nogil:
        cdef Py_ssize_t j
        self._image(dx, self.work)
        self._unscale(self.work, self.g)
        for j in range(self.size):
            self.dual_g[j] = -self.scaled[j] - self.g[j]
            if corrected:
                self.dual_g[j] += self.corrected[j]

    cdef double longest(self) noexcept nogil:
        """That keeps k and h, hence their scaled images, in the cone."""
        return 1.0 / max(max(self._rate(self.g), self._rate(self.dual_g)), TINY)

    cdef double _rate(self, const double *move) noexcept nogil:
        """How fast λ approaches the end of the cone, 1 ÷ the step that reaches it.

        In the frame where λ is (√det λ, 0) a move (m_0, m_1) approaches by ‖m_1‖ − m_0.
        """
        cdef Py_ssize_t j
        cdef double *k = self.scaled
        cdef double root = sqrt(self._square(k)), across = 0.0, part
        cdef double along = (2.0 * k[0] * move[0] - dot(self.size, k, move)) / root
        cdef double lead = (along + move[0]) / (k[0] + root)
        for j in range(1, self.size):
            part = move[j] - lead * k[j]
            across += part * part
        return (sqrt(across) - along) / root

    cdef void advance(self, double t) noexcept nogil:
        """k follows x."""
        cdef Py_ssize_t j
        self._unscale(self.dual_g, self.work)
        for j in range(self.size):
            self.h[j] += t * self.work[j]

    cdef double distance(self, const double *v, double s) noexcept nogil:
        """Unequal τ have no closed form; the cone's multiplier lies in sU too."""
        cdef Py_ssize_t j
        cdef double near, shrink, total = 0.0
        if self.equal:
            shrink = max(sqrt(dot(self.d, v, v)) - s * self.scales[0], 0.0)
            return shrink * shrink
        for j in range(self.d):
            near = v[j] + s * self.scales[j] * self.h[1 + j] / max(self.h[0], TINY)
            total += near * near
        return total

    cdef void _image(self, const double *x, double *out) noexcept nogil:
        """B x = (t, τ∘w)."""
        cdef Py_ssize_t j
        out[0] = x[self.d]
        for j in range(self.d):
            out[1 + j] = self.scales[j] * x[j]

    cdef void _unscale(self, const double *u, double *out) noexcept nogil:
        """out = W⁻¹u."""
        cdef Py_ssize_t j
        cdef double *v = self.v
        cdef double across = dot(self.size, v, u) - v[0] * u[0]
        cdef double lead = across / (1.0 + v[0]) - u[0]
        cdef double head = (v[0] * u[0] - across) / self.eta
        for j in range(1, self.size):
            out[j] = (u[j] + lead * v[j]) / self.eta
        out[0] = head

    cdef double _square(self, const double *k) noexcept nogil:
        """k_0² − ‖k_1‖², kept positive."""
        cdef double norm = sqrt(dot(self.d, k + 1, k + 1))
        return max((k[0] - norm) * (k[0] + norm), TINY)


cdef class BoxNoise(Noise):
    """t ≥ Στ_j|w_j| by two inequalities k ≥ 0 for each of the f features with τ_j > 0.

    k⁺ − k⁻ = 2w_j, and t = Στ_j(k⁺+k⁻)/2 holds throughout. With D = h/k, S = D⁺ + D⁻
    and V = Στ²/S the pairs leave diag(4D⁺D⁻/S) + (m,1)(m,1)ᵀ/V, m_j = τ_j(D⁺−D⁻)/S; and
    dh = aim − D dk. Entries j < f of the vectors belong to k⁺, f + j to k⁻ of the same
    feature, which is number `at[j]`.
    """

    cdef Py_ssize_t[::1] at
    cdef double *tau
    cdef double *slope  # m
    cdef double *sum  # S
    cdef double *k
    cdef double *h
    cdef double *dk
    cdef double *dh
    cdef double *ratio  # D
    cdef double *aim
    cdef double *weight
    cdef double spread  # V
    cdef Py_ssize_t f

    def __init__(self, scales):
        self._allocate(scales, 17)
        self.at = np.flatnonzero(scales)
        self.f, self.most_inside = self.at.shape[0], 1.0 / EPS
        self.lipschitz, self.facets = np.linalg.norm(scales), 2 * self.f
        self.tau, self.slope, self.sum = (
            self._vector(3), self._vector(4), self._vector(5),
        )
        self.k, self.h = self._vector(6), self._vector(8)
        self.dk, self.dh = self._vector(10), self._vector(12)
        self.ratio, self.aim = self._vector(14), self._vector(16)
        self.weight = self._vector(18)
        for j in range(self.f):
            self.tau[j] = self.scales[self.at[j]]

    cdef double support(self, const double *w) noexcept nogil:
        cdef Py_ssize_t j
        cdef double total = 0.0
        for j in range(self.d):
            total += self.scales[j] * fabs(w[j])
        return total

    cdef void start(
        self, const double *x, double s, double inside, double mu
    ) noexcept nogil:
        """Set k at x, and an h whose products with it are even: h⁺ + h⁻ = sτ."""
        cdef Py_ssize_t j, f = self.f
        cdef double up, down, apart, excess = max(x[self.d] - self.support(x), TINY)
        for j in range(f):
            apart = excess / (f * self.tau[j])
            up = 2.0 * max(x[self.at[j]], 0.0) + apart
            down = 2.0 * max(-x[self.at[j]], 0.0) + apart
            self.k[j], self.k[f + j] = up, down
            self.h[j] = s * self.tau[j] * down / (up + down)
            self.h[f + j] = s * self.tau[j] * up / (up + down)
        for j in range(2 * f):
            self.weight[j] = self.k[j] * self.h[j] / mu

    cdef void scale(self, const double *x) noexcept nogil:
        cdef Py_ssize_t j, f = self.f
        cdef double up, down, root, spread = 0.0
        for j in range(2 * f):
            self.ratio[j] = self.h[j] / self.k[j]
        for j in range(f):
            up, down = self.ratio[j], self.ratio[f + j]
            self.sum[j] = up + down
            self.slope[j] = self.tau[j] * (up - down) / self.sum[j]
            self.diagonal[self.at[j]] = 4.0 * up * (down / self.sum[j])
            spread += self.tau[j] * self.tau[j] / self.sum[j]
        self.spread = max(spread, TINY)
        root = sqrt(self.spread)
        for j in range(f):
            self.row[self.at[j]] = self.slope[j] / root
        self.row[self.d] = 1.0 / root

    cdef void correct(self, double target, double *right) noexcept nogil:
        """k·h → weight·target, less what the predictor's product is off by."""
        cdef Py_ssize_t j, f = self.f
        cdef double lead, product, multiplier = 0.0, sizes = 0.0
        for j in range(2 * f):
            product = self.weight[j] * target - self.dk[j] * self.dh[j]
            self.aim[j] = product / self.k[j] - self.h[j]
            multiplier += self.h[j]
        lead = self._rise() / self.spread
        for j in range(f):
            product = lead - (self.aim[j] + self.aim[f + j]) / self.tau[j]
            product = self.slope[j] * product + (self.h[j] - self.h[f + j])
            right[self.at[j]] += product + (self.aim[j] - self.aim[f + j])
            sizes += self.tau[j]
        right[self.d] += multiplier / max(sizes, TINY) + lead

    cdef double _rise(self) noexcept nogil:
        """Στ(aim⁺ + aim⁻)/S."""
        cdef Py_ssize_t j, f = self.f
        cdef double rise = 0.0
        for j in range(f):
            rise += self.tau[j] * (self.aim[j] + self.aim[f + j]) / self.sum[j]
        return rise

    cdef void move(self, const double *dx, bint corrected) noexcept nogil:
        cdef Py_ssize_t j, f = self.f
        cdef double dw, rest, multiplier
        if not corrected:
            for j in range(2 * f):
                self.aim[j] = -self.h[j]
        multiplier = self._rise() - dx[self.d]
        for j in range(f):
            multiplier -= self.slope[j] * dx[self.at[j]]
        multiplier /= self.spread  # its move
        for j in range(f):
            dw = 2.0 * dx[self.at[j]]
            rest = self.aim[j] + self.aim[f + j] - self.tau[j] * multiplier
            self.dk[j] = (rest + self.ratio[f + j] * dw) / self.sum[j]
            self.dk[f + j] = (rest - self.ratio[j] * dw) / self.sum[j]
        for j in range(2 * f):
            self.dh[j] = self.aim[j] - self.ratio[j] * self.dk[j]

    cdef double longest(self) noexcept nogil:
        cdef Py_ssize_t j
        cdef double rate = TINY
        for j in range(2 * self.f):
            rate = max(rate, max(-self.dk[j] / self.k[j], -self.dh[j] / self.h[j]))
        return 1.0 / rate

    cdef void advance(self, double t) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(2 * self.f):
            self.k[j] = max(self.k[j] + t * self.dk[j], TINY)
            self.h[j] = max(self.h[j] + t * self.dh[j], TINY)

    cdef double distance(self, const double *v, double s) noexcept nogil:
        cdef Py_ssize_t j
        cdef double near, total = 0.0
        for j in range(self.d):
            near = max(fabs(v[j]) - s * self.scales[j], 0.0)
            total += near * near
        return total


# -- the method --------------------------------------------------------------------


cdef class Method:
    """The method at the top on the `n` rows that were gathered."""

    cdef SmallProblem problem
    cdef Noise noise
    cdef Steering steering
    cdef Py_ssize_t n, m, d, least, read
    cdef int steps
    cdef double total, mu, gap
    # Per row: e_i, c_i, m_i, ‖e_i‖², u_i, a_i, 1−a_i, p_i, q_i, their moves, ⟨dx,e_i⟩;
    # p_i/(1−a_i), q_i/a_i, θ_i/c_i, and memory to work in.
    cdef double *e
    cdef double *c
    cdef double *target
    cdef double *square
    cdef double *u
    cdef double *a
    cdef double *rest
    cdef double *p
    cdef double *q
    cdef double *da
    cdef double *dp
    cdef double *dq
    cdef double *ratio_p
    cdef double *ratio_q
    cdef double *theta
    cdef double *change
    cdef double *work
    # Per column: x, dx, fold, fold + Σα_ie_i, Q; Newton's matrix.
    cdef double *x
    cdef double *dx
    cdef double *fold
    cdef double *combined
    cdef double *penalty
    cdef double *matrix
    # √θ_i e_i of a block of rows, and their products, in either precision.
    cdef double *block
    cdef float *coarse_block
    cdef float *coarse_matrix
    cdef Py_ssize_t[::1] place  # among all rows
    cdef double[::1] memory
    cdef Py_ssize_t used

    def __init__(self, SmallProblem problem, Steering steering, Py_ssize_t least):
        cdef Py_ssize_t n = problem.n, m = problem.m
        self.problem, self.steering = problem, steering
        self.m, self.d, self.least = m, problem.d, least
        if problem.kind == NONE:
            self.noise = Noise(problem.scales)
        elif problem.kind == BOX:
            self.noise = BoxNoise(problem.scales)
        else:
            self.noise = RoundNoise(problem.scales, problem.kind == SPHERE)
        # One block of memory for all: objects cost more than small problems do.
        self.memory = np.empty(n * (m + 16) + m * (2 * m + 2 * BLOCK + 4))
        self.place, self.e = np.empty(n, dtype=np.intp), self._carve(n * m)
        self.c, self.target, self.square = (
            self._carve(n), self._carve(n), self._carve(n),
        )
        self.u, self.a, self.rest = self._carve(n), self._carve(n), self._carve(n)
        self.p, self.q, self.da = self._carve(n), self._carve(n), self._carve(n)
        self.dp, self.dq, self.theta = self._carve(n), self._carve(n), self._carve(n)
        self.ratio_p, self.ratio_q = self._carve(n), self._carve(n)
        self.change, self.work = self._carve(n), self._carve(n)
        self.x, self.dx, self.fold = self._carve(m), self._carve(m), self._carve(m)
        self.combined, self.penalty = self._carve(m), &problem.penalty[0]
        self.matrix, self.block = self._carve(m * m), self._carve(BLOCK * m)
        self.coarse_block = <float *>self._carve(BLOCK * m)
        self.coarse_matrix = <float *>self._carve(m * m)

    cdef double *_carve(self, Py_ssize_t size) noexcept:
        self.used += size
        return &self.memory[self.used - size]

    cdef void gather(
        self, SmallProblem problem, const unsigned char[::1] inside
    ) noexcept nogil:
        """Take over the rows that are marked."""
        cdef Py_ssize_t i, j, n = 0
        cdef double *e
        for i in range(problem.n):
            if inside[i]:
                e = self.e + n * self.m
                for j in range(self.d):
                    e[j] = problem.signs[i] * problem.X[i, j]
                if problem.noisy:
                    e[self.d] = -problem.radii[i]
                if problem.centred:
                    e[self.m - 1] = problem.signs[i]
                self.c[n], self.target[n] = problem.weights[i], problem.targets[i]
                self.square[n], self.place[n] = dot(self.m, e, e), i
                n += 1
        self.n = n

    cdef void shrink(self, double[::1] a, unsigned char[::1] inside) noexcept nogil:
        """Fold the rows that the next steps will not move across the margin.

        Those are farther from it than `settled_moves` times their last move and a usual
        move, on the side that a_i is on. Nothing is done unless at most half of them, and
        no fewer than `least`, are left.
        """
        cdef Py_ssize_t i, j, kept = 0, n = self.n, m = self.m
        cdef double reach, usual = sqrt(dot(n, self.change, self.change) / n)
        cdef bint near
        for i in range(n):
            reach = self.steering.settled_moves * fabs(self.change[i]) + usual
            near = fabs(self.u[i]) <= reach or (self.u[i] > 0) != (self.a[i] > 0.5)
            self.work[i] = near
            kept += near
        if not self.least <= kept <= n // 2:
            return
        kept = 0
        for i in range(n):
            if self.work[i] > 0:
                self._copy_row(i, kept)
                kept += 1
                continue
            inside[self.place[i]], a[self.place[i]] = 0, self.u[i] > 0
            if self.u[i] > 0:
                self.total += self.c[i] * self.target[i]
                for j in range(m):
                    self.fold[j] += self.c[i] * self.e[i * m + j]
        self.n = kept

    cdef void _copy_row(self, Py_ssize_t i, Py_ssize_t k) noexcept nogil:
        """Row i takes the place of row k."""
        cdef Py_ssize_t j
        for j in range(self.m):
            self.e[k * self.m + j] = self.e[i * self.m + j]
        self.c[k], self.target[k] = self.c[i], self.target[i]
        self.square[k], self.place[k] = self.square[i], self.place[i]
        self.u[k], self.a[k], self.rest[k] = self.u[i], self.a[i], self.rest[i]
        self.p[k], self.q[k] = self.p[i], self.q[i]

    cdef void run(
        self, double goal, double[::1] x, double[::1] a, unsigned char[::1] inside,
        bint shrinks, bint known,
    ) noexcept nogil:
        """Step to the relative gap `goal`; x, a, steps and gap are what comes of it.

        From x, where it is about `known`. Where it `shrinks`, rows are folded on the
        way: their a_i is written, and their mark `inside` is taken away.
        """
        cdef Py_ssize_t i
        self.steps, self.read, self.gap = 0, self.n, INFINITY
        if known:
            for i in range(self.m):
                self.x[i] = x[i]
            if self.problem.noisy:
                self.x[self.d] = 0.0
        if self.n and (known or self._least_squares()):
            self._steps(goal, a, inside, shrinks, known)
        for i in range(self.m):
            x[i] = self.x[i]
        for i in range(self.n):
            a[self.place[i]] = self.a[i]

    cdef void _steps(
        self, double goal, double[::1] a, unsigned char[::1] inside, bint shrinks,
        bint known,
    ) noexcept nogil:
        cdef double length, beyond = self._enter(known)
        while True:
            self._measure(beyond)
            if not self.gap > goal or self.steps == self.steering.most_steps:
                return
            if not self._factorise():
                return
            length = self._solve(False, self._solve(True, 0.0))
            length = min(1.0, self.steering.to_boundary * length)
            if not length > EPS:
                return
            self._advance(length)
            self.steps += 1
            self.read += self.n
            if shrinks:
                self.shrink(a, inside)

    cdef bint _least_squares(self) noexcept nogil:
        """Minimise ½‖w‖² + ½λ_b b² + ¼Σc_i u_i² without noise; t stays 0."""
        cdef Py_ssize_t i, j, d = self.d, m = self.m
        for i in range(self.n):
            self.work[i] = 0.5 * self.c[i]
            self.change[i] = self.work[i] * self.target[i]
        self._gram()
        self._lift(self.change)
        for j in range(m):
            self.matrix[j * m + j] += self.penalty[j]
            self.x[j] = self.combined[j]
        if self.problem.noisy:
            for j in range(m):
                self.matrix[min(j, d) * m + max(j, d)] = 0.0
            self.matrix[d * m + d], self.x[d] = 1.0, 0.0
        if not self._cholesky():
            return False
        self._divide(self.x)
        if self.problem.kind == BOX and self.n < d:  # on the margin there is no inside
            for j in range(m):
                self.x[j] *= 0.5
        return True

    cdef double _enter(self, bint known) noexcept nogil:
        """Go inside all bounds: t beyond Ω(w), by a share of it that is returned.

        Where x is about `known`, a_i is what makes both products of row i the same.
        So far that t counts for as much as all rows do together, and each facet for no
        more than ten rows.
        """
        cdef Py_ssize_t i, n = self.n, d = self.d
        cdef double omega, distance, mass = 0.0, weight = 0.0, beyond = 0.0
        cdef double inside = self.steering.start_inside
        cdef double least = self.steering.least_distance
        products(n, self.m, self.e, self.x, self.change)
        for i in range(n):
            self.u[i] = self.target[i] - self.change[i]
            self.a[i] = 0.5 * self.u[i]
        if self.problem.noisy:
            omega = inside * self.noise.lipschitz * sqrt(dot(d, self.x, self.x))
            omega = max(max(self.noise.support(self.x), omega), least)
            weight = -self.fold[d]
            for i in range(n):
                self.u[i] -= omega * self.e[i * self.m + d]
                mass += self.c[i]
                weight -= 0.5 * self.c[i] * self.e[i * self.m + d]
            mass *= 0.5 * self._distance() * min(self.noise.facets / (LITTLE * n), 1.0)
            beyond = min(mass / max(weight * omega, TINY), self.noise.most_inside)
            beyond = max(beyond, least)
            self.x[d] = (1.0 + beyond) * omega
            for i in range(n):
                self.u[i] -= beyond * omega * self.e[i * self.m + d]
        distance = self._distance()
        for i in range(n):
            self.p[i] = max(self.u[i], 0.0) + distance
            self.q[i] = self.p[i] - self.u[i]
            if known:
                self.a[i] = self.p[i] / (self.p[i] + self.q[i])
            self.a[i] = min(max(self.a[i], inside), 1.0 - inside)
            self.rest[i] = 1.0 - self.a[i]
        return beyond

    cdef double _distance(self) noexcept nogil:
        """Mean distance from the margin."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.n):
            total += fabs(self.u[i])
        return max(total / self.n, self.steering.least_distance)

    cdef void _lift(self, const double *alpha) noexcept nogil:
        """combined = fold + Σα_ie_i."""
        cdef Py_ssize_t j
        combined(self.n, self.m, self.e, alpha, self.combined)
        for j in range(self.m):
            self.combined[j] += self.fold[j]

    cdef void _measure(self, double beyond) noexcept nogil:
        """Σα_ie_i, μ, and the gap over the primal value, split as in theory §6.1.

        At the start the noise gets a multiplier that balances s = Σα_iρ_i.
        """
        cdef Py_ssize_t i, j, last = self.m - 1
        cdef double positive, hinge = 0.0, complementarity = 0.0, mass = 0.0
        cdef double primal, quadratic, s = 0.0, stationarity = 0.0, product = 0.0
        for i in range(self.n):
            positive = self.c[i] * max(self.u[i], 0.0)
            hinge += positive
            mass += self.c[i]
            self.work[i] = self.c[i] * self.a[i]
            complementarity += positive - self.work[i] * self.u[i]
            product += self.rest[i] * self.p[i] + self.a[i] * self.q[i]
        self.mu = max(product, TINY) / (2.0 * self.n)
        self._lift(self.work)
        if self.problem.noisy:
            s = max(-self.combined[self.d], 0.0)
            if self.steps == 0:
                self.noise.start(self.x, max(max(s, EPS * mass), TINY), beyond, self.mu)
        primal = hinge + self.total
        for j in range(self.m):
            quadratic = 0.5 * self.penalty[j] * self.x[j]
            primal += (quadratic - self.fold[j]) * self.x[j]
            stationarity += (quadratic - self.combined[j]) * self.x[j]
        stationarity += 0.5 * self.noise.distance(self.combined, s)
        if self.problem.centred:
            s = self.combined[last]
            if self.penalty[last] > 0:
                stationarity += 0.5 * s * s / self.penalty[last]
            else:
                stationarity += s * self.x[last] + fabs(s) * (1.0 + fabs(self.x[last]))
        self.gap = max(complementarity, 0.0) + max(stationarity, 0.0)
        self.gap /= max(fabs(primal), self.problem.least_scale)

    cdef bint _factorise(self) noexcept nogil:
        """Weights θ/c, the scaling of the noise, and the factor of Newton's matrix."""
        cdef Py_ssize_t i, j, n = self.n
        cdef double theta, whole = 0.0
        for i in range(n):
            self.ratio_p[i] = self.p[i] / self.rest[i]
            self.ratio_q[i] = self.q[i] / self.a[i]
            self.theta[i] = 1.0 / (self.ratio_p[i] + self.ratio_q[i])
            whole += self.c[i] * self.theta[i]
        for i in range(n):
            theta = self.c[i] * self.theta[i]
            if not (theta * self.square[i] * n > 1.0 or theta * n > LITTLE * whole):
                theta = 0.0
            self.work[i] = theta
        self._gram()
        for j in range(self.m):
            self.matrix[j * self.m + j] += self.penalty[j]
        self.noise.scale(self.x)
        self.noise.add_curvature(self.matrix, self.m)
        return self._cholesky()

    cdef double _solve(self, bint predicts, double target) noexcept nogil:
        """dx and all that moves with it, of the predictor or of the step.

        The step aims at products of `target`, less what those of the predictor are off
        by. Return the largest length that stays inside; of the predictor the next
        target, σμ by Mehrotra's rule.
        """
        cdef Py_ssize_t i, j
        cdef double aim, da, dp, dq, length, after, rate = 0.0, first = 0.0, second = 0.0
        for i in range(self.n):
            aim = self.u[i]
            if not predicts:
                self.dp[i] = (target + self.da[i] * self.dp[i]) / self.rest[i]
                self.dq[i] = (target - self.da[i] * self.dq[i]) / self.a[i]
                aim += self.dq[i] - self.dp[i]
            self.da[i] = aim
            self.work[i] = self.c[i] * self.theta[i] * aim
        combined(self.n, self.m, self.e, self.work, self.dx)
        for j in range(self.m):
            self.dx[j] += self.combined[j] - self.penalty[j] * self.x[j]
        if not predicts:
            self.noise.correct(target, self.dx)
        self._divide(self.dx)
        products(self.n, self.m, self.e, self.dx, self.change)
        for i in range(self.n):
            da = self.theta[i] * (self.da[i] - self.change[i])
            dp = self.ratio_p[i] * da - self.p[i]
            dq = -self.ratio_q[i] * da - self.q[i]
            if predicts:
                first += self.rest[i] * dp - da * self.p[i]
                first += self.a[i] * dq + da * self.q[i]
                second += da * (dq - dp)
            else:
                dp += self.dp[i]
                dq += self.dq[i]
            rate = max(rate, max(da / self.rest[i], -da / self.a[i]))
            rate = max(rate, max(-dp / self.p[i], -dq / self.q[i]))
            self.da[i], self.dp[i], self.dq[i] = da, dp, dq
        self.noise.move(self.dx, not predicts)
        length = 1.0 / rate if rate > 1.0 else 1.0 / self.steering.to_boundary
        length = min(length, self.noise.longest())
        if not predicts:
            return length
        length = min(length, 1.0)
        after = 1.0 + (first + length * second) * length / (2.0 * self.n * self.mu)
        return self.mu * min(max(after, 0.0), 1.0) ** 3

    cdef void _advance(self, double t) noexcept nogil:
        """Go on by a step of length t."""
        cdef Py_ssize_t i, j
        for j in range(self.m):
            self.x[j] += t * self.dx[j]
        for i in range(self.n):
            self.u[i] -= t * self.change[i]
            self.rest[i] = max(self.rest[i] - t * self.da[i], TINY)
            self.a[i] = max(self.a[i] + t * self.da[i], TINY)
            self.p[i] += t * self.dp[i]
            self.q[i] += t * self.dq[i]
        self.noise.advance(t)

    # -- algebra

    cdef void _gram(self) noexcept nogil:
        """matrix = Σ work_i e_ie_iᵀ, the triangle [i, j ≥ i] of the rows."""
        cdef Py_ssize_t i, j, used = 0, m = self.m
        cdef double root, size = 0.0
        cdef double *e
        cdef bint coarse
        for i in range(self.n):
            size += self.work[i] * self.square[i]
        coarse = COARSE * size <= LITTLE
        for j in range(m * m):
            self.matrix[j] = 0.0
        for i in range(self.n):
            if self.work[i] > 0.0:
                root, e = sqrt(self.work[i]), self.e + i * m
                if coarse:
                    for j in range(m):
                        self.coarse_block[used * m + j] = <float>(root * e[j])
                else:
                    for j in range(m):
                        self.block[used * m + j] = root * e[j]
                used += 1
            if used == BLOCK or (i == self.n - 1 and used > 0):
                self._add_block(used, coarse)
                used = 0

    cdef void _add_block(self, Py_ssize_t used, bint coarse) noexcept nogil:
        """Add the products of a block of rows to the matrix."""
        cdef int m = self.m, k = used
        cdef Py_ssize_t i, j
        cdef double one = 1.0
        cdef float single = 1.0, nothing = 0.0
        if not coarse:
            dsyrk("L", "N", &m, &k, &one, self.block, &m, &one, self.matrix, &m)
            return
        ssyrk(
            "L", "N", &m, &k, &single, self.coarse_block, &m, &nothing,
            self.coarse_matrix, &m,
        )
        for i in range(m):
            for j in range(i, m):
                self.matrix[i * m + j] += self.coarse_matrix[i * m + j]

    cdef bint _cholesky(self) noexcept nogil:
        """Factorise the matrix in place; False if it has no factor."""
        cdef int m = self.m, failed = 0
        dpotrf("L", &m, self.matrix, &m, &failed)
        return failed == 0

    cdef void _divide(self, double *right) noexcept nogil:
        """Solve with the factorised matrix, in place."""
        cdef int m = self.m, one = 1, failed = 0
        dpotrs("L", &m, &one, self.matrix, &m, right, &m, &failed)


cdef double dot(Py_ssize_t size, const double *a, const double *b) noexcept nogil:
    cdef Py_ssize_t j
    cdef double total = 0.0
    for j in range(size):
        total += a[j] * b[j]
    return total


cdef void products(
    Py_ssize_t n, Py_ssize_t m, const double *rows, const double *x, double *out
) noexcept nogil:
    """out_i = ⟨x, row i⟩."""
    multiply("T", n, m, rows, x, out)


cdef void combined(
    Py_ssize_t n, Py_ssize_t m, const double *rows, const double *a, double *out
) noexcept nogil:
    """out = Σ a_i row i."""
    multiply("N", n, m, rows, a, out)


cdef void multiply(
    char *how, int n, int m, const double *rows, const double *x, double *out
) noexcept nogil:
    cdef int step = 1
    cdef double one = 1.0, zero = 0.0
    dgemv(
        how, &m, &n, &one, <double *>rows, &m, <double *>x, &step, &zero, out, &step
    )


# -- working sets ------------------------------------------------------------------


def minimise(
    SmallProblem problem,
    double goal,
    Steering steering,
    Py_ssize_t least,
    Py_ssize_t many,
    slack=None,
    Py_ssize_t few=0,
    begin=None,
):
    """Step to the relative gap `goal`; return (x, α/c, steps, rows read, gap).

    From `begin` = (w, b), where that is about known; then later rounds begin at x.

    With about known slacks u_i steps are taken on at least `few` rows, those nearest to
    the margin, else on all. Others have α_i = c_i where u_i > 0 and 0 elsewhere; they
    are folded. The slacks at the solution show which of them were wrong: these join,
    and those that are the nearest now, until what is wrong costs a little of the goal
    at most. Where more than `many` rows would have to join, steps are taken on all.
    Rows of no weight never matter.
    """
    cdef Py_ssize_t i, n = problem.n, rounds = 0, steps = 0, read = 0
    cdef double gap, scale, lost, distance = 0.0
    cdef bint all_rows = slack is None, tried_all = False, shrinks
    cdef Method method = Method(problem, steering, least)
    cdef bint known = begin is not None
    answer, shares = np.empty(problem.m), np.zeros(n)
    if known:
        answer[: problem.d] = begin[: problem.d]
        if problem.centred:
            answer[problem.m - 1] = begin[problem.d]
    cdef double[::1] u = np.zeros(n) if all_rows else np.array(slack, dtype=np.float64)
    cdef double[::1] a = shares, x = answer, work = np.empty(n)
    cdef unsigned char[::1] inside = np.zeros(n, dtype=np.uint8)
    few = min(max(few, least), n)
    with nogil:
        while True:
            if not all_rows:
                all_rows = add_nearest(u, few, distance, inside) > many
            shrinks = not tried_all if all_rows else rounds < 2
            if all_rows:
                tried_all = True
                for i in range(n):
                    inside[i] = problem.weights[i] > 0
            fold_others(problem, u, inside, a, work, method)
            method.gather(problem, inside)
            method.run((1.0 - LITTLE) * goal, x, a, inside, shrinks, known)
            steps, read = steps + method.steps, read + method.read
            gap, lost, scale = method.gap, INFINITY, 1.0
            if gap <= goal:
                lost = verify(problem, x, u, inside, a, work, &scale, &distance)
            if lost <= LITTLE * goal * scale or (all_rows and not shrinks):
                break
            # Rows join in every round but where arithmetic overflows.
            all_rows = not (gap <= goal and lost < INFINITY)
            few, rounds, known = least, rounds + 1, known and not all_rows
    return answer, shares, steps, read, gap


cdef Py_ssize_t add_nearest(
    const double[::1] slack, Py_ssize_t few, double least, unsigned char[::1] inside
) noexcept nogil:
    """Mark so many rows nearest to the margin, and all as near; return how many.

    How near they are is found by halving, 64 times at most: a number has fewer bits.
    """
    cdef Py_ssize_t i, count, n = slack.shape[0]
    cdef double middle, low = 0.0, high = 0.0
    for i in range(n):
        high = max(high, fabs(slack[i]))
    for _ in range(64):
        middle, count = 0.5 * (low + high), 0
        for i in range(n):
            count += not fabs(slack[i]) > middle
        if count < few:
            low = middle
        else:
            high = middle
        if count == few:
            break
    count, high = 0, max(high, least)
    for i in range(n):
        inside[i] = inside[i] or not fabs(slack[i]) > high
        count += inside[i]
    return count


cdef void fold_others(
    SmallProblem problem,
    const double[::1] slack,
    const unsigned char[::1] inside,
    double[::1] a,
    double[::1] work,
    Method method,
) noexcept nogil:
    """Put the rows outside to their bounds, and fold them for the method."""
    cdef Py_ssize_t i, j
    cdef double s = 0.0, balance = 0.0, alpha
    method.total = problem.total
    for i in range(problem.n):
        a[i] = 1.0 if slack[i] > 0.0 else 0.0
        alpha = 0.0 if inside[i] else problem.weights[i] * a[i]
        work[i] = alpha * problem.signs[i]
        method.total += alpha * problem.targets[i]
        s += alpha * problem.radii[i]
        balance += work[i]
    combined(problem.n, problem.d, &problem.X[0, 0], &work[0], method.fold)
    if problem.noisy:
        method.fold[problem.d] = -s
    if problem.centred:
        method.fold[problem.m - 1] = balance
    for j in range(problem.m):
        method.fold[j] += problem.fold[j]


cdef double verify(
    SmallProblem problem,
    const double[::1] x,
    double[::1] slack,
    unsigned char[::1] inside,
    const double[::1] a,
    double[::1] work,
    double *scale,
    double *distance,
) noexcept nogil:
    """Write the slacks at x; mark rows at the wrong bound, return what they cost.

    Write what gaps are relative to, and the mean distance of those rows too.
    """
    cdef Py_ssize_t i, j
    cdef double lost = 0.0, wrong = 0.0, value = problem.total
    cdef double t = x[problem.d] if problem.noisy else 0.0
    cdef double b = x[problem.m - 1] if problem.centred else 0.0
    for j in range(problem.m):
        value += (0.5 * problem.penalty[j] * x[j] - problem.fold[j]) * x[j]
    products(problem.n, problem.d, &problem.X[0, 0], &x[0], &work[0])
    for i in range(problem.n):
        slack[i] = problem.targets[i] - problem.signs[i] * (work[i] + b)
        slack[i] += problem.radii[i] * t
        value += problem.weights[i] * max(slack[i], 0.0)
        if not inside[i] and (slack[i] > 0.0) != (a[i] > 0.0):
            lost += problem.weights[i] * fabs(slack[i])
            wrong += problem.weights[i]
            inside[i] = problem.weights[i] > 0
    scale[0], distance[0] = max(value, problem.least_scale), lost / max(wrong, TINY)
    return lost
