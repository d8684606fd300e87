"""Shapes of feature noise: what the worst perturbation of a sample can look like.

A shape is a unit set U (closed, convex, symmetric); a sample of radius ρ may move by
any δ ∈ ρU. Everything the library needs of U follows from its support function
Ω(w) = max_{δ∈U} ⟨w,δ⟩, a (semi)norm (theory §1), and from the projection onto sU, which
gives the primal point of a dual one: prox_{sΩ}(d) = d − Proj_{sU}(d) (theory §2).

Public: `Noise`, its shapes `L2`, `Linf`, `L1`, `Ellipsoid` and `Correlated`, `as_noise`
for the shapes a `Problem` can hold, and `as_shape` for all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import blas

__all__ = [
    "L1",
    "L2",
    "Correlated",
    "Ellipsoid",
    "Linf",
    "Noise",
    "as_noise",
    "as_shape",
]


class Noise(ABC):
    """A unit uncertainty set U, known through its support function Ω."""

    name: str
    #: Whether Ω is differentiable wherever it is positive.
    smooth: bool = False

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

    @property
    def squares(self) -> np.ndarray | float:
        """τ² where Ω(w) = ‖τ∘w‖₂: what makes Ω smooth, Ω² being quadratic."""
        raise NotImplementedError(f"{self.name} noise has no smooth support function")

    def curvature(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ω''(w) as a diagonal a and a vector g: Ω'' = diag(a) − g gᵀ."""
        omega = self.support(w)
        diagonal = self.squares / omega * np.ones_like(w)
        return diagonal, self.squares * w / omega**1.5


class Ellipsoid(Noise):
    """Axis-aligned ellipsoid with one noise level τ_j ≥ 0 per feature; Ω(w) = ‖τ∘w‖₂.

    A feature with τ_j = 0 carries no noise.
    """

    name = "ellipsoid"
    smooth = True

    def __init__(self, scales: np.ndarray):
        self.scales = np.asarray(scales, dtype=np.float64)
        self._squares = self.scales**2

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

    def __repr__(self):
        return f"Ellipsoid(scales={self.scales!r})"


class Correlated(Noise):
    """Ellipsoid of any orientation, given by a covariance Σ; Ω(w) = √(wᵀΣw).

    U = {δ : δᵀΣ⁻¹δ ≤ 1}. With Σ = Q diag(τ²) Qᵀ it is the axis-aligned ellipsoid of
    scales τ in the coordinates Qᵀx, and since ‖Qᵀw‖ = ‖w‖ the robust SVM is the same
    problem there: whoever has to solve it turns the data by Q = `axes`.
    """

    name = "correlated"
    smooth = True

    def __init__(self, covariance: np.ndarray):
        variances, self.axes = np.linalg.eigh(_as_covariance(covariance))
        self.principal = Ellipsoid(np.sqrt(np.maximum(variances, 0.0)))

    def support(self, w):
        return self.principal.support(self.axes.T @ w)

    def maximizer(self, w):
        return self.axes @ self.principal.maximizer(self.axes.T @ w)

    def prox(self, d, s):
        return self.axes @ self.principal.prox(self.axes.T @ d, s)

    def dual_norm(self, d):
        return self.principal.dual_norm(self.axes.T @ d)

    def lipschitz(self, n_features):
        return self.principal.lipschitz(n_features)

    def inscribed(self, n_features):
        return self.principal.inscribed(n_features)


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


@dataclass(frozen=True, eq=False)
class L2(Noise):
    """Euclidean ball: isotropic noise of size ρ, the paper's case; Ω(w) = ‖w‖₂."""

    name: str = field(default="l2", init=False)
    smooth: bool = field(default=True, init=False)

    def support(self, w):
        return safe_norm(w)

    def maximizer(self, w):
        norm = safe_norm(w)
        return w / norm if norm > 0 else np.zeros_like(w)

    def prox(self, d, s):
        norm = safe_norm(d)
        return d * (1 - s / norm) if norm > s else np.zeros_like(d)

    def dual_norm(self, d):
        return safe_norm(d)

    def lipschitz(self, n_features):
        return 1.0

    def inscribed(self, n_features):
        return 1.0

    @property
    def squares(self):
        return 1.0


