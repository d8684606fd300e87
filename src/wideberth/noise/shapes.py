"""Shapes of noise that all samples share.

A shape is a unit set U (closed, convex, symmetric); a sample of radius ρ may move by
any δ ∈ ρU. Everything the library needs of U follows from its support function
Ω(w) = max_{δ∈U} ⟨w,δ⟩, a (semi)norm (theory §1), and from the projection onto sU, which
gives the primal point of a dual one: prox_{sΩ}(d) = d − Proj_{sU}(d) (theory §2).

Most of them are balls of a p-norm with noise scales τ_j ≥ 0, Ω(w) = ‖τ∘w‖_q with
1/p + 1/q = 1: ellipsoids (q = 2), boxes (q = 1) and cross-polytopes (q = ∞). Boxes and
cross-polytopes are the shapes of data sheets and of tolerances. Boxes select features:
where the noise of a feature outweighs what it tells, its weight is 0 to the last digit.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

from wideberth.noise.factors import (
    check_covariance,
    factor_of,
    labelled_covariance,
    principal_axes,
)
from wideberth.noise.sets import Sets, SumOfSets
from wideberth.problem.limits import EPS, MOST_STEPS, power_of_two
from wideberth.problem.rounding import sum_of_products
from wideberth.problem.validation import labelled_rows

#: Largest correlation, and largest change of a scale of 1, that counts as rounding in
#: the product of a linear map with a shape. Products of two transforms in float64 are
#: off by d·2⁻⁵³, which is below 1e-10 for d < 10⁵.
ROUNDING = 1e-10


class Shape(Sets):
    """A unit set U that all samples share, known through its support function Ω."""

    proportional = True
    remedy = (
        "noise is a covariance whose own rounding blurs the directions without noise: "
        "give a factor of it (wideberth.Correlated.from_factor)"
    )
    #: p, if U is the unit ball of the p-norm in the coordinates of `standardised`.
    order: float = 2.0
    #: q if Ω(w) = ‖τ∘w‖_q in the coordinates of `axes`, with 1/p + 1/q = 1.
    dual_order: float | None = None
    #: τ, in those coordinates: one number per feature, or one for all.
    scales: np.ndarray
    #: Names of the features, where the shape was given by them.
    feature_names: list | None = None
    #: H: Ω(w) after a rotation to `axes` is off by at most H‖w‖ (`factors`).
    support_error: float = 0.0

    @property
    def shape(self):
        return self

    @abstractmethod
    def support(self, w: np.ndarray) -> float:
        """Ω(w), the most that a perturbation in U can change ⟨w,x⟩."""

    @abstractmethod
    def maximizer(self, w: np.ndarray) -> np.ndarray:
        """A δ ∈ U with ⟨w,δ⟩ = Ω(w); where Ω is smooth, its gradient."""

    @abstractmethod
    def prox(self, d: np.ndarray, s: float) -> np.ndarray:
        """The minimiser of ½‖w−d‖² + sΩ(w), which is d − Proj_{sU}(d)."""

    @abstractmethod
    def dual_norm(self, d: np.ndarray) -> float:
        """Ω°(d), the smallest t ≥ 0 with d ∈ tU (infinite where there is none)."""

    @abstractmethod
    def lipschitz(self, n_features: int) -> float:
        """The largest Ω(w) over ‖w‖₂ ≤ 1."""

    def inscribed(self, n_features: int) -> float:
        """The radius of a Euclidean ball inside U; 0 where none is known."""
        return 0.0

    def supports(self, w):
        return self.support(w)

    def support_errors(self, w):
        return self.support_error * safe_norm(w) if self.support_error else 0.0

    def axes_errors(self):
        return self.support_error

    def sum(self, a, radii):
        return ScaledShape(self, sum_of_products(a, radii))

    def penalty(self, s, n_features):
        return ScaledShape(self, s)

    def penalty_unit(self, factor):
        return factor

    def norm(self, w):
        lipschitz = self.lipschitz(w.size)
        return self.support(w) / lipschitz if lipschitz > 0 else 0.0

    def moves(self, w):
        return self.maximizer(w)

    def cells(self, i, j):
        scales = self.scales
        return scales[j] if scales.ndim else np.broadcast_to(scales, np.shape(j))

    def unit(self, sigma, usual):
        return 1.0 if 1 / usual <= self.magnitude <= usual else self.magnitude

    @property
    def principal(self) -> Shape:
        """The shape in the coordinates of `axes`."""
        return self

    @property
    def squares(self) -> np.ndarray:
        """τ² where Ω(w) = ‖τ∘w‖₂: what makes Ω smooth, Ω² being quadratic."""
        raise NotImplementedError(f"{self.name} noise has no smooth support function")

    @property
    def magnitude(self) -> float:
        """The power of two next to the largest noise scale; 1 where there is none."""
        return 1.0

    def check_features(self, n_features: int) -> None:
        """Refuse a shape that was made for another number of features."""

    def degrees(self, n_features: int) -> int:
        """In how many directions the noise moves a sample."""
        return n_features

    def standardised(self, rows: np.ndarray) -> np.ndarray:
        """Rows in coordinates where the noise is alike in all directions."""
        return rows

    def reordered(self, order: np.ndarray) -> Shape:
        """The same noise with its features in another order, and without names."""
        raise NotImplementedError(f"{self.name} noise has no names of features")

    def carried(self, A: sp.csr_array) -> Shape:
        """The shape AU of this noise after the linear map x ↦ Ax.

        By default only maps that change nothing are taken.
        """
        change = abs(A - sp.eye_array(*A.shape))
        if A.shape[0] != A.shape[1] or not change.max() <= ROUNDING:
            raise ValueError(
                f"noise={self.name!r} in raw units is of no known shape after these "
                "steps. Use a plain Pipeline with noise in transformed units."
            )
        return self

    def as_parameter(self):
        """What a user gives as `noise` for this shape: a name, scales or the shape."""
        return self

    def __repr__(self):
        return f"{type(self).__name__}()"


class Scaled(Shape):
    """The unit ball of a p-norm with noise scales τ ≥ 0: Ω(w) = ‖τ∘w‖_q.

    There is one scale per feature, or one for all. A feature with τ_j = 0 is exact.
    """

    default_radius = 1.0
    dual_order: float = 2.0
    #: Whether the scale is 1 for any number of features.
    alike = False
    #: What users call one of the scales.
    called = "scale"

    def __init__(self, scales):
        self.feature_names, self.scales = labelled_rows(scales)
        bad = np.flatnonzero(~(np.isfinite(self.scales) & (self.scales >= 0)))
        if bad.size:
            raise ValueError(
                f"noise {self.called}s must be finite and non-negative; {self.called} "
                f"{bad[0]} is {self.scales.flat[bad[0]]}."
            )

    @abstractmethod
    def with_scales(self, scales: np.ndarray) -> Scaled:
        """The shape of this kind with one scale per feature."""

    def support(self, w):
        return _norm(self.scales * w, self.dual_order)

    def dual_norm(self, d):
        """‖d/τ‖_p; infinite where d_j ≠ 0 and τ_j = 0."""
        scales = np.broadcast_to(self.scales, d.shape)
        infinite = np.where(d != 0, np.inf, 0.0)
        with np.errstate(over="ignore"):
            ratios = np.divide(d, scales, out=infinite, where=scales > 0)
        return _norm(ratios, self.order) if np.isfinite(ratios).all() else np.inf

    def lipschitz(self, n_features):
        scales, total = self.scales, self.dual_order == 1
        if scales.ndim:
            return safe_norm(scales) if total else _norm(scales, np.inf)
        return float(scales) * (math.sqrt(n_features) if total else n_features > 0)

    def inscribed(self, n_features):
        scales = np.broadcast_to(self.scales, (n_features,))
        if self.order > 1:
            return float(scales.min(initial=np.inf))
        if not scales.all():
            return 0.0
        return float(1 / np.linalg.norm(1 / scales)) if n_features else np.inf

    def conic(self, cp, w):
        scales = np.broadcast_to(self.scales, w.shape)
        return cp.norm(cp.multiply(scales, w), self.dual_order)

    def check_features(self, n_features):
        if not self.alike and self.scales.shape != (n_features,):
            raise ValueError(
                f"noise gives scales of shape {self.scales.shape}, but X has "
                f"{n_features} features; give one non-negative scale per feature."
            )

    @property
    def magnitude(self):
        if self.alike:
            return 1.0
        return power_of_two(np.frexp(self.scales.max(initial=0.0))[1])

    def degrees(self, n_features):
        return int(np.count_nonzero(np.broadcast_to(self.scales, (n_features,))))

    def standardised(self, rows):
        if not self.scales.all():
            raise ValueError(
                "noise has a scale of 0, in units of which nothing can be measured. "
                "Leave out the features without noise."
            )
        return rows / self.scales

    def reordered(self, order):
        return self if self.alike else self.with_scales(self.scales[order])

    def restricted(self, columns):
        return self.reordered(columns)

    def divided(self, factor):
        return self if self.alike else self.with_scales(self.scales / factor)

    def carried(self, A):
        """The shape after x ↦ Ax, which may scale features, not mix or copy them."""
        A = sp.csr_array(A)
        A.eliminate_zeros()
        sizes = abs(A)
        rounding = ROUNDING * sizes.max() if A.nnz else 0.0
        used = sizes > rounding
        if np.any(used.sum(axis=1) > 1) or np.any(used.sum(axis=0) > 1):
            raise ValueError(
                f"noise={self.name!r} in raw units is no longer of that shape after "
                "these steps, which mix or copy features; steps that scale, pick or "
                "order them keep it. Give one noise scale per feature instead (an "
                "ellipsoid), or use a plain Pipeline with noise in transformed units."
            )
        # At most one entry in a row, but for rounding, which is added to be safe.
        scales = sizes @ np.broadcast_to(self.scales, (A.shape[1],))
        same = self.alike and np.all(np.abs(scales - 1) <= ROUNDING)
        return self if same else self.with_scales(scales)

    def as_parameter(self):
        return self.name if self.alike else self

    def __repr__(self):
        return f"{type(self).__name__}({'' if self.alike else repr(self.scales)})"


class Ellipsoid(Scaled):
    """Axis-aligned ellipsoid with one noise level τ_j ≥ 0 per feature; Ω(w) = ‖τ∘w‖₂.

    The errors are those of the rotation to its axes, if there was one (`factors`).
    """

    name = "ellipsoid"
    smooth = True

    def __init__(self, scales, rotation_error: float = 0.0, support_error: float = 0.0):
        super().__init__(scales)
        if self.feature_names is not None:
            raise ValueError(
                "scales are labelled by feature names, which an Ellipsoid does not "
                "know; give them as noise= itself, where X has these columns."
            )
        self._squares = self.scales**2
        self.rotation_error, self.support_error = rotation_error, support_error

    @property
    def squares(self):
        return self._squares

    def with_scales(self, scales):
        return Ellipsoid(scales, self.rotation_error, self.support_error)

    def divided(self, factor):
        if self.alike:
            return self
        errors = self.rotation_error, self.support_error / factor
        return Ellipsoid(self.scales / factor, *errors)

    def maximizer(self, w):
        omega = self.support(w)
        return self.squares * w / omega if omega > 0 else np.zeros_like(w)

    def prox(self, d, s):
        if s <= 0 or not np.any(d):
            return np.array(d, dtype=np.float64)
        if self.dual_norm(np.where(self.scales > 0, d, 0.0)) <= s:
            return np.where(self.scales > 0, 0.0, d)
        multiplier = _secular_root(np.abs(self.scales * d), self.squares, s)
        return d / (1 + self.squares / multiplier)

    def carried(self, A):
        scales = np.broadcast_to(self.scales, (A.shape[1],))
        shape = ellipsoid_of(A @ sp.diags_array(scales))
        if not self.alike or shape.axes is not None:
            return shape
        return self if np.all(np.abs(shape.squares - 1) <= ROUNDING) else shape

    def as_parameter(self):
        return self.name if self.alike else self.scales


class L2(Ellipsoid):
    """Euclidean ball: isotropic noise of size ρ, the paper's case; Ω(w) = ‖w‖₂."""

    name, default_radius = "l2", 0.0
    alike = isotropic = True

    def __init__(self):
        self.scales = self._squares = np.array(1.0)

    def prox(self, d, s):
        norm = safe_norm(d)
        return d * (1 - s / norm) if norm > s else np.zeros_like(d)


