"""Conformal intervals contain the stated fraction of new targets, with few rows too.

With n scores of held-out rows the coverage of the k-th smallest, k = ⌈(n + 1)·0.8⌉, is
a Beta variable of k and n + 1 − k over training tables: its mean is k/(n + 1). Scores of
rows that a model was trained on would be too small, most of all with few rows.
"""

import math

import numpy as np
import pytest

from wideberth import MeasuredRegressor

COVERAGE, FEATURES, TABLES, NEW = 0.8, 5, 14, 400


def covered(n: int, seed: int) -> float:
    """The fraction of new targets inside their intervals, after training on n rows."""
    rng = np.random.default_rng([seed, n])
    true = rng.normal(size=(n + NEW, FEATURES))
    errors = rng.uniform(0.1, 0.5, size=true.shape)
    X = true + errors * rng.normal(size=true.shape)
    y = true @ np.arange(1.0, FEATURES + 1) + rng.normal(size=n + NEW)
    model = MeasuredRegressor().fit(X[:n], y[:n], X_err=errors[:n])
    low, high = model.predict_interval(X[n:], X_err=errors[n:], coverage=COVERAGE).T
    return float(np.mean((low <= y[n:]) & (y[n:] <= high)))


@pytest.mark.parametrize("n", [20, 30, 100])
@pytest.mark.filterwarnings("ignore")
def test_coverage_follows_the_beta_law(n):
    k = math.ceil((n + 1) * COVERAGE)
    beta = k * (n + 1 - k) / (n + 1) ** 2 / (n + 2)  # its variance
    error = math.sqrt((beta + COVERAGE * (1 - COVERAGE) / NEW) / TABLES)
    found = np.mean([covered(n, seed) for seed in range(TABLES)])
    # Models of four fifths of the rows make the scores a little larger, never smaller.
    assert k / (n + 1) - 3.5 * error <= found <= k / (n + 1) + 3.5 * error + 0.06
