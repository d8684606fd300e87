"""The Euclidean ball, and what users may give for a shape of noise."""

from __future__ import annotations

import numpy as np

from wideberth.problem.ellipsoids import Correlated, Ellipsoid, ellipsoid_of
from wideberth.problem.feature_names import aligned, matched
from wideberth.problem.polyhedra import L1, Linf
from wideberth.problem.shape import ROUNDING, Shape, safe_norm


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


_BY_NAME: dict[str, type[Shape]] = {"l2": L2, "linf": Linf, "l1": L1}


def as_noise(noise: object, n_features: int, names=None) -> Shape:
    """`as_shape` for a `Problem`, which takes no correlated noise."""
    shape = as_shape(noise, n_features, names)
    if shape.axes is not None:
        raise ValueError(
            "noise is a covariance; a Problem takes such noise in its principal axes "
            "only. Use solve, which rotates X to them, or with shape = wideberth."
            "Correlated(covariance) give X @ shape.axes and noise=shape.principal."
        )
    return shape


def as_shape(noise: object, n_features: int, names=None) -> Shape:
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
    if not isinstance(shape, Shape):
        shape = Correlated(shape) if shape.ndim == 2 else Ellipsoid(shape)
    shape.check_features(n_features)
    return shape


def align_noise(noise, names):
    """`noise` in the order of the features `names`, without names of its own.

    Series, dicts and frames are labelled; arrays, lists and Series of polars, which
    have no labels, are in the order of the features already. Labels are compared with
    `names`, and refused where there are none to compare with.
    """
    if isinstance(noise, Shape) and noise.feature_names is not None:
        return noise.reordered(matched(noise.feature_names, names))
    return noise if isinstance(noise, str | Shape) else aligned(noise, names)


def is_covariance(noise) -> bool:
    """Whether `noise`, as `align_noise` returns it, correlates features."""
    if isinstance(noise, Shape):
        return noise.axes is not None
    return not isinstance(noise, str) and np.ndim(noise) == 2