class Correlated(Shape):
    """Correlated noise, given by a covariance Σ or by a factor of it.

    Errors of radius 1 are an ellipsoid of any orientation, {Fp : ‖p‖ ≤ 1} for a factor
    F with Σ = FFᵀ. They lower a margin by at most ρΩ(w), with Ω(w) = √(wᵀΣw) = ‖Fᵀw‖.
    Give a factor by `Correlated.from_factor(F)`.

    Parameters
    ----------
    covariance : array or frame of shape (d, d)
        A frame is aligned with the columns of X by its names. Directions without noise
        are those in which a covariance is 0 up to rounding: with features scaled to
        variance 1, eigenvalues at or below 4·d·ε times the largest (ε = 2⁻⁵²). If such
        directions matter, `from_factor` is more exact.

    Notes
    -----
    With F = Q diag(τ) Pᵀ the noise has the scales τ in the coordinates Qᵀx. Since
    ‖Qᵀw‖ = ‖w‖, the robust SVM is the same problem there. It is solved on data rotated
    by Q (`axes`); what rounding does to Q and τ is part of the certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import Correlated
    >>> together = Correlated([[1.0, 1.0], [1.0, 1.0]])  # both are off by the same
    >>> round(together.support(np.array([2.0, 1.0])), 6)
    3.0
    """

    name = "correlated"
    default_radius = 1.0
    smooth = True
    axes: np.ndarray

    def __init__(self, covariance):
        names, matrix = labelled_covariance(covariance)
        self._set(*factor_of(check_covariance(matrix)), names)

    @classmethod
    def from_factor(cls, factor) -> Correlated:
        """Noise of covariance FFᵀ, such as centred replicates or principal components.

        Parameters
        ----------
        factor : array or frame of shape (d, k)
            F, one row per feature; a frame's index is aligned with the columns of X.
            For k replicates in the rows of an array R it is
            ``(R - R.mean(axis=0)).T / sqrt(k - 1)``.

        Returns
        -------
        Correlated

        Examples
        --------
        >>> import numpy as np
        >>> from wideberth import Correlated
        >>> shape = Correlated.from_factor([[3.0], [4.0]])  # all errors along (3, 4)
        >>> round(shape.support(np.array([1.0, 0.0])), 12)
        3.0
        """
        names, matrix = labelled_rows(factor)
        if matrix.ndim != 2 or not np.isfinite(matrix).all():
            raise ValueError(
                f"factor has shape {matrix.shape}; it must be finite, with one row per "
                "feature and any number of columns."
            )
        shape = cls.__new__(cls)
        shape._set(matrix, 0.0, names)
        return shape

    def _set(self, factor: np.ndarray, error: float, names) -> None:
        self.axes, scales, *errors = principal_axes(factor, error)
        self.rotation_error, self.support_error = errors
        self.factor, self.feature_names = factor, names
        self._principal = Ellipsoid(scales, *errors)

    def reordered(self, order: np.ndarray) -> Correlated:
        """The same noise with its features in another order, and without names."""
        shape = Correlated.__new__(Correlated)
        shape.__dict__ = dict(vars(self))
        shape.factor, shape.axes = self.factor[order], self.axes[order]
        shape.feature_names = None
        return shape

    @property
    def principal(self) -> Ellipsoid:
        return self._principal

    @property
    def rank(self) -> int:
        """Number of directions that have noise."""
        return self.principal.degrees(len(self.factor))

    def support(self, w):
        return safe_norm(self.factor.T @ w)

    def maximizer(self, w):
        image = self.factor.T @ w
        omega = safe_norm(image)
        return self.factor @ (image / omega) if omega > 0 else np.zeros_like(w)

    def prox(self, d, s):
        return self.axes @ self.principal.prox(self.axes.T @ d, s)

    def dual_norm(self, d):
        """Ω°(d); components outside the range of Σ count where rounding allows none."""
        rotated = self.axes.T @ d
        noisy = self.principal.scales > 0
        outside = safe_norm(rotated[~noisy])
        if outside > self.rotation_error * safe_norm(rotated):
            return float("inf")
        return self.principal.dual_norm(np.where(noisy, rotated, 0.0))

    def lipschitz(self, n_features):
        return self.principal.lipschitz(n_features)

    def inscribed(self, n_features):
        return self.principal.inscribed(n_features)

    def conic(self, cp, w):
        return cp.norm2(self.factor.T @ w)

    def check_features(self, n_features):
        if len(self.factor) != n_features:
            raise ValueError(
                f"noise is a covariance of shape {self.axes.shape}, but X has "
                f"{n_features} features; give one row and one column per feature, or "
                "one row of a factor."
            )

    def degrees(self, n_features):
        return self.rank

    def standardised(self, rows):
        if self.rank < len(self.factor):
            raise ValueError(
                f"noise is a covariance of rank {self.rank} for {len(self.factor)} "
                "features: off its range there is no noise, in units of which nothing "
                "can be measured. Give a covariance of full rank, or scales."
            )
        return self.principal.standardised(rows @ self.axes)

    def carried(self, A):
        return ellipsoid_of(sp.csr_array(A @ self.factor))

    def __repr__(self):
        d, k = self.factor.shape
        return f"Correlated(factor of shape ({d}, {k}), rank={self.rank})"


