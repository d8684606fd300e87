"""Ellipsoids of noise, Ω(w) = ‖Fᵀw‖₂: balls, along the axes, or of any orientation."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from wideberth.noise.covariance import (
    check_covariance,
    factor_of,
    labelled_covariance,
    principal_axes,
)
from wideberth.noise.shape import ROUNDING, Scaled, Shape, safe_norm
from wideberth.problem.limits import EPS, MOST_STEPS
from wideberth.problem.validation import labelled_rows


class L2(Shape):
    """Euclidean ball: isotropic noise of size ρ, the paper's case; Ω(w) = ‖w‖₂."""

    name = "l2"
    smooth = isotropic = True
    squares = 1.0
    scales = np.array(1.0)

    support = dual_norm = staticmethod(safe_norm)  # type: ignore[assignment]

    def maximizer(self, w):
        norm = safe_norm(w)
        return w / norm if norm > 0 else np.zeros_like(w)

    def prox(self, d, s):
        norm = safe_norm(d)
        return d * (1 - s / norm) if norm > s else np.zeros_like(d)

    def lipschitz(self, n_features):
        return 1.0

    def inscribed(self, n_features):
        return 1.0

    def conic(self, cp, w):
        return cp.norm2(w)

    def restricted(self, columns):
        return self

    def carried(self, A):
        shape = ellipsoid_of(A)
        ones = np.all(np.abs(shape.principal.squares - 1) <= ROUNDING)
        return self if shape.axes is None and ones else shape


class Ellipsoid(Scaled):
    """Axis-aligned ellipsoid with one noise level τ_j ≥ 0 per feature; Ω(w) = ‖τ∘w‖₂.

    A feature with τ_j = 0 carries no noise.
    """

    name = "ellipsoid"
    smooth = True

    def __init__(self, scales: np.ndarray, rotation_error=0.0, support_error=0.0):
        names, self.scales = labelled_rows(scales)
        if names is not None:
            raise ValueError(
                "scales are labelled by feature names, which an Ellipsoid does not "
                "know; give them as noise= itself, where X has these columns."
            )
        self._check_scales()
        self._squares = self.scales**2
        self.rotation_error, self.support_error = rotation_error, support_error

    @property
    def squares(self):
        return self._squares

    def support(self, w):
        return safe_norm(self.scales * w)

    def maximizer(self, w):
        omega = self.support(w)
        return self._squares * w / omega if omega > 0 else np.zeros_like(w)

    def prox(self, d, s):
        if s <= 0 or not np.any(d):
            return np.array(d, dtype=np.float64)
        if self.dual_norm(np.where(self.scales > 0, d, 0.0)) <= s:
            return np.where(self.scales > 0, 0.0, d)
        multiplier = _secular_root(np.abs(self.scales * d), self._squares, s)
        return d / (1 + self._squares / multiplier)

    def dual_norm(self, d):
        sizes = self._in_scales(np.abs(d))
        return safe_norm(sizes) if np.isfinite(sizes).all() else float("inf")

    def lipschitz(self, n_features):
        return float(self.scales.max(initial=0.0))

    def inscribed(self, n_features):
        return float(self.scales.min(initial=np.inf))

    def conic(self, cp, w):
        return cp.norm2(cp.multiply(self.scales, w))

    def divided(self, factor):
        errors = self.rotation_error, self.support_error / factor
        return Ellipsoid(self.scales / factor, *errors)

    def carried(self, A):
        return ellipsoid_of(A @ sp.diags_array(self.scales))

    def as_parameter(self):
        return self.scales

    def __repr__(self):
        return f"Ellipsoid(scales={self.scales!r})"


class Correlated(Shape):
    """Ellipsoid of any orientation, given by a covariance Σ; Ω(w) = √(wᵀΣw).

    U = {Fp : ‖p‖ ≤ 1} for any factor F of shape (d, k) with Σ = FFᵀ, so that Ω(w) =
    ‖Fᵀw‖. With F = Q diag(τ) Pᵀ it is the axis-aligned ellipsoid of scales τ in the
    coordinates Qᵀx, and since ‖Qᵀw‖ = ‖w‖ the robust SVM is the same problem there:
    whoever has to solve it rotates the data by Q = `axes` to `principal` noise, which
    knows how far the two are from exact.

    Parameters
    ----------
    covariance : array or frame of shape (d, d)
        A frame is aligned with the columns of X by its names. Directions without noise
        are those in which a covariance is 0 up to rounding: with features scaled to
        variance 1, eigenvalues at or below 4·d·ε times the largest (ε = 2⁻⁵²).
        Where such directions matter, `from_factor` is more exact.
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
        """In how many directions there is noise."""
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

    def as_parameter(self):
        return self

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
