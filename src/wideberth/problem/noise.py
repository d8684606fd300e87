"""Shapes of feature noise: what the worst perturbation of a sample can look like.

A shape is a unit set U (closed, convex, symmetric); a sample of radius ρ may move by
any δ ∈ ρU. Everything the library needs of U follows from its support function
Ω(w) = max_{δ∈U} ⟨w,δ⟩, a (semi)norm (theory §1), and from the projection onto sU, which
gives the primal point of a dual one: prox_{sΩ}(d) = d − Proj_{sU}(d) (theory §2).

Public: `Noise`, its shapes `L2`, `Linf`, `L1`, `Ellipsoid` and `Correlated`; `as_noise`
for the shapes a `Problem` can hold, `as_shape` for all of them; `align_noise` and
`is_covariance` for what users give.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

from wideberth.problem.covariance import factor_of, principal_axes
from wideberth.problem.feature_names import (
    aligned,
    check_covariance,
    check_scales,
    labelled_covariance,
    labelled_rows,
    matched,
)

__all__ = [
    "L1",
    "L2",
    "Correlated",
    "Ellipsoid",
    "Linf",
    "Noise",
    "align_noise",
    "as_noise",
    "as_shape",
    "is_covariance",
]

#: Largest correlation, and largest change of a scale of 1, that counts as rounding in
#: the product of a linear map with a shape. Products of two transforms in float64 are
#: off by d·2⁻⁵³, which is below 1e-10 for d < 10⁵.
_ROUNDING = 1e-10


class Noise(ABC):
    """A unit uncertainty set U, known through its support function Ω."""

    name: str
    #: Whether Ω is differentiable wherever it is positive; then Ω(w) = ‖Fᵀw‖₂.
    smooth: bool = False
    #: Whether Ω is the Euclidean norm, so that rotations change nothing.
    isotropic: bool = False
    #: p, if U is the unit ball of the p-norm in the coordinates of `standardised`.
    order: float = 2.0
    #: Q, if U is an axis-aligned set only in the coordinates Qᵀx; that is `principal`.
    axes: np.ndarray | None = None
    #: T: having rotated rows to `axes` changes ⟨w,x⟩ by at most T‖w‖‖x‖ (`covariance`).
    rotation_error: float = 0.0
    #: H: Ω(w) after that rotation is off by at most H‖w‖ (`covariance`).
    support_error: float = 0.0

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

    def conic(self, cp, w):
        """Ω(w) as an expression of CVXPY, the module `cp`."""
        raise NotImplementedError(
            f"{self.name} noise has no method `conic`, which the conic solver needs: "
            "Ω(w) as an expression of CVXPY."
        )

    @property
    def squares(self) -> np.ndarray | float:
        """τ² where Ω(w) = ‖τ∘w‖₂: what makes Ω smooth, Ω² being quadratic."""
        raise NotImplementedError(f"{self.name} noise has no smooth support function")

    @property
    def principal(self) -> Noise:
        """The shape in the coordinates of `axes`."""
        return self

    def check_features(self, n_features: int) -> None:  # noqa: B027 (most fit all)
        """Refuse a shape that was made for another number of features."""

    def normalized(self) -> tuple[Noise, float]:
        """A shape of usual size, and the power of two it has to be multiplied by."""
        return self, 1.0

    def degrees(self, n_features: int) -> int:
        """In how many directions the noise moves a sample."""
        return n_features

    def standardised(self, rows: np.ndarray) -> np.ndarray:
        """Rows in coordinates where the noise is alike in all directions."""
        return rows

    def outline(self, n_points: int = 60) -> np.ndarray:
        """Points around the boundary of U in two dimensions."""
        angles = np.linspace(0, 2 * np.pi, n_points, endpoint=False)
        normals = np.column_stack([np.cos(angles), np.sin(angles)])
        return np.array([self.maximizer(normal) for normal in normals])

    def carried(self, A: sp.csr_array) -> Noise:
        """The shape AU of this noise behind the linear map x ↦ Ax."""
        if not _only_selects(A):
            raise ValueError(
                f"noise={self.name!r} in raw units is no longer of that shape behind "
                "these steps, which scale or mix features. Give one noise scale per "
                "feature instead, or use a plain Pipeline with noise in transformed "
                "units."
            )
        return self

    def as_parameter(self):
        """What a user gives as `noise` for this shape: a name, scales or the shape."""
        return self.name

    def __repr__(self):
        return f"{type(self).__name__}()"


class _NormBall(Noise):
    """The unit ball of the p-norm, p = `order`; Ω is the norm of the dual order q."""

    dual_order: float

    def support(self, w):
        return _norm(w, self.dual_order)

    def dual_norm(self, d):
        return _norm(d, self.order)

    def lipschitz(self, n_features):
        return float(n_features ** max(1 / self.dual_order - 0.5, 0.0))

    def inscribed(self, n_features):
        return float(n_features ** -max(1 / self.order - 0.5, 0.0))

    def conic(self, cp, w):
        return cp.norm(w, self.dual_order)


class L2(_NormBall):
    """Euclidean ball: isotropic noise of size ρ, the paper's case; Ω(w) = ‖w‖₂."""

    name, order, dual_order = "l2", 2.0, 2.0
    smooth = isotropic = True
    squares = 1.0

    def maximizer(self, w):
        norm = safe_norm(w)
        return w / norm if norm > 0 else np.zeros_like(w)

    def prox(self, d, s):
        norm = safe_norm(d)
        return d * (1 - s / norm) if norm > s else np.zeros_like(d)

    def carried(self, A):
        shape = _ellipsoid_of(A)
        if shape.axes is None and np.all(np.abs(shape.scales - 1) <= _ROUNDING):
            return self
        return shape