def ellipsoid_of(factor: sp.csr_array) -> Ellipsoid | Correlated:
    """The shape of factor F: of scales √diag(FFᵀ), unless features are correlated."""
    covariance = sp.csr_array(factor @ factor.T)
    variances = covariance.diagonal()
    scales = np.sqrt(variances)
    rest = (covariance - sp.diags_array(variances)).tocoo()
    allowed = ROUNDING * scales[rest.coords[0]] * scales[rest.coords[1]]
    if np.any(np.abs(rest.data) > allowed):
        return Correlated.from_factor(factor.toarray())
    return Ellipsoid(scales)


def _secular_root(a: np.ndarray, squares: np.ndarray, s: float) -> float:
    """Solve ‖a / (τ² + μ)‖ = s for μ > 0, with `a` = |τ∘d| and `squares` = τ².

    Newton on 1/‖·‖, which is concave and increasing in μ, climbs to the root from
    below without ever passing it, until rounding ends the climb.
    """
    noisy = squares > 0
    a, squares = a[noisy], squares[noisy]
    norm_a = np.linalg.norm(a)
    if s * squares.max() <= EPS**2 * norm_a:  # d moves by far less than its rounding
        return float("inf")
    mu = max(norm_a / s - squares.max(), 0.0)
    for _ in range(MOST_STEPS):
        scaled = a / (squares + mu)
        norm = np.linalg.norm(scaled)
        slope = np.sum(scaled**2 / (squares + mu)) / norm
        step = norm * (norm - s) / (s * slope)
        if not mu + step > mu:
            break
        mu = mu + step
    return mu


