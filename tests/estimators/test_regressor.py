"""`RobustLinearRegressor` and its search: scikit-learn's conventions, units, ranges."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import make_scorer, mean_pinball_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from wideberth import (
    Box,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    TrueFeatures,
    make_robust_pipeline,
    open_data,
    solve,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 4))
T = X @ [1.0, -0.5, 0.25, 0.0] + 0.3 * rng.standard_t(3, size=200) + 7
E = rng.uniform(0, 0.3, size=X.shape)


@parametrize_with_checks(
    [RobustLinearRegressor(), RobustLinearRegressorCV(Cs=[0.1, 1.0])]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_it_solves_the_problem_of_solve_in_units_of_the_target_scale():
    model = RobustLinearRegressor(0.3, C=2.0, radius=0.1, tol=1e-8).fit(X, T)
    found = solve(
        X, T, C=2.0 * model.target_scale_, radius=0.1, loss="quantile", quantile=0.3,
        tol=1e-8,
    )  # fmt: skip
    np.testing.assert_allclose(model.coef_, found.w, atol=1e-6)
    assert model.coef_.shape == (4,)
    assert model.target_scale_ == pytest.approx(
        np.abs(T - np.median(T)).mean(), rel=0.01
    )
    assert model.converged_
    assert model.dual_gap_ <= 1e-8 * found.certificate.scale


@pytest.mark.parametrize("unit", [1e-6, 1e4])
def test_another_unit_of_y_changes_the_unit_of_the_answer(unit):
    given = {"C": 0.3, "radius": 0.1, "norm_penalty": 2.0, "tol": 1e-8}
    one = RobustLinearRegressor(**given).fit(X, T)
    other = RobustLinearRegressor(**given).fit(X, unit * T)
    np.testing.assert_allclose(other.coef_ / unit, one.coef_, atol=1e-5)
    np.testing.assert_allclose(other.predict(X) / unit, one.predict(X), rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_another_unit_of_y_changes_no_value_of_the_default_grid(unit):
    given = {"norm_penalties": [0.5], "radii": [0.1], "cv": 2, "tol": 1e-6}
    one = RobustLinearRegressorCV(Cs=4, **given).fit(X, T)
    other = RobustLinearRegressorCV(Cs=4, **given).fit(X, unit * T)
    np.testing.assert_allclose(other.Cs_, one.Cs_, rtol=1e-6)
    assert other.best_index_ == one.best_index_
    np.testing.assert_allclose(other.coef_ / unit, one.coef_, atol=1e-3)


def test_a_weight_counts_as_that_many_rows():
    weights = 1 + 4 * (T.mean() < T)
    one = RobustLinearRegressor(0.3, radius=0.1, tol=1e-9)
    other = clone(one).fit(np.repeat(X, weights, axis=0), np.repeat(T, weights))
    one.fit(X, T, sample_weight=weights)
    assert one.target_scale_ == pytest.approx(other.target_scale_)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    chunks = [(X[:7], T[:7], weights[:7]), (X[7:], T[7:], weights[7:])]
    read = clone(one).fit(open_data(lambda: iter(chunks)))
    assert read.target_scale_ == pytest.approx(one.target_scale_)
    bare = RobustLinearRegressor(0.3, C=1e3).fit(X, T, sample_weight=weights)
    below = bare.predict(X) > T
    assert np.average(below, weights=weights) == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    "noise",
    [
        "l2",
        "linf",
        "l1",
        np.arange(4.0),
        Box(np.ones(4)),
        np.diag(np.arange(1.0, 5)) + 1,
    ],
)
def test_a_range_is_attained_and_never_left(noise):
    model = RobustLinearRegressor(radius=0.2, noise=noise).fit(X, T)
    low, high = model.prediction_range(X).T
    moves = model_moves(noise, 2000)
    values = model.predict(X[:1]) + moves @ model.coef_
    assert low[0] - 1e-12 <= values.min()
    assert values.max() <= high[0] + 1e-12
    reach = 0.5 * (high[0] - low[0])
    assert values.max() - model.predict(X[:1])[0] > 0.6 * reach


def model_moves(noise, n):
    """Moves within the set of radius 0.2, many of them on its boundary."""
    z = np.random.default_rng(1).normal(size=(n, 4))
    if isinstance(noise, Box) or (isinstance(noise, str) and noise == "linf"):
        return 0.2 * np.sign(z)
    if isinstance(noise, str) and noise == "l1":
        return 0.2 * np.sign(z) * (np.abs(z) == np.abs(z).max(axis=1, keepdims=True))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    if np.ndim(noise) == 2:
        return 0.2 * z @ np.linalg.cholesky(noise).T
    return 0.2 * z if isinstance(noise, str) else 0.2 * z * np.arange(4.0)


def test_ranges_of_error_bars_and_of_lopsided_tolerances():
    bars = RobustLinearRegressor().fit(X, T, X_err=E)
    low, high = bars.prediction_range(X, X_err=E).T
    reach = np.sqrt((E * bars.coef_) ** 2 @ np.ones(4))
    np.testing.assert_allclose(high - low, 2 * reach, rtol=1e-9)
    with pytest.raises(ValueError, match="X_err must be given"):
        bars.prediction_range(X)
    boxes = RobustLinearRegressor(error_shape="box").fit(X, T, X_err=(E, 2 * E))
    low, high = boxes.prediction_range(X, X_err=(E, 2 * E)).T
    up = np.where(boxes.coef_ > 0, 2 * E, E) @ np.abs(boxes.coef_)
    down = np.where(boxes.coef_ > 0, E, 2 * E) @ np.abs(boxes.coef_)
    np.testing.assert_allclose(high - boxes.predict(X), up, rtol=1e-9)
    np.testing.assert_allclose(boxes.predict(X) - low, down, rtol=1e-9)


def test_radii_per_sample_are_given_to_fit_and_asked_for_later():
    radii = np.linspace(0, 0.3, 200)
    model = RobustLinearRegressor().fit(X, T, radius=radii)
    assert model.radius_ is None
    with pytest.raises(ValueError, match="radius must be given"):
        model.prediction_range(X)
    low, high = model.prediction_range(X, radius=radii).T
    np.testing.assert_allclose(high - low, 2 * radii * np.linalg.norm(model.coef_))


def test_the_search_scores_as_a_grid_search_does():
    grid = {"C": [0.001, 0.1, 1.0], "norm_penalty": [0.0, 1.0], "radius": [0.0, 0.1]}
    loss = make_scorer(mean_pinball_loss, alpha=0.3, greater_is_better=False)
    slow = GridSearchCV(RobustLinearRegressor(0.3, tol=1e-8), grid, scoring=loss)
    fast = RobustLinearRegressorCV(
        0.3, grid["C"], grid["radius"], norm_penalties=grid["norm_penalty"], tol=1e-8
    ).fit(X, T)
    slow.fit(X, T)
    assert fast.best_params_ == slow.best_params_
    scores = [search.cv_results_["mean_test_score"] for search in (fast, slow)]
    np.testing.assert_allclose(*scores, atol=1e-5)
    np.testing.assert_allclose(fast.coef_, slow.best_estimator_.coef_, atol=1e-6)
    other = RobustLinearRegressorCV(0.3, [0.1, 1.0], scoring="r2").fit(X, T, X_err=E)
    assert 0.5 < other.best_score_ < 1
    assert other.prediction_range(X, X_err=E).shape == (200, 2)


def test_errors_reach_the_folds_by_metadata_routing():
    with config_context(enable_metadata_routing=True):
        scores = cross_val_score(RobustLinearRegressor(), X, T, params={"X_err": E})
    assert scores.mean() > 0.5


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (RobustLinearRegressor(1.5), "between 0 and 1"),
        (RobustLinearRegressor(solver_options={"starts": 2}), "solver_options has"),
        (RobustLinearRegressorCV(0.0), "between 0 and 1"),
    ],
)
def test_what_is_not_meant_is_refused(model, said):
    with pytest.raises(ValueError, match=said):
        model.fit(X, T)


@pytest.mark.parametrize("kind", ["scales", "cells", "search"])
def test_a_pipeline_takes_noise_and_gives_ranges_in_raw_units(kind):
    units = np.array([1.0, 10.0, 0.1, 1e3])
    raw, errors = X * units + units, E * units
    model = RobustLinearRegressor(radius=0.2, noise=units, tol=1e-8)
    given, asked = {}, {}
    if kind == "cells":
        model, asked = RobustLinearRegressor(tol=1e-8), {"X_err": errors}
        given = {"robustlinearregressor__X_err": errors}
    if kind == "search":
        model = RobustLinearRegressorCV(0.5, [0.1, 1.0], [0.2], noise=units)
    pipeline = make_robust_pipeline(StandardScaler(), model).fit(raw, T, **given)
    low, high = pipeline.prediction_range(raw, **asked).T
    coef = pipeline[-1].coef_ / raw.std(axis=0)
    reach = 0.2 * np.linalg.norm(units * coef)
    if kind == "cells":
        reach = np.linalg.norm(errors * coef, axis=1)
    np.testing.assert_allclose(high - pipeline.predict(raw), reach, rtol=1e-6)
    np.testing.assert_allclose(pipeline.predict(raw) - low, reach, rtol=1e-6)
    with pytest.raises(AttributeError, match="prediction_range"):
        pipeline.certified_radius(raw)
    assert pipeline.score(raw, T) > 0.5


def test_a_pipeline_refuses_what_a_regressor_does_not_do():
    with pytest.raises(ValueError, match="goes before a classifier"):
        make_robust_pipeline(TrueFeatures(), RobustLinearRegressor()).fit(X, T)


@pytest.mark.parametrize(("tau", "slope"), [(0.5, 1.0), (0.51, 10.0), (0.49, 1.0)])
def test_a_quantile_between_two_values_is_the_one_of_the_flatter_line(tau, slope):
    """As scikit-learn's QuantileRegressor on these points (`test_quantile.py`)."""
    model = RobustLinearRegressor(tau, C=1e3, radius=0, tol=1e-8)
    model.fit([[0.0], [1.0], [1.0]], [1.0, 2.0, 11.0])
    assert model.predict([[0.0], [1.0]]) == pytest.approx([1.0, 1.0 + slope], abs=1e-3)


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e307])
def test_y_beyond_what_float64_can_square_is_refused_by_its_unit(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = unit * (X[:, 0] + rng.normal(size=40))
    with pytest.raises(ValueError, match="give y in another unit"):
        RobustLinearRegressor().fit(X, y)
