"""What a shape of noise answers: the base class of all of them.

A shape is a unit set U (closed, convex, symmetric); a sample of radius ρ may move by
any δ ∈ ρU. Everything the library needs of U follows from its support function
Ω(w) = max_{δ∈U} ⟨w,δ⟩, a (semi)norm (theory §1), and from the projection onto sU, which
gives the primal point of a dual one: prox_{sΩ}(d) = d − Proj_{sU}(d) (theory §2).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp
from scipy.linalg import blas

#: Largest correlation, and largest change of a scale of 1, that counts as rounding in
#: the product of a linear map with a shape. Products of two transforms in float64 are
#: off by d·2⁻⁵³, which is below 1e-10 for d < 10⁵.
ROUNDING = 1e-10


class Noise(ABC):
    """A unit uncertainty set U, known through its support function Ω."""

    name: str
    #: Whether Ω is differentiable wherever it is positive; then Ω(w) = ‖Fᵀw‖₂.
    smooth: bool = False
    #: Whether Ω is the Euclidean norm, so that rotations change nothing.
    isotropic: bool = False
    #: Whether noise is a sum over features, so that w has zeros: a box.
    separable: bool = False
    #: p, if U is the unit ball of the p-norm in the coordinates of `standardised`.
    order: float = 2.0
    #: q with 1/p + 1/q = 1: in the coordinates of `axes`, Ω(w) = ‖τ∘w‖_q.
    dual_order: float = 2.0
    #: τ, in those coordinates: one number per feature, or one for all.
    scales: np.ndarray
    #: The radius where none is given: 0, for a norm without scales.
    default_radius: float = 0.0
    #: Names of the features, where the shape was given by them.
    feature_names: list | None = None
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

    @property
    def magnitude(self) -> float:
        """The power of two next to the largest noise scale; 1 where there is none."""
        return 1.0

    def divided(self, factor: float) -> Noise:
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

    def left_out(self, w: np.ndarray) -> np.ndarray:
        """A mask of features that have weight 0 in some w(α) = w for the noise's sake.

        None where Ω does not treat features apart.
        """
        return np.zeros(w.size, dtype=bool)

    def reordered(self, order: np.ndarray) -> Noise:
        """The same noise with its features in another order, and without names."""
        raise NotImplementedError(f"{self.name} noise has no names of features")

    def restricted(self, columns: np.ndarray) -> Noise:
        """The noise of some features alone, of which the others have none."""
        raise NotImplementedError(f"{self.name} noise does not treat features apart")

    def carried(self, A: sp.csr_array) -> Noise:
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