class Box(Scaled):
    """Noise with a tolerance for each feature: all may be off at once.

    Feature j is off by at most ρτ_j. Use it for tolerances of a data sheet. The larger
    the tolerances, the fewer features have a non-zero weight. Errors lower a margin by
    at most ρΩ(w), with Ω(w) = Σ τ_j|w_j|.

    Parameters
    ----------
    tolerances : array or Series of shape (d,)
        τ_j ≥ 0; a feature of tolerance 0 is exact. A Series is aligned with the
        columns of X by name.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import Box, solve
    >>> X = np.array([[2.0, 0.1], [1.5, -0.1], [-2.0, 0.1], [-1.5, -0.1]])
    >>> solution = solve(X, [1, 1, 0, 0], radius=1.0, noise=Box([0.1, 0.5]))
    >>> np.flatnonzero(solution.w)
    array([0])
    """

    name, order, dual_order = "box", np.inf, 1.0
    called, separable = "tolerance", True

    def __init__(self, tolerances):
        super().__init__(tolerances)

    def with_scales(self, scales):
        return Box(scales)

    def maximizer(self, w):
        return self.scales * np.sign(w)

    def prox(self, d, s):
        return np.sign(d) * np.maximum(np.abs(d) - s * self.scales, 0.0)

    def left_out(self, w):
        return (w == 0) & (self.scales > 0)


