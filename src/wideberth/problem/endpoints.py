"""The two ends of every path: when the model is null, and when all samples saturate.

Null model (theory §2, §14). At w = 0 only b is left to choose; it is a weighted
quantile of the targets. With the slacks u_i = m_i − y_i b at the best b, the dual
optima of that problem form a face A: α_i = c_i where u_i > 0, α_i = 0 where u_i < 0.
Tied samples, those with u_i = 0, have any 0 ≤ α_i ≤ c_i that balance the others:
Σα_i y_i = λ_b b. In classification the tied samples are the majority class, where the
classes differ in weight by more than λ_b; otherwise there are none. Then

    w* = 0   ⟺   some α ∈ A has Ω°(d(α)) ≤ s(α)   ⟺   t* ≤ 1,
    t* = min_{α∈A} Ω°(d(α)) / s(α),   the factor on the radii from which on w* = 0.

With a norm penalty s₀Ω(w) the condition is Ω°(d(α)) ≤ s₀ + s(α), which depends on C
(theory §10).

If A is one point, t* has a closed form. Otherwise t* is bracketed: any α ∈ A bounds it
from above, and any direction w from below, by the t at which the minimum over A of
⟨w,d(α)⟩ − tΩ(w)s(α), a knapsack problem solved by one sort, is 0. The pairs (α, w) come
from accelerated projected gradient descent on ½dist(d(α), tsU)² over A, where t is the
lower bound so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem.changes import build_problem
from wideberth.problem.limits import MOST_STEPS
from wideberth.problem.problem import Problem
from wideberth.problem.rounding import accurate_sum, sum_rounding, totals_rounding
from wideberth.problem.statement import Statement


@dataclass(frozen=True)
class Bracket:
    """Bounds on a number; equal if it has a closed form."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """Relative width."""
        if self.lower == self.upper:
            return 0.0
        if self.upper == float("inf"):
            return self.upper
        return (self.upper - self.lower) / self.upper

    def __str__(self):
        if self.lower < self.upper:
            return f"between {self.lower:.4g} and {self.upper:.4g}"
        return f"{self.upper:.6g}"


def critical_radius(
    X,
    y=None,
    *,
    C=1.0,
    noise="l2",
    X_err=None,
    error_shape="ellipsoid",
    norm_penalty=0.0,
    fit_intercept=True,
    intercept_penalty=0.0,
    sample_weight=None,
    loss="hinge",
    quantile=0.5,
    tol=1e-3,
    max_iter=200,
) -> Bracket:
    """Return the radius from which on the best robust model is constant, w = 0.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or Problem
        Data in memory; or a problem, which replaces all other arguments; its radii are
        ignored.
    y : array of shape (n,)
        Labels of two classes, or numbers, as in `solve`.
    C, noise, X_err, error_shape, norm_penalty
    fit_intercept, intercept_penalty, sample_weight, loss, quantile
        As in `solve`. With `X_err` the result is a factor on all errors.
    tol : float
        Relative width of the bracket at which to stop.
    max_iter : int
        Largest number of steps; a closed form needs none.

    Returns
    -------
    Bracket
        `lower` and `upper` bounds; equal if there is a closed form.
    """
    if isinstance(X, Problem):
        return critical_scale(X.with_radii(1.0), tol=tol, max_iter=max_iter)
    statement = Statement(
        C=C,
        radius=0.0,
        noise=noise,
        X_err=X_err,
        error_shape=error_shape,
        norm_penalty=norm_penalty,
        fit_intercept=fit_intercept,
        intercept_penalty=intercept_penalty,
        sample_weight=sample_weight,
        loss=loss,
        quantile=quantile,
    )
    presolved = build_problem(X, y, statement)
    with np.errstate(all="ignore"):
        found = critical_scale(presolved.unit_radii, tol=tol, max_iter=max_iter)
    return Bracket(presolved.radius(found.lower), presolved.radius(found.upper))


def null_certificate(
    problem: Problem, start: np.ndarray | None = None, max_iter: int = 0
) -> np.ndarray | None:
    """Return α ∈ A with Ω°(d(α)) ≤ s(α), which proves w* = 0, or None.

    None disproves it where A is one point. Otherwise only the middle of A was tried,
    and with a `start` its projection on A and `max_iter` steps from there: None then
    decides nothing, and `critical_scale` brackets t*. Where α = 0 is in A, as without
    any weight, it is the proof.
    """
    face, fold = Face.of(problem), problem.folded
    middle = face.whole(face.middle)
    if fold is None and not middle.any():
        return middle
    if fold is None and not problem.radii.any() and problem.penalty == 0:
        return None
    if problem.null_bracket(middle, 1.0)[1] <= 1:
        return middle
    if not face.tied.size or start is None:
        return None
    descent = _FaceDescent(problem, face, start)
    descent.run(max_iter, threshold=1.0)
    return descent.best if descent.upper <= 1 else None


def saturation_scale(problem: Problem) -> float:
    """Return the largest factor f on the weights up to which every α_i is at a bound.

    For small f, α_i is f·c_i where the slack at w = 0 is positive, as for all samples
    in classification, and 0 where it is negative. Since w(fα) = f·w(α), the slacks are
    m_i − fψ_i at (w, b)(α), and f is where the first of them becomes 0; a free b may
    move with f. The result is 0 where a sample is tied at w = 0, as in classes of
    different weight, and beside folded samples, whose weights do not change. With a
    norm penalty w = 0 up to some f, which is returned.
    """
    if problem.folded is not None:
        return 0.0
    if problem.penalty > 0:
        return _surely_null(problem)
    push = float((problem.weights * problem.rows.norms() ** 2).max())
    # In this unit margins are about 1, and lose no digits beside targets of 1.
    unit = 2.0 ** -np.frexp(push)[1] if 0 < push < np.inf else 1.0
    problem = problem.with_weights(unit * problem.weights)
    face = _face_of_small_weights(problem)
    if face.tied.size:
        return 0.0
    full = problem.dual_at(face.fixed)
    used = np.flatnonzero(problem.weights > 0)
    margins = problem.robust_margins(full.w, full.b)[used]
    targets, above = problem.targets[used], face.fixed[used] > 0
    if problem.intercept == 0:
        return float(unit * _separated(targets, margins, problem.y[used], above))
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = targets / margins
    return float(unit * ends[(ends > 0)].min(initial=np.inf))


def _face_of_small_weights(problem: Problem) -> Face:
    """The face at w = 0 as the weights vanish, and with them a penalised b."""
    return Face.of(replace(problem, intercept=None) if problem.intercept else problem)


def _separated(targets, margins, y, above) -> float:
    """The largest f at which some b puts samples `above` at slacks ≥ 0, others at ≤ 0.

    With p_i(f) = y_i(m_i − fψ_i) these ask for b ≤ p_i or for b ≥ p_i. The least of the
    first minus the largest of the second is concave in f. Newton's steps from f = ∞
    lead to its zero along lines p_i − p_j.
    """
    highest = np.flatnonzero(above == (y > 0))
    lowest = np.flatnonzero(above != (y > 0))
    if not (highest.size and lowest.size):
        return np.inf
    f, values, slopes = np.inf, y * targets, -y * margins
    places = slopes  # in their order as f grows
    for _ in range(MOST_STEPS):
        i = highest[np.argmin(places[highest])]
        j = lowest[np.argmax(places[lowest])]
        slope = slopes[i] - slopes[j]
        ahead = (values[j] - values[i]) / slope if slope < 0 else np.inf
        if ahead >= f:
            break
        f, places = ahead, values + ahead * slopes
    return max(f, 0.0)


def _surely_null(problem: Problem) -> float:
    """The largest factor on the weights at which w = 0, less what rounding may do."""
    face = _face_of_small_weights(problem)
    scale, d = problem.null_scale(face.whole(face.middle)), problem.rows.d
    if not 0 < scale < np.inf:
        return scale
    sizes = problem.rows.norms() + problem.noise.lipschitz(d)
    error = 4 * problem.rows.combine_rounding * accurate_sum(problem.weights * sizes)
    return scale / (1 + d**0.5 * error * scale / problem.penalty)


def critical_scale(
    problem: Problem,
    *,
    tol=1e-3,
    max_iter=200,
    start: np.ndarray | None = None,
) -> Bracket:
    """Bracket t*, the factor on the radii from which on w* = 0.

    Stops at relative width `tol`. An α that proves w* = 0 under radii not far away is a
    good `start`.
    """
    face, problem = Face.of(problem), problem.about_measurements()
    if not face.tied.size:
        return Bracket(*problem.null_bracket(face.fixed))
    return _FaceDescent(problem, face, start).run(max_iter, tol)


@dataclass(frozen=True)
class Face:
    """The face A of dual optima at w = 0.

    Samples `tied` have any α_i between 0 and `caps` = c_i that meet one condition on
    their sum; the α of the others are `fixed`. The variables are β_i = α_i where
    y_i = 1, and β_i = c_i − α_i where y_i = −1, so that the condition is Σβ_i = `mass`;
    None without an intercept.
    """

    fixed: np.ndarray  # α of all samples, 0 where tied
    tied: np.ndarray  # indices
    caps: np.ndarray
    flipped: np.ndarray  # tied samples with y_i = −1, as a mask
    mass: float | None

    @classmethod
    def of(cls, problem: Problem) -> Face:
        """The face of a problem."""
        y, c, slack = problem.y, problem.weights, problem.targets
        if problem.intercept is not None:
            b = problem.best_intercept(slack)
            slack = slack - y * b
        fixed = np.where(slack > 0, c, 0.0)
        tied = np.flatnonzero((slack == 0) & (c > 0))
        flipped, caps, mass = y[tied] < 0, np.asarray(c[tied]), None
        if problem.intercept is not None and tied.size:
            balance = 0.0 if problem.folded is None else problem.folded.balance
            rest = problem.intercept * b - balance - accurate_sum(fixed * y)
            mass = rest + accurate_sum(np.where(flipped, caps, 0.0))
            whole, error = accurate_sum(caps), sum_rounding(problem.n) * accurate_sum(c)
            if mass <= error or mass >= whole - error:  # a point, up to rounding
                at_most = (mass > error) != flipped
                fixed[tied] = np.where(at_most, caps, 0.0)
                tied, caps, flipped, mass = tied[:0], caps[:0], flipped[:0], None
        return cls(fixed, tied, caps, flipped, mass)

    @property
    def middle(self) -> np.ndarray:
        """β in the middle: the same share of every weight."""
        if self.mass is None:
            return 0.5 * self.caps
        return self.caps * (self.mass / accurate_sum(self.caps))

    def whole(self, beta: np.ndarray) -> np.ndarray:
        """α of all samples."""
        alpha = self.fixed.copy()
        alpha[self.tied] = np.where(self.flipped, self.caps - beta, beta)
        return alpha

    def along(self, values: np.ndarray) -> np.ndarray:
        """Derivatives by β, from those by the α of all samples."""
        own = values[self.tied]
        return np.where(self.flipped, -own, own)

    def project(self, beta: np.ndarray) -> np.ndarray:
        """The nearest β of the face."""
        if self.mass is None:
            return np.clip(beta, 0.0, self.caps)
        return project(beta, self.caps, self.mass)

    def least(self, scores: np.ndarray) -> np.ndarray:
        """The β of the face with the least ⟨scores, β⟩."""
        if self.mass is None:
            return np.where(scores < 0, self.caps, 0.0)
        return _knapsack(scores, self.caps, self.mass)


class _FaceDescent:
    """FISTA with restarts on ½dist(d(α), tsU)² over A, and the bracket it yields."""

    def __init__(self, problem: Problem, face: Face, start=None):
        self.problem, self.face = problem, face
        self.free = face.middle
        if start is not None:
            own = start[face.tied]
            self.free = face.project(np.where(face.flipped, face.caps - own, own))
        self.ahead, self.momentum = self.free, 1.0
        norms = problem.rows.norms()[face.tied]
        self.lipschitz = float(norms.max(initial=1e-150) ** 2)
        self.lower, self.best = 0.0, face.whole(self.free)
        self.last: np.ndarray | None = None
        self.first_upper = self.upper = problem.null_bracket(self.best)[1]

    def run(self, max_iter: int, tol=0.0, threshold: float | None = None) -> Bracket:
        """Take steps until the bracket is narrow, or the threshold is outside of it."""
        bracket = Bracket(self.lower, self.upper)
        for _ in range(max_iter):
            decided = threshold is not None and not (
                bracket.lower <= threshold < bracket.upper
            )
            vanished = bracket.upper <= tol * self.first_upper
            if decided or vanished or bracket.width <= tol:
                break
            bracket = self.step()
        return bracket

    def step(self) -> Bracket:
        """One projected gradient step, then the bounds at its result."""
        value, gradient, _ = self._evaluate(self.ahead)
        steepest = self._steepest()
        for _ in range(MOST_STEPS):
            moved = self.face.project(self.ahead - gradient / self.lipschitz)
            change = moved - self.ahead
            new_value, _, w = self._evaluate(moved)
            model = value + gradient @ change + 0.5 * self.lipschitz * (change @ change)
            fits = new_value <= model + sum_rounding(self.problem.n) * abs(value)
            if fits or self.lipschitz >= steepest:  # which a rough w(α) may not fit
                break
            self.lipschitz *= 2
        if gradient @ (moved - self.free) > 0:
            self.momentum = 1.0
        momentum = 0.5 * (1 + np.sqrt(1 + 4 * self.momentum**2))
        extrapolation = (self.momentum - 1) / momentum
        self.ahead = self.face.project(moved + extrapolation * (moved - self.free))
        self.free, self.momentum = moved, momentum
        alpha = self.face.whole(moved)
        if (ratio := self.problem.null_bracket(alpha)[1]) < self.upper:
            self.upper, self.best = ratio, alpha
        self.lower = min(max(self.lower, self._lower_bound(w, moved)), self.upper)
        return Bracket(self.lower, self.upper)

    def _steepest(self) -> float:
        """Σ(‖z_i‖ + tL_i)² over tied samples: no gradient changes faster than that."""
        problem = self.problem
        reach = problem.noise.lipschitz(problem.rows.d)
        sizes = problem.rows.norms() + self.lower * reach
        return float(np.sum(sizes[self.face.tied] ** 2))

    def _evaluate(self, free):
        problem, alpha = self.problem, self.face.whole(free)
        w = problem.closest(alpha, self.lower, self.last)
        self.last = w
        noise = self.lower * problem.noise.supports(w)
        gradient = self.face.along(problem.rows.margins(w) - noise)
        return 0.5 * float(w @ w), gradient, w

    def _lower_bound(self, w, free) -> float:
        """The t at which min_A Σα_i(⟨w,z_i⟩ − tΩ(w)ρ_i) vanishes, from above."""
        problem = self.problem
        margins, noise = problem.rows.margins(w), problem.noise.supports(w)
        penalty, gained, paid = problem.penalty_set.support(w), 0.0, 0.0
        if (fold := problem.folded) is not None:
            gained = float(fold.d @ w)
            paid = 0.0 if fold.noise is None else fold.noise.support(w)
        t = float("inf")
        for _ in range(MOST_STEPS):
            alpha = self.face.whole(free)
            gain = gained + accurate_sum(alpha * margins) - penalty
            cost = paid + accurate_sum(alpha * noise)
            if cost <= 0:
                return float("inf") if gain > 0 else 0.0
            if gain / cost >= t:
                return max(t - self._gain_rounding(w, alpha) / cost, 0.0)
            t = gain / cost
            if t <= 0:
                return 0.0
            free = self.face.least(self.face.along(margins - t * noise))
        return 0.0

    def _gain_rounding(self, w, alpha) -> float:
        """Error of Σα_i⟨w,z_i⟩; where t* = 0 all of the computed sum may be error."""
        rows = self.problem.rows
        relative = rows.margin_rounding + totals_rounding(self.problem)
        relative += self.problem.noise.sets.rotation_error
        size, error = accurate_sum(alpha * rows.norms()), 0.0
        if (fold := self.problem.folded) is not None:
            size, error = size + fold.mass, fold.rounding
        return float(np.linalg.norm(w)) * (relative * size + error)


def project(point: np.ndarray, caps: np.ndarray, mass: float) -> np.ndarray:
    """Euclidean projection onto {0 ≤ a ≤ caps, Σa = mass}: a shift of the point, cut.

    The sum falls along pieces of lines as the shift grows. Newton's steps go from piece
    to piece, and halve what is left where they would leave it.
    """
    low, high = float((point - caps).min()), float(point.max())
    shift, close = 0.5 * (low + high), sum_rounding(point.size) * mass
    for _ in range(MOST_STEPS):
        found = np.clip(point - shift, 0.0, caps)
        excess = float(found.sum()) - mass
        if abs(excess) <= close:
            break
        low, high = (shift, high) if excess > 0 else (low, shift)
        slope = np.count_nonzero((found > 0) & (found < caps))
        ahead = shift + excess / slope if slope else high
        shift = ahead if low < ahead < high else 0.5 * (low + high)
    return found


def _knapsack(scores: np.ndarray, caps: np.ndarray, mass: float) -> np.ndarray:
    """Minimise ⟨scores,a⟩ over 0 ≤ a ≤ caps, Σa = mass: fill from the lowest score."""
    order = np.argsort(scores)
    filled = np.minimum(np.cumsum(caps[order]), mass)
    amounts = np.empty_like(caps)
    amounts[order] = np.diff(filled, prepend=0.0)
    return amounts
