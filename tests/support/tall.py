"""Tall data for the tests of everything that is read in chunks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from wideberth.data.batches import Chunks
from wideberth.problem import Certificate
from wideberth.solvers.base import Random
from wideberth.solvers.driver import Driver

INTERCEPTS = {
    "none": {},
    "free": {"fit_intercept": True},
    "penalised": {"fit_intercept": True, "intercept_penalty": 2.0},
}


def tall_data(n=30_000, d=8, seed=0, dtype=np.float64, shift=0.3):
    """Two overlapping classes of unequal size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    normal = rng.normal(size=d) / np.sqrt(d)
    y = np.where(X @ normal + 0.6 * rng.normal(size=n) > shift, 1.0, -1.0)
    return X, y


@dataclass(frozen=True)
class Found:
    """What a search over a source found."""

    w: np.ndarray
    b: float
    certificate: Certificate
    reads: int
    grouped: bool
    alpha: Any
    removed: Any
    saturated: Any


def searched(
    source, terms, control, random_state=0, screening="ellipsoid", norm_penalty=0.0
) -> Found:
    """Run as `solve` does, over a source and terms made by hand."""
    control.random = Random(random_state)
    search = Driver(Chunks(source, terms, norm_penalty), control)
    search.run()
    alpha, removed, saturated = search.dual_weights(screening)
    return Found(
        search.point.w,
        search.point.b,
        search.certificate,
        search.passes,
        search.grouping is not None,
        alpha,
        removed,
        saturated,
    )