class CrossPolytope(Scaled):
    """Noise with a limit on the total error, which may be in one feature or in several.

    The errors δ_j satisfy Σ|δ_j|/τ_j ≤ ρ. They lower a margin by at most ρΩ(w), with
    Ω(w) = max τ_j|w_j|.

    Parameters
    ----------
    scales : array or Series of shape (d,)
        τ_j ≥ 0, the largest error of feature j if all others are exact; 0 if it is
        exact itself. A Series is aligned with the columns of X by name.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import CrossPolytope
    >>> CrossPolytope([1.0, 2.0]).support(np.array([3.0, 1.0]))
    3.0
    """

    name, order, dual_order = "cross-polytope", 1.0, np.inf

    def with_scales(self, scales):
        return CrossPolytope(scales)

    def maximizer(self, w):
        delta, sizes = np.zeros_like(w), self.scales * np.abs(w)
        if w.size:
            j = np.argmax(sizes)
            delta[j] = np.sign(w[j]) * np.broadcast_to(self.scales, w.shape)[j]
        return delta

    def prox(self, d, s):
        """Clip sizes at θ/τ_j, with θ so that ``Σ(|d_j| − θ/τ_j)_+ / τ_j`` is s."""
        if s <= 0:
            return np.array(d, dtype=np.float64)
        scales = np.broadcast_to(self.scales, d.shape)
        noisy = scales > 0
        sizes, tau = np.abs(d[noisy]), scales[noisy]
        limits = np.full(d.shape, np.inf)
        if np.sum(sizes / tau) <= s:
            limits[noisy] = 0.0
        else:
            descending = np.argsort(-(tau * sizes))
            sizes, tau_sorted = sizes[descending], tau[descending]
            levels = np.cumsum(sizes / tau_sorted) - s
            levels /= np.cumsum(tau_sorted**-2.0)
            clipped = np.flatnonzero(tau_sorted * sizes >= levels)
            theta = levels[clipped.max(initial=0)]  # the first is, but for rounding
            limits[noisy] = theta / tau
        return np.clip(d, -limits, limits)


