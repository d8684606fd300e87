"""Tall data for the tests of everything that is read in chunks."""

import numpy as np

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