class Linf(_NormBall):
    """Box: every feature off by up to ρ, which makes w sparse; Ω(w) = ‖w‖₁."""

    name, order, dual_order = "linf", np.inf, 1.0

    def maximizer(self, w):
        return np.sign(w)

    def prox(self, d, s):
        return np.sign(d) * np.maximum(np.abs(d) - s, 0.0)


class L1(_NormBall):
    """Cross-polytope: absolute errors summing to at most ρ; Ω(w) = ‖w‖∞."""

    name, order, dual_order = "l1", 1.0, np.inf

    def maximizer(self, w):
        delta = np.zeros_like(w)
        if w.size:
            j = np.argmax(np.abs(w))
            delta[j] = np.sign(w[j])
        return delta

    def prox(self, d, s):
        """Clip d at the level θ where the clipped-off mass Σ(|d_j|−θ)_+ is s."""
        magnitude = np.abs(d)
        if s <= 0:
            return np.array(d, dtype=np.float64)
        if magnitude.sum() <= s:
            return np.zeros_like(d)
        descending = np.sort(magnitude)[::-1]
        levels = (np.cumsum(descending) - s) / np.arange(1, d.size + 1)
        theta = levels[np.flatnonzero(descending >= levels)[-1]]
        return np.clip(d, -theta, theta)


class Ellipsoid(Noise):
    """Axis-aligned ellipsoid with one noise level τ_j ≥ 0 per feature; Ω(w) = ‖τ∘w‖₂.

    A feature with τ_j = 0 carries no noise.
    """

    name = "ellipsoid"
    smooth = True

    def __init__(self, scales: np.ndarray, *, rotation_error=0.0, support_error=0.0):
        names, values = labelled_rows(scales)
        if names is not None:
            raise ValueError(
                "scales are labelled by feature names, which an Ellipsoid does not "
                "know; give them as noise= itself, where X has these columns."
            )
        self.scales = check_scales(values)
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
        noisy = self.scales > 0
        if np.any(d[~noisy]):
            return float("inf")
        with np.errstate(over="ignore"):
            return safe_norm(d[noisy] / self.scales[noisy])

    def lipschitz(self, n_features):
        return float(self.scales.max(initial=0.0))

    def inscribed(self, n_features):
        return float(self.scales.min(initial=np.inf))

    def conic(self, cp, w):
        return cp.norm2(cp.multiply(self.scales, w))

    def check_features(self, n_features):
        if self.scales.shape != (n_features,):
            raise ValueError(
                f"noise gives scales of shape {self.scales.shape}, but X has "
                f"{n_features} features; give one non-negative scale per feature."
            )

    def normalized(self):
        exponent = np.frexp(self.lipschitz(self.scales.size))[1]
        factor = float(np.ldexp(1.0, np.clip(exponent, -1000, 1000)))
        errors = {
            "rotation_error": self.rotation_error,
            "support_error": self.support_error / factor,
        }
        return Ellipsoid(self.scales / factor, **errors), factor

    def degrees(self, n_features):
        return int(np.count_nonzero(self.scales))

    def standardised(self, rows):
        if not self.scales.all():
            raise ValueError(
                "noise has a scale of 0, in units of which nothing can be measured. "
                "Leave out the features without noise."
            )
        return rows / self.scales

    def carried(self, A):
        return _ellipsoid_of(A @ sp.diags_array(self.scales))

    def as_parameter(self):
        return self.scales

    def __repr__(self):
        return f"Ellipsoid(scales={self.scales!r})"


class Correlated(Noise):
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
    smooth = True

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
        axes = principal_axes(factor, error)
        self.factor, self.axes, self.feature_names = factor, axes.directions, names
        errors = {
            "rotation_error": axes.rotation_error,
            "support_error": axes.support_error,
        }
        self._principal = Ellipsoid(axes.scales, **errors)
        self.rotation_error = axes.rotation_error
        self.support_error = axes.support_error

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
        return _ellipsoid_of(sp.csr_array(A @ self.factor))

    def as_parameter(self):
        return self

    def __repr__(self):
        d, k = self.factor.shape
        return f"Correlated(factor of shape ({d}, {k}), rank={self.rank})"


