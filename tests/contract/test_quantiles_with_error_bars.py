"""Regression under error bars whose optimum lies on a kink of the noise is solved.

A row whose only cell with an error is in column j adds c·e·|w_j| to the objective. The
sum over rows is an ℓ1 penalty, with a kink at w_j = 0, where the optimum lies if the
feature is irrelevant.
"""

from __future__ import annotations

import numpy as np
import pytest

from wideberth import RobustLinearRegressor, critical_radius, solve


def measured(seed: int, n: int, d: int, exact: float = 0.4):
    """Rows of which the first feature alone matters; some cells have no error."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    t = X[:, 0] + 0.5 * rng.normal(size=n)
    return X, t, rng.uniform(0.1, 1, size=(n, d)) * (rng.random((n, d)) >= exact)


def covariances(seed: int, n: int, d: int) -> np.ndarray:
    """A random covariance for each row."""
    roots = 0.3 * np.random.default_rng(seed).normal(size=(n, d, d))
    return roots @ roots.transpose(0, 2, 1)


def pinball(X, t, w, b, X_err, quantile: float) -> float:
    """The worst-case loss under ellipsoids at C = 1, written out."""
    noise = np.sqrt((X_err * w) ** 2 @ np.ones(w.size))
    residual = t - X @ w - b
    upper = quantile * (residual + noise)
    return 0.5 * w @ w + np.maximum(upper, (1 - quantile) * (noise - residual)).sum()


@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_regressor_converges_where_some_cells_are_exact_and_features_irrelevant(n, d):
    for seed in range(4):
        X, t, X_err = measured(seed, n, d)
        model = RobustLinearRegressor().fit(X, t, X_err=X_err)
        assert model.converged_
        assert model.relative_gap_ <= model.tol


@pytest.mark.parametrize("exact", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_any_quantile_converges_and_no_other_model_is_better(quantile, exact):
    X, t, X_err = measured(7, 200, 3, exact)
    loss = {"loss": "quantile", "quantile": quantile}
    found = solve(X, t, X_err=X_err, quiet=True, **loss)
    assert found.converged
    assert found.primal - found.dual <= 1e-6 * found.primal
    value = pinball(X, t, found.w, found.b, X_err, quantile)
    assert value == pytest.approx(found.primal, rel=1e-12)
    rng = np.random.default_rng(0)
    for _ in range(50):
        w, b = found.w + 0.1 * rng.normal(size=3), found.b + 0.1 * rng.normal()
        assert pinball(X, t, w, b, X_err, quantile) >= found.dual


def test_an_irrelevant_feature_has_no_weight_where_its_errors_outweigh_it():
    X, t, X_err = measured(1, 300, 2)
    found = solve(X, t, loss="quantile", X_err=X_err, tol=1e-8)
    assert found.converged
    assert found.w[0] > 0.5
    assert abs(found.w[1]) < 1e-4


@pytest.mark.parametrize(("seed", "C"), [(0, 30.0), (1, 1.0), (1, 300.0), (2, 30.0)])
def test_boxes_converge_where_targets_are_large_and_hardly_scatter(seed, C):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 60))
    t, X_err = X @ np.arange(1, 61), rng.uniform(0.1, 1, size=X.shape)
    X_err *= X_err < 0.6
    box = {"X_err": X_err, "error_shape": "box", "quiet": True}
    found = solve(X, t, loss="quantile", C=C, **box)
    assert found.converged


@pytest.mark.parametrize("kind", ["ellipsoids", "covariances"])
def test_radii_just_below_the_critical_one_converge(kind):
    for seed, n, d in ((0, 300, 60), (1, 300, 60), (2, 40, 3)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, d))
        t = X @ np.arange(1, d + 1) + rng.normal(size=n)
        X_err = rng.uniform(0.1, 1, size=X.shape)
        X_err = X_err if kind == "ellipsoids" else covariances(seed, n, d)
        limit = critical_radius(X, t, loss="quantile", X_err=X_err).lower
        found = solve(
            X, t, loss="quantile", X_err=X_err, radius=0.999 * limit, quiet=True
        )
        assert found.converged


@pytest.mark.parametrize(("n", "d"), [(1, 6), (2, 6), (2, 40), (15, 40)])
@pytest.mark.parametrize("quantile", [0.5, 0.8])
def test_few_rows_converge(n, d, quantile):
    X, t, X_err = measured(0, n, d, 0.5)
    for errors in (X_err, X_err + 0.1, covariances(0, n, d)):
        for C in (1.0, 100.0):
            loss = {"loss": "quantile", "quantile": quantile, "C": C}
            assert solve(X, t, X_err=errors, quiet=True, **loss).converged


@pytest.mark.parametrize("tol", [1e-6, 1e-12])
@pytest.mark.parametrize("constant", [7.3, 0.0, -1e9])
def test_a_constant_is_proven_to_be_best_for_constant_targets(constant, tol):
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(20, 2))
        for size in (1.0, 1e3):
            errors = size * covariances(seed, 20, 2)
            t, loss = np.full(20, constant), {"loss": "quantile", "tol": tol}
            found = solve(X, t, X_err=errors, quiet=True, **loss)
            assert found.converged
            assert found.primal == 0.0
            assert found.b == constant
            assert not found.w.any()


def test_covariances_without_full_rank_and_constant_targets_are_solved():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, roots = rng.normal(size=(1, 2)), rng.normal(size=(1, 2, 1))
        errors = roots @ roots.transpose(0, 2, 1)
        assert solve(X, [3.0], loss="quantile", X_err=errors, quiet=True).converged


@pytest.mark.parametrize(("n", "d"), [(10_000, 5), (20_000, 10)])
def test_classifiers_on_many_rows_with_exact_cells_converge(n, d):
    X, t, X_err = measured(0, n, d)
    y = np.where(t > 0, 1, -1)
    for C in (1.0, 100.0):
        assert solve(X, y, C=C, X_err=X_err, quiet=True).converged
