"""What users may give for a shape of noise: a name, scales, a covariance or a shape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wideberth.noise.covariance import check_covariance, labelled_covariance
from wideberth.noise.ellipsoids import L2, Correlated, Ellipsoid
from wideberth.noise.polyhedra import L1, Linf
from wideberth.noise.shape import Shape
from wideberth.problem.validation import labelled_rows, matched

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
    return noise if isinstance(noise, str | Shape) else _aligned(noise, names)


def _aligned(values, names: Sequence | None) -> np.ndarray:
    """Scales, or a covariance, in the order of the features `names`."""
    labelled = labelled_covariance if hasattr(values, "columns") else labelled_rows
    labels, array = labelled(values)
    if labels is None:
        return array
    order = matched(labels, names)
    if array.ndim == 2:
        return check_covariance(array)[np.ix_(order, order)]
    return array[order]


def is_covariance(noise) -> bool:
    """Whether `noise`, as `align_noise` returns it, correlates features."""
    if isinstance(noise, Shape):
        return noise.axes is not None
    return not isinstance(noise, str) and np.ndim(noise) == 2
