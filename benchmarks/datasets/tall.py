"""Gaussian rows, a linear rule, a tenth of the labels flipped: n×d, dense."""

import numpy as np

C, RADIUS = 1.0, 0.05


def load(n=100_000, d=50, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y[rng.random(n) < 0.1] *= -1
    return X, y