def _secular_root(a: np.ndarray, squares: np.ndarray, s: float) -> float:
    """Solve ‖a / (τ² + μ)‖ = s for μ > 0, with `a` = |τ∘d| and `squares` = τ².

    Newton on 1/‖·‖, which is concave and increasing in μ, climbs to the root from
    below without ever passing it; a bracket guards against rounding.
    """
    noisy = squares > 0
    a, squares = a[noisy], squares[noisy]
    norm_a = np.linalg.norm(a)
    if s * squares.max() <= 1e-20 * norm_a:
        return float("inf")  # the shift of d is far below its rounding
    low = max(norm_a / s - squares.max(), 0.0)
    high = max(norm_a / s - squares.min(), low)
    mu = low
    for _ in range(100):
        scaled = a / (squares + mu)
        norm = np.linalg.norm(scaled)
        if norm > s:
            low = mu
        else:
            high = mu
        slope = np.sum(scaled**2 / (squares + mu)) / norm
        step = norm * (norm - s) / (s * slope)
        proposal = mu + step
        if not low < proposal <= high:
            proposal = 0.5 * (low + high)
        if abs(proposal - mu) <= 4e-16 * proposal:
            return proposal
        mu = proposal
    return mu


def _ellipsoid_of(factor: sp.csr_array) -> Ellipsoid | Correlated:
    """The shape of factor F: of scales √diag(FFᵀ), unless features are correlated."""
    covariance = sp.csr_array(factor @ factor.T)
    variances = covariance.diagonal()
    scales = np.sqrt(variances)
    rest = (covariance - sp.diags_array(variances)).tocoo()
    allowed = _ROUNDING * scales[rest.coords[0]] * scales[rest.coords[1]]
    if np.any(np.abs(rest.data) > allowed):
        return Correlated.from_factor(factor.toarray())
    return Ellipsoid(scales)


def _only_selects(A: sp.csr_array) -> bool:
    """Whether A only picks, orders or flips features."""
    magnitude = abs(A)
    ones = np.all(np.abs(magnitude.data - 1) <= _ROUNDING)
    rows, columns = magnitude.sum(axis=1), magnitude.sum(axis=0)
    return bool(ones and np.all(rows > 0.5) and np.all(columns < 1.5))


def _norm(v: np.ndarray, order: float) -> float:
    if order == 2 or not v.size:
        return safe_norm(v)
    return float(np.linalg.norm(v, order))


def safe_norm(v: np.ndarray) -> float:
    """‖v‖₂ wherever it is a float64, though its square may not be."""
    # BLAS itself asks for aligned numbers; SciPy does not see to it.
    return float(blas.dnrm2(np.require(v, requirements="A"))) if v.size else 0.0


_BY_NAME: dict[str, type[Noise]] = {"l2": L2, "linf": Linf, "l1": L1}


def as_noise(noise: object, n_features: int, names=None) -> Noise:
    """`as_shape` for a `Problem`, which takes no correlated noise."""
    shape = as_shape(noise, n_features, names)
    if shape.axes is not None:
        raise ValueError(
            "noise is a covariance; a Problem takes such noise in its principal axes "
            "only. Use solve, which rotates X to them, or with shape = wideberth."
            "Correlated(covariance) give X @ shape.axes and noise=shape.principal."
        )
    return shape


def as_shape(noise: object, n_features: int, names=None) -> Noise:
    """Read what a user may give for `noise`: a name, scales, a covariance or a shape.

    `names` are those of the features, where they have any; see `align_noise`.
    """
    if isinstance(noise, str):
        if noise not in _BY_NAME:
            raise ValueError(
                f"noise={noise!r} is not a known shape; choose one of "
                f"{sorted(_BY_NAME)}, or give an array of {n_features} non-negative "
                "noise scales, one per feature."
            )
        return _BY_NAME[noise]()
    shape = align_noise(noise, names)
    if not isinstance(shape, Noise):
        shape = Correlated(shape) if shape.ndim == 2 else Ellipsoid(shape)
    shape.check_features(n_features)
    return shape


def align_noise(noise, names):
    """`noise` in the order of the features `names`, without names of its own.

    Series, dicts and frames are labelled; arrays, lists and Series of polars, which
    have no labels, are in the order of the features already. Labels are compared with
    `names`, and refused where there are none to compare with.
    """
    if isinstance(noise, Correlated) and noise.feature_names is not None:
        return noise.reordered(matched(noise.feature_names, names))
    return noise if isinstance(noise, str | Noise) else aligned(noise, names)


def is_covariance(noise) -> bool:
    """Whether `noise`, as `align_noise` returns it, correlates features."""
    if isinstance(noise, Noise):
        return noise.axes is not None
    return not isinstance(noise, str) and np.ndim(noise) == 2
