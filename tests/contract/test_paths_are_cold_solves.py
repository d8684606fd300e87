"""A point of a path is what `solve` finds there, along C, radius and norm penalty."""

import numpy as np
import pytest

from wideberth import path, solve

CASES = {
    "balls": {"noise": "l2", "radius": 0.2},
    "radii": {"noise": "l2", "radii": [0.0, 0.1, 0.3]},
    "boxes": {"noise": "linf", "radii": [0.05, 0.2]},
    "scales": {"noise": np.array([0.1, 0.3, 0.0, 0.2]), "radii": [0.5, 1.0]},
    "cells": {"X_err": None, "radii": [0.5, 1.0]},
    "penalties": {"noise": "linf", "norm_penalties": [0.0, 1.0, 5.0]},
    "quantiles": {"loss": "quantile", "quantile": 0.3, "radius": 0.1},
}
INTERCEPTS = {
    "none": {"fit_intercept": False},
    "free": {"fit_intercept": True},
    "penalised": {"fit_intercept": True, "intercept_penalty": 0.5},
}

#: An axis of a path, and what `solve` calls one of its values.
AXES = {"radii": "radius", "norm_penalties": "norm_penalty"}


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("case", CASES)
def test_every_point_of_a_path_is_that_of_a_cold_solve(case, intercept):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=60) > 0, 1, -1)
    options = CASES[case] | INTERCEPTS[intercept]
    if "X_err" in options:
        options["X_err"] = 0.3 * rng.random(X.shape)
    if "loss" in options:
        y = X[:, 0] + rng.normal(size=60)
    Cs = np.geomspace(0.01, 10, 5)
    found = path(X, y, Cs=Cs, tol=1e-8, quiet=True, **options)
    levels = {one: options.pop(axis) for axis, one in AXES.items() if axis in options}
    for i, j in np.ndindex(found.objectives.shape):
        at = {one: values[i] for one, values in levels.items()}
        cold = solve(X, y, C=found.Cs[j], tol=1e-8, quiet=True, **options | at)
        size = 1e-7 * max(cold.primal, 1e-3)
        assert found.converged[i, j]
        assert found.objectives[i, j] == pytest.approx(cold.primal, abs=size)
        apart = np.linalg.norm(found.coefs[i, j] - cold.w)
        assert apart <= 2 * np.sqrt(2 * size)
