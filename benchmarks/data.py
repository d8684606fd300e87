"""Data sets of the benchmarks: those beside the repository, and synthetic ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np

#: Where the larger data sets lie when they are there at all.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def covtype() -> tuple[np.ndarray, np.ndarray] | None:
    """Forest cover type, class 2 against the rest, standardised (581 012×54)."""
    source = SHARED / "covtype.npz"
    if not source.exists():
        return None
    with np.load(source) as data:
        X, y = data["X"].astype(np.float64), np.where(data["y"] == 2, 1, -1)
    deviation = X.std(axis=0)
    X -= X.mean(axis=0)
    X /= np.where(deviation > 0, deviation, 1.0)
    return X, y


def tall(n: int, d: int = 50, flipped: float = 0.1, seed: int = 0):
    """Gaussian rows, a linear rule, and a share of labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y[rng.random(n) < flipped] *= -1
    return X, y
