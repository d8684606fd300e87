"""A shape of noise that all samples share: the base class of all of them.

A shape is a unit set U (closed, convex, symmetric); a sample of radius ρ may move by
any δ ∈ ρU. Everything the library needs of U follows from its support function
Ω(w) = max_{δ∈U} ⟨w,δ⟩, a (semi)norm (theory §1), and from the projection onto sU, which
gives the primal point of a dual one: prox_{sΩ}(d) = d − Proj_{sU}(d) (theory §2).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from operator import mul

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

from wideberth.noise.sets import Sets, SumOfSets
from wideberth.problem.limits import power_of_two
from wideberth.problem.rounding import summed

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
    #: q with 1/p + 1/q = 1: in the coordinates of `axes`, Ω(w) = ‖τ∘w‖_q.
    dual_order: float = 2.0
    #: τ, in those coordinates: one number per feature, or one for all.
    scales: np.ndarray
    #: Names of the features, where the shape was given by them.
    feature_names: list | None = None
    #: H: Ω(w) after a rotation to `axes` is off by at most H‖w‖ (`covariance`).
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

    def supports(self, w):
        return self.support(w)

    def support_errors(self, w):
        return self.support_error * safe_norm(w) if self.support_error else 0.0

    def axes_errors(self):
        return self.support_error

    def sum(self, a, radii):
        return ScaledShape(self, summed(mul, a, radii))

    def penalty(self, s, n_features):
        return ScaledShape(self, s)

    def penalty_unit(self, factor):
        return factor

    def norm(self, w):
        return self.support(w)

    def norm_lipschitz(self, n_features):
        return self.lipschitz(n_features)

    def norm_factors(self, radii, n_features):
        return radii

    def moves(self, w):
        return self.maximizer(w)

    def cells(self, i, j):
        scales = self.scales
        return scales[j] if scales.ndim else np.broadcast_to(scales, np.shape(j))

    def unit(self, sigma, usual):
        magnitude = self.magnitude
        return 1.0 if 1 / usual <= magnitude <= usual else magnitude

    @property
    def squares(self) -> np.ndarray | float:
        """τ² where Ω(w) = ‖τ∘w‖₂: what makes Ω smooth, Ω² being quadratic."""
        raise NotImplementedError(f"{self.name} noise has no smooth support function")

    @property
    def principal(self) -> Shape:
        """The shape in the coordinates of `axes`."""
        return self

    def check_features(self, n_features: int) -> None:
        """Refuse a shape that was made for another number of features."""

    @property
    def magnitude(self) -> float:
        """The power of two next to the largest noise scale; 1 where there is none."""
        return 1.0

    def divided(self, factor: float) -> Shape:
        """The shape `factor` times smaller, where there are noise scales to divide."""
        return self

    def degrees(self, n_features: int) -> int:
        """In how many directions the noise moves a sample."""
        return n_features

    def standardised(self, rows: np.ndarray) -> np.ndarray:
        """Rows in coordinates where the noise is alike in all directions."""
        return rows

    def outline(self, n_points: int = 60) -> np.ndarray:
        """Points around the boundary of U in two dimensions."""
        return np.array([self.maximizer(normal) for normal in normals(n_points)])

    def reordered(self, order: np.ndarray) -> Shape:
        """The same noise with its features in another order, and without names."""
        raise NotImplementedError(f"{self.name} noise has no names of features")

    def carried(self, A: sp.csr_array) -> Shape:
        """The shape AU of this noise behind the linear map x ↦ Ax.

        What a subclass does not know of is refused, but for maps that change nothing.
        """
        change = abs(A - sp.eye_array(*A.shape))
        if A.shape[0] != A.shape[1] or not change.max() <= ROUNDING:
            raise ValueError(
                f"noise={self.name!r} in raw units is of no known shape behind these "
                "steps. Use a plain Pipeline with noise in transformed units."
            )
        return self

    def as_parameter(self):
        """What a user gives as `noise` for this shape: a name, scales or the shape."""
        return self.name

    def __repr__(self):
        return f"{type(self).__name__}()"


class Scaled(Shape):
    """A shape with noise scales τ ≥ 0, one per feature or one for all of them.

    Ω(w) is a norm of τ∘w. A feature with τ_j = 0 carries no noise.
    """

    default_radius = 1.0
    #: Whether the scale is 1 for any number of features.
    alike = False

    def _check_scales(self, called: str = "scale") -> None:
        bad = np.flatnonzero(~(np.isfinite(self.scales) & (self.scales >= 0)))
        if bad.size:
            raise ValueError(
                f"noise {called}s must be finite and non-negative; {called} {bad[0]} "
                f"is {self.scales.flat[bad[0]]}."
            )

    def check_features(self, n_features):
        if not self.alike and self.scales.shape != (n_features,):
            raise ValueError(
                f"noise gives scales of shape {self.scales.shape}, but X has "
                f"{n_features} features; give one non-negative scale per feature."
            )

    @property
    def magnitude(self):
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

    def _in_scales(self, sizes: np.ndarray) -> np.ndarray:
        """Sizes of d_j ≥ 0 in units of τ_j; infinite where only τ_j is 0."""
        scales = np.broadcast_to(self.scales, sizes.shape)
        beyond = np.where(sizes > 0, np.inf, 0.0)
        with np.errstate(over="ignore"):
            return np.divide(sizes, scales, out=beyond, where=scales > 0)


@dataclass(frozen=True)
class ScaledShape(SumOfSets):
    """sU, which all sums of multiples of one shape are."""

    shape: Shape
    scale: float

    @property
    def size(self) -> float:  # type: ignore[override]
        """s: Σα_iκ_i(w) = sΩ(w)."""
        return self.scale

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


def normals(n_points: int = 60) -> np.ndarray:
    """Unit vectors around the circle."""
    angles = np.linspace(0, 2 * np.pi, n_points, endpoint=False)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def safe_norm(v: np.ndarray) -> float:
    """‖v‖₂ wherever it is a float64, though its square may not be."""
    if not v.size:
        return 0.0
    # BLAS itself asks for aligned numbers; SciPy does not see to it.
    return float(blas.dnrm2(v if v.flags.aligned else v.copy()))
