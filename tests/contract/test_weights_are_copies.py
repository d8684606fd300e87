"""A weight of 2 is a row twice, and a weight of 0 no row, for every linear model."""

import numpy as np
import pytest

from wideberth import (
    RobustLinearRegressor,
    RobustLinearSVC,
    critical_radius,
    path,
    solve,
)

RNG = np.random.default_rng(7)
X = RNG.normal(size=(80, 3))
LABELS = (X @ [1, -1, 0.5] + RNG.normal(size=80) > 0).astype(int)
NUMBERS = X @ [1, -1, 0.5] + RNG.normal(size=80)
E = 0.3 * RNG.random(X.shape)
WEIGHTS = RNG.integers(0, 4, size=80)
COPIES = np.repeat(np.arange(80), WEIGHTS)
NOISES = {"none": False, "cells": True}


@pytest.mark.parametrize("bars", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("y", [LABELS, NUMBERS], ids=["labels", "numbers"])
def test_models_under_weights_are_those_of_copies(y, bars):
    estimator = RobustLinearSVC if y is LABELS else RobustLinearRegressor
    one, two = (estimator(C=0.7, tol=1e-9) for _ in range(2))
    one.fit(X, y, sample_weight=WEIGHTS, X_err=E if bars else None)
    two.fit(X[COPIES], y[COPIES], X_err=E[COPIES] if bars else None)
    np.testing.assert_allclose(one.coef_, two.coef_, atol=2e-4)
    np.testing.assert_allclose(one.intercept_, two.intercept_, atol=2e-3)


@pytest.mark.parametrize("loss", ["hinge", "quantile"])
def test_objectives_paths_and_critical_radii_too(loss):
    y = LABELS if loss == "hinge" else NUMBERS
    plain = {"loss": loss}
    weighted = plain | {"sample_weight": WEIGHTS}
    one = solve(X, y, radius=0.1, tol=1e-8, **weighted)
    two = solve(X[COPIES], y[COPIES], radius=0.1, tol=1e-8, **plain)
    assert one.primal == pytest.approx(two.primal, rel=2e-8)
    grid = {"Cs": [0.1, 1.0], "radii": [0.0, 0.2], "tol": 1e-8}
    one, two = (
        path(X, y, **grid, **weighted),
        path(X[COPIES], y[COPIES], **grid, **plain),
    )
    np.testing.assert_allclose(one.objectives, two.objectives, rtol=2e-8)
    one = critical_radius(X, y, **weighted)
    two = critical_radius(X[COPIES], y[COPIES], **plain)
    assert one.lower <= two.upper
    assert two.lower <= one.upper