class Linf(Box):
    """Box of one tolerance: every feature off by up to ρ; Ω(w) = ‖w‖₁."""

    name, default_radius, alike = "linf", 0.0, True

    def __init__(self):
        super().__init__(1.0)


class L1(CrossPolytope):
    """Cross-polytope: absolute errors summing to at most ρ; Ω(w) = ‖w‖∞."""

    name, default_radius, alike = "l1", 0.0, True

    def __init__(self):
        super().__init__(1.0)


@dataclass(frozen=True)
class ScaledShape(SumOfSets):
    """sU, which all sums of multiples of one shape are."""

    shape: Shape
    scale: float

    @property
    def axes_error(self) -> float:  # type: ignore[override]
        """sH."""
        return self.scale * self.shape.support_error

    def __add__(self, other):
        return ScaledShape(self.shape, self.scale + other.scale)

    def times(self, factor):
        return ScaledShape(self.shape, factor * self.scale)

    def restricted(self, columns):
        return ScaledShape(self.shape.restricted(columns), self.scale)

    def support(self, w):
        return self.scale * self.shape.support(w)

    def support_error(self, w):
        return self.axes_error * safe_norm(w)

    def lipschitz(self, n_features):
        return self.scale * self.shape.lipschitz(n_features)

    def inscribed(self, n_features):
        return self.scale * self.shape.inscribed(n_features)

    def closest(self, d, near=None, rough=False, worth=0.0):
        return self.shape.prox(d, self.scale)

    def gauge(self, d, most=np.inf, fixed=None):
        size, s = self.shape.dual_norm(d), self.scale
        if fixed is not None:
            size = max(size - fixed.scale, 0.0)
        t = 0.0 if size == 0 else size / s if s > 0 else np.inf
        return t, t

    def largest_multiple(self, d, fixed):
        excess = self.shape.dual_norm(d) - self.scale
        return fixed.scale / excess if excess > 0 else np.inf

    def box(self, n_features):
        return np.broadcast_to(self.scale * self.shape.scales, (n_features,))

    def conic(self, cp, w):
        return self.scale * self.shape.conic(cp, w)


def safe_norm(v: np.ndarray) -> float:
    """‖v‖₂ wherever it is a float64, though its square may not be."""
    if not v.size:
        return 0.0
    # BLAS itself asks for aligned numbers; SciPy does not see to it.
    return float(blas.dnrm2(v if v.flags.aligned else v.copy()))


def _norm(v: np.ndarray, order: float) -> float:
    """The 1-, 2- or ∞-norm."""
    if order == 2:
        return safe_norm(v)
    sizes = np.abs(v)
    return float(sizes.sum() if order == 1 else sizes.max(initial=0.0))
