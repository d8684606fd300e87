"""Shapes of feature noise, what users may give for them, and noise of all samples."""

from __future__ import annotations

from dataclasses import dataclass
from operator import mul

import numpy as np

from wideberth.problem.ellipsoids import Correlated, Ellipsoid, ellipsoid_of
from wideberth.problem.error_bars import Pushes
from wideberth.problem.feature_names import aligned, matched
from wideberth.problem.polyhedra import L1, Linf
from wideberth.problem.rounding import summed
from wideberth.problem.shape import ROUNDING, Noise, safe_norm


class L2(Noise):
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


@dataclass(frozen=True)
class SharedNoise:
    """How far each sample may move: within ρ_i U, one shape for all (theory §1, §8)."""

    shape: Noise
    radii: np.ndarray

    def supports(self, w: np.ndarray):
        """κ_i(w) = ρ_i Ω(w) of every sample: the most that moving it changes ⟨w,x⟩."""
        return _times(self.radii, self.shape.support(w))

    def support_errors(self, w: np.ndarray) -> float:
        """What rounding changes κ_i(w) by, beyond `gamma(d + 8)` of it."""
        return 0.0

    def lipschitz(self, n_features: int):
        """L_i of every sample: the largest κ_i(w) over ‖w‖₂ ≤ 1."""
        return self.radii * self.shape.lipschitz(n_features)

    def cells(self, i, j) -> np.ndarray:
        """Under boxes ρ_iτ_j, of samples i and features j together."""
        scales = self.shape.scales
        return self.radii[i] * (
            scales[j] if scales.ndim else np.broadcast_to(scales, np.shape(j))
        )

    def box(self, a) -> np.ndarray:
        """Under boxes Σ a_iρ_iτ_j of every feature."""
        return self.total(a) * self.shape.scales

    def folded_box(self, fold) -> np.ndarray:
        """The same of folded samples and of a norm penalty."""
        return np.broadcast_to(fold.s * self.shape.scales, fold.d.shape)

    @property
    def largest(self) -> np.ndarray:
        """ρ_i, which says how far a sample moves at most in units of the shape."""
        return self.radii

    def pushes(self, weights, chosen) -> Pushes:
        """Sets to be kept of samples that are folded: none, the shape being known."""
        return Pushes()

    def total(self, alpha) -> float:
        """s = Σα_iρ_i, so that Σα_iκ_i(w) = sΩ(w)."""
        return summed(mul, alpha, self.radii)

    def select(self, rows) -> SharedNoise:
        """The noise of some samples; one radius for all stays one number."""
        radii = self.radii
        return SharedNoise(self.shape, radii[0] if _is_one(radii) else radii[rows])


def _is_one(radii) -> bool:
    """Whether all samples have one radius, which takes the memory of one."""
    one = isinstance(radii, np.ndarray) and radii.strides == (0,)
    return one and radii.size > 0


def _times(radii, factor: float):
    """All radii times a number; one of them stays one."""
    if _is_one(radii):
        return np.broadcast_to(radii[0] * factor, radii.shape)
    return radii * factor


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
    if isinstance(noise, Noise) and noise.feature_names is not None:
        return noise.reordered(matched(noise.feature_names, names))
    return noise if isinstance(noise, str | Noise) else aligned(noise, names)


def is_covariance(noise) -> bool:
    """Whether `noise`, as `align_noise` returns it, correlates features."""
    if isinstance(noise, Noise):
        return noise.axes is not None
    return not isinstance(noise, str) and np.ndim(noise) == 2