@dataclass(frozen=True, eq=False)
class Linf(Noise):
    """Box: every feature off by up to ρ, which makes w sparse; Ω(w) = ‖w‖₁."""

    name: str = field(default="linf", init=False)

    def support(self, w):
        return float(np.abs(w).sum())

    def maximizer(self, w):
        return np.sign(w)

    def prox(self, d, s):
        return np.sign(d) * np.maximum(np.abs(d) - s, 0.0)

    def dual_norm(self, d):
        return float(np.abs(d).max(initial=0.0))

    def lipschitz(self, n_features):
        return float(np.sqrt(n_features))

    def inscribed(self, n_features):
        return 1.0


@dataclass(frozen=True, eq=False)
class L1(Noise):
    """Cross-polytope: absolute errors summing to at most ρ; Ω(w) = ‖w‖∞."""

    name: str = field(default="l1", init=False)

    def support(self, w):
        return float(np.abs(w).max(initial=0.0))

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

    def dual_norm(self, d):
        return float(np.abs(d).sum())

    def lipschitz(self, n_features):
        return 1.0

    def inscribed(self, n_features):
        return float(n_features**-0.5)


def safe_norm(v: np.ndarray) -> float:
    """‖v‖₂ wherever it is a float64, though its square may not be."""
    # BLAS itself asks for aligned numbers; SciPy does not see to it.
    return float(blas.dnrm2(np.require(v, requirements="A"))) if v.size else 0.0


_BY_NAME: dict[str, Callable[[], Noise]] = {"l2": L2, "linf": Linf, "l1": L1}


def as_noise(noise: object, n_features: int) -> Noise:
    """Read what a user may give for `noise`: a name, per-feature scales, or a shape."""
    if isinstance(noise, str):
        if noise not in _BY_NAME:
            raise ValueError(
                f"noise={noise!r} is not a known shape; choose one of "
                f"{sorted(_BY_NAME)}, or give an array of {n_features} non-negative "
                "noise scales, one per feature."
            )
        return _BY_NAME[noise]()
    shape = noise if isinstance(noise, Noise) else Ellipsoid(_as_scales(noise))
    if isinstance(shape, Ellipsoid) and shape.scales.shape != (n_features,):
        raise ValueError(
            f"noise gives scales of shape {shape.scales.shape}, but X has {n_features} "
            "features; give one non-negative scale per feature."
        )
    return shape


def as_shape(noise: object, n_features: int) -> Noise:
    """Like `as_noise`; a square array is read as the noise's covariance besides."""
    if not isinstance(noise, str | Noise) and np.ndim(noise) == 2:  # type: ignore[arg-type]
        noise = Correlated(np.asarray(noise, dtype=np.float64))
    if isinstance(noise, Correlated):
        if noise.axes.shape[0] != n_features:
            raise ValueError(
                f"noise is a covariance of shape {noise.axes.shape}, but X has "
                f"{n_features} features; give one row and one column per feature."
            )
        return noise
    return as_noise(noise, n_features)


def _as_covariance(noise: np.ndarray) -> np.ndarray:
    if noise.shape[0] != noise.shape[1] or not np.isfinite(noise).all():
        raise ValueError(
            f"noise has shape {noise.shape}; as a matrix it must be a finite "
            "covariance, one row and one column per feature."
        )
    largest = float(np.abs(noise).max(initial=0.0))
    if np.abs(noise - noise.T).max(initial=0.0) > 1e-8 * largest:
        raise ValueError("noise is not symmetric; as a matrix it must be a covariance.")
    lowest = float(np.linalg.eigvalsh(noise)[0]) if noise.size else 0.0
    if lowest < -1e-8 * largest:
        raise ValueError(
            f"noise has the negative eigenvalue {lowest:.3g}; as a matrix it must be a "
            "covariance, positive semidefinite."
        )
    return 0.5 * (noise + noise.T)


def _as_scales(noise: object) -> np.ndarray:
    try:
        scales = np.asarray(noise, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"noise={noise!r} is neither a name ({sorted(_BY_NAME)}) nor an array of "
            "per-feature noise scales."
        ) from None
    bad = np.flatnonzero(~(np.isfinite(scales) & (scales >= 0)))
    if bad.size:
        raise ValueError(
            f"noise scales must be finite and non-negative; scale {bad[0]} is "
            f"{scales.flat[bad[0]]}."
        )
    return scales
