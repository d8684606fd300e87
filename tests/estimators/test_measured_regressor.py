"""`MeasuredRegressor`: true slopes, standard errors, intervals, and hard cases."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, QuantileRegressor
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from benchmarks.measured_regression import maximum_likelihood
from benchmarks.measured_regression import simulated as drawn
from wideberth import MeasuredRegressor, RobustLinearRegressor, open_data

SLOPES = np.array([1.0, -0.5, 0.25])
LOSSES = ["gaussian", "absolute"]


def simulated(n=1000, seed=0, error=1.0, gaps=0.1, scatter=0.5):
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, 3)) @ (np.eye(3) + 0.2)
    y = true @ SLOPES + 2 + scatter * rng.normal(size=n)
    E = error * rng.uniform(0.5, 1.5, size=true.shape)
    X = true + E * rng.normal(size=true.shape)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y, E


@parametrize_with_checks([MeasuredRegressor("absolute")])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", LOSSES)
def test_slopes_are_those_of_the_true_features(loss):
    fits = []
    for seed in range(10):
        X, y, E = simulated(seed=seed)
        fits.append(MeasuredRegressor(loss, cv=None).fit(X, y, X_err=E))
    found = np.array([fit.coef_ for fit in fits])
    std = np.array([fit.coef_std_ for fit in fits])
    assert np.all(np.abs(found.mean(axis=0) - SLOPES) < 3 * std.mean(axis=0) / 10**0.5)
    assert 0.7 < np.sqrt(np.mean(((found - SLOPES) / std) ** 2)) < 1.4
    assert abs(np.mean([fit.intercept_ for fit in fits]) - 2) < 0.05
    assert abs(np.mean([fit.scatter_ for fit in fits]) - 0.5) < 0.15


@pytest.mark.parametrize(("seed", "correlation"), [(3, 0.5), (20, 0.3)])
def test_slopes_are_those_of_maximum_likelihood(seed, correlation):
    X, y, E = drawn(1000, seed, correlation)
    model = MeasuredRegressor(cv=None).fit(X, y, X_err=E)
    off = np.abs(model.coef_ - maximum_likelihood(X, y, E)) / model.coef_std_
    assert np.all(off < 0.05)


def test_exact_values_make_least_squares_with_sandwich_errors():
    X, y, _ = simulated(200, error=0.0, gaps=0.0)
    model = MeasuredRegressor().fit(X, y)
    plain = LinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-4)
    Z = np.column_stack((X, np.ones(len(y))))
    inverse = np.linalg.inv(Z.T @ Z)
    scores = Z * (y - plain.predict(X))[:, None]
    scores /= 1 - np.sum(Z @ inverse * Z, axis=1)[:, None]  # 1 − leverage
    sandwich = inverse @ (scores.T @ scores) @ inverse
    np.testing.assert_allclose(model.coef_std_, np.diag(sandwich)[:3] ** 0.5, rtol=1e-3)


def test_exact_values_make_least_absolute_deviations():
    X, y, _ = simulated(200, error=0.0, gaps=0.0)
    model = MeasuredRegressor("absolute").fit(X, y)
    plain = QuantileRegressor(quantile=0.5, alpha=0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, atol=2e-3)
    assert model.intercept_ == pytest.approx(plain.intercept_, abs=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_standard_errors_agree_with_the_bootstrap(loss):
    X, y, E = simulated(400, seed=3, error=0.7)
    model = MeasuredRegressor(loss, cv=None)
    rng = np.random.default_rng(0)
    rows = rng.integers(len(y), size=(25, len(y)))
    slopes = [clone(model).fit(X[r], y[r], X_err=E[r]).coef_ for r in rows]
    ratios = model.fit(X, y, X_err=E).coef_std_ / np.std(slopes, axis=0)
    assert np.all((ratios > 0.7) & (ratios < 1.4))


@pytest.mark.parametrize("loss", LOSSES)
def test_intervals_hold_what_they_say(loss):
    X, y, E = simulated()
    model = MeasuredRegressor(loss).fit(X, y, X_err=E)
    X, y, E = simulated(5000, seed=1)
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X, E, coverage=coverage).T
        inside = (low <= y) & (y <= high)
        assert abs(inside.mean() - coverage) < 0.04
    spread = model.predict(X, E, return_std=True)[1]
    for third in np.array_split(np.argsort(spread), 3):
        assert 0.84 < inside[third].mean() < 0.96


def test_the_spread_grows_with_the_errors_of_an_object():
    X, y, E = simulated()
    model = MeasuredRegressor(cv=None).fit(X, y, X_err=E)
    _, exact = model.predict(np.zeros((1, 3)), X_err=0, return_std=True)
    _, noisy = model.predict(np.zeros((1, 3)), X_err=1.0, return_std=True)
    _, gone = model.predict(np.full((1, 3), np.nan), X_err=1.0, return_std=True)
    assert exact[0] == pytest.approx(model.scatter_)
    assert exact < noisy < gone


def test_errors_of_y_are_no_scatter():
    X, y, E = simulated(error=0.3, gaps=0.0)
    noise = np.random.default_rng(5).normal(size=len(y))
    model = MeasuredRegressor().fit(X, y + noise, X_err=E, y_err=1.0)
    assert model.scatter_ == pytest.approx(0.5, abs=0.2)
    X, y, E = simulated(5000, seed=1, error=0.3, gaps=0.0)
    low, high = model.predict_interval(X, E).T  # of true targets
    assert abs(np.mean((low <= y) & (y <= high)) - 0.9) < 0.06


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("unit", [1e-140, 1e-3, 1e140])
def test_units_of_x_and_y_change_the_units_of_the_answer(loss, unit):
    X, y, E = simulated(200)
    one = MeasuredRegressor(loss).fit(X, y, X_err=E)
    other = MeasuredRegressor(loss).fit(unit * X, y, X_err=unit * E)
    np.testing.assert_allclose(other.coef_ * unit, one.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.coef_std_ * unit, one.coef_std_, rtol=1e-6)
    other = MeasuredRegressor(loss).fit(X, unit * y, X_err=E)
    ends = other.predict_interval(X, E) / unit, one.predict_interval(X, E)
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-6 * y.std())


def test_covariances_of_errors_are_taken():
    X, y, E = simulated(300)
    one = MeasuredRegressor(cv=None).fit(X, y, X_err=E, y_err=0.1)
    matrices = E[:, :, None] ** 2 * np.eye(3)
    other = MeasuredRegressor(cv=None).fit(X, y, X_err=matrices, y_err=0.1)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_constant_column_has_no_slope(loss):
    X, y, E = simulated(200)
    wider = np.column_stack((X, np.full(len(y), 0.1)))
    errors = np.column_stack((E, np.zeros(len(y))))
    model = MeasuredRegressor(loss).fit(wider, y, X_err=errors)
    assert model.coef_[3] == model.coef_std_[3] == 0
    plain = MeasuredRegressor(loss).fit(X, y, X_err=E)
    np.testing.assert_allclose(model.coef_[:3], plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_constant_columns_alone_leave_the_middle_of_y(loss):
    _, y, _ = simulated(200)
    model = MeasuredRegressor(loss).fit(np.ones((200, 2)), y)
    assert not model.coef_.any()
    assert not model.coef_std_.any()
    middle = np.median(y) if loss == "absolute" else np.mean(y)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), middle, atol=0.02)


def test_a_target_that_is_mostly_one_number_is_fitted():
    X, y, _ = simulated(200, error=0.0, gaps=0.0)
    mostly_zero = np.where(np.arange(200) % 3 == 0, y, 0.0)
    model = MeasuredRegressor("absolute").fit(X, mostly_zero)
    np.testing.assert_allclose(model.coef_, 0, atol=1e-6)
    assert np.isfinite(model.coef_std_).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_two_equal_columns_share_a_slope(loss):
    X, y, _ = simulated(200, error=0.0, gaps=0.0)
    model = MeasuredRegressor(loss).fit(np.column_stack((X, X[:, 0])), y)
    plain = MeasuredRegressor(loss).fit(X, y)
    assert model.coef_[0] + model.coef_[3] == pytest.approx(plain.coef_[0], abs=1e-2)
    assert np.isfinite(model.coef_std_).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_constant_target_is_predicted(loss):
    X, _, E = simulated(50)
    model = MeasuredRegressor(loss).fit(X, np.full(50, 0.1), X_err=E)
    assert not model.coef_.any()
    assert model.scatter_ == 0
    np.testing.assert_array_equal(model.predict_interval(X, E), 0.1)


@pytest.mark.parametrize("loss", LOSSES)
def test_errors_of_y_beyond_its_spread_leave_no_scatter(loss):
    X, y, E = simulated(300, error=0.3)
    model = MeasuredRegressor(loss).fit(X, y, X_err=E, y_err=2.0)
    assert 0 <= model.scatter_ < 0.5
    assert np.isfinite(model.predict_interval(X, E)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_fewer_rows_than_columns_are_fitted_without_standard_errors(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 10)), rng.normal(size=6)
    model = MeasuredRegressor(loss).fit(X, y, X_err=0.1)
    assert np.isnan(model.coef_std_).all()
    assert np.isfinite(model.predict_interval(X, 0.1, coverage=0.5)).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_gaussian_measurements_are_not_remarked_upon(loss, recwarn):
    for seed in range(5):
        X, y, E = simulated(500, seed=seed)
        MeasuredRegressor(loss, cv=None).fit(X, y, X_err=E, y_err=0.3)
    assert not recwarn


def wild(column, size):
    def spoil(X, y, E, errors):
        table = y[:, None] if column is None else X[:, [column]]
        table[7] = size
        return (X, table[:, 0], E, errors) if column is None else (
            np.column_stack((table, X[:, 1:])), y, E, errors
        )  # fmt: skip

    return spoil


SPOILT = {
    r"heavy tails: .* Look at row 7 first": wild(None, 1e4),
    r"worst is in row 7, column 0\. A value so far off": wild(0, 1e4),
    "than y_err says: y_err looks about [4-9].* times too large. Then": lambda X, y, E, e: (X, y, E, e + 4 * y.std()),
    "columns scatter less than X_err says: 0, 1, 2": lambda X, y, E, e: (X, y, 5 * E, e),
    "does not fit the true features: several clusters .* whole rows": (
        lambda X, y, E, e: (X + 9 * (np.arange(len(y)) % 2)[:, None], y, E, e)
    ),
    "variance of the slopes is about [2-9]": lambda X, y, E, e: (
        X, y + np.random.default_rng(1).standard_t(1.5, size=len(y)), E, e
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", SPOILT)
def test_what_does_not_fit_is_remarked_upon(words):
    X, y, E = simulated(500, error=0.5)
    X, y, E, errors = SPOILT[words](X, y, E, np.zeros(500))
    with pytest.warns(UserWarning, match=words):
        MeasuredRegressor(cv=None).fit(X, y, X_err=E, y_err=errors)


def test_a_wild_target_does_not_turn_least_absolute_deviations(recwarn):
    X, y, E = simulated(error=0.3)
    plain = MeasuredRegressor("absolute", cv=None).fit(X, y, X_err=E)
    y[7] = 1e6
    model = MeasuredRegressor("absolute", cv=None).fit(X, y, X_err=E)
    assert np.all(np.abs(model.coef_ - plain.coef_) < 0.2 * plain.coef_std_)
    assert not recwarn


def test_one_row_that_decides_a_slope_leaves_it_uncertain():
    X, y, E = simulated(300)
    mark = np.zeros(300)
    mark[5] = 1
    wider = np.column_stack((X, mark)), np.column_stack((E, np.zeros(300)))
    model = MeasuredRegressor(cv=None).fit(wider[0], y, X_err=wider[1])
    plain = MeasuredRegressor(cv=None).fit(X, y, X_err=E)
    assert model.coef_std_[3] > model.scatter_
    np.testing.assert_allclose(model.coef_std_[:3], plain.coef_std_, rtol=0.1)


def test_skewed_features_keep_their_slopes_and_standard_errors():
    rng = np.random.default_rng(0)
    slopes, stated = [], []
    for _ in range(60):
        true = np.exp(rng.normal(size=(300, 1)))
        y = true[:, 0] + rng.normal(size=300)
        X = true + rng.normal(size=true.shape)
        with pytest.warns(UserWarning, match="clusters or a skew"):
            model = MeasuredRegressor(cv=None).fit(X, y, X_err=1.0)
        slopes.append(model.coef_[0])
        stated.append(model.coef_std_[0])
    assert abs(np.mean(slopes) - 1) < 3 * np.mean(stated) / 60**0.5
    assert np.mean(np.abs(np.array(slopes) - 1) < 1.645 * np.array(stated)) > 0.78


def test_remeasure_names_the_cell_that_a_prediction_rests_on():
    X, y, E = simulated()
    names = ["a", "b", "c"]
    frame, errors = pd.DataFrame(X, columns=names), pd.DataFrame(E, columns=names)
    model = MeasuredRegressor(cv=None).fit(frame, y, X_err=errors)
    rows = pd.DataFrame([[np.nan, 0, 0], [0, 0, np.nan], [0, 0, 0]], columns=names)
    cell, share = model.remeasure(rows, X_err=0)
    assert cell.tolist() == ["a", "c", None]
    np.testing.assert_allclose(share, [1, 1, 0])


def test_predictions_of_chunks_are_those_of_memory():
    X, y, E = simulated(200)
    model = MeasuredRegressor().fit(X, y, X_err=E)
    chunks = [(X[r], None, None, None, E[r]) for r in (slice(0, 90), slice(90, None))]
    np.testing.assert_allclose(model.predict(chunks), model.predict(X, E))
    half = model.predict_interval(X, E, coverage=0.5)
    np.testing.assert_allclose(model.predict_interval(chunks, coverage=0.5), half)
    with pytest.raises(ValueError, match="'return_std' needs rows in memory"):
        model.predict(chunks, return_std=True)
    lazy = pytest.importorskip("dask.array")
    rows, errors = lazy.from_array(X, (50, 3)), lazy.from_array(E, (50, 3))
    for ask in (model.predict, model.predict_interval):
        np.testing.assert_allclose(ask(rows, errors).compute(), ask(X, E))
    with pytest.raises(ValueError, match="MeasuredRegressor needs the data in memory"):
        MeasuredRegressor().fit("table.csv", y)
    with pytest.raises(ValueError, match="MeasuredRegressor needs the data in memory"):
        MeasuredRegressor().fit(open_data([(X, y, None, None, E)]))


def test_errors_are_routed():
    X, y, E = simulated(200)
    with config_context(enable_metadata_routing=True):
        given = {"X_err": E, "y_err": np.full(len(y), 0.1)}
        scores = cross_val_score(MeasuredRegressor(), X, y, params=given, cv=2)
    assert np.all(scores > 0.2)


@pytest.mark.parametrize(
    ("params", "given", "words"),
    [
        ({}, {"y_err": -1.0}, "y_err"),
        ({}, {"y_err": 1e200}, r"y_err reaches 1e\+200"),
        ({}, {"y_err": 1e-200}, "y_err reaches 1e-200"),
        ({}, {"X_err": -1.0}, "X_err"),
        ({"loss": "squared"}, {}, "loss"),
        ({"shrinkage": -1}, {}, "shrinkage"),
        ({"cv": 1}, {}, "cv"),
    ],
)
def test_wrong_arguments_of_fit_are_named(params, given, words):
    X, y, _ = simulated(50)
    with pytest.raises(ValueError, match=words):
        MeasuredRegressor(**params).fit(X, y, **given)


def test_a_regressor_that_needs_every_value_leads_here():
    X, y, _ = simulated(50)
    with pytest.raises(ValueError, match=r"wideberth\.MeasuredRegressor takes NaN"):
        RobustLinearRegressor().fit(X, y)


def test_a_column_without_a_value_is_named():
    X, y, _ = simulated(50)
    X = pd.DataFrame(X, columns=["a", "b", "c"])
    X["b"] = np.nan
    with pytest.raises(ValueError, match="'b'"):
        MeasuredRegressor().fit(X, y)


def test_what_cannot_be_predicted_is_refused():
    X, y, E = simulated(20)
    model = MeasuredRegressor().fit(X, y, X_err=E)
    with pytest.raises(ValueError, match="X_err must be given"):
        model.predict(X)
    with pytest.raises(ValueError, match=r"20 held-out rows.* at most 0\.9523"):
        model.predict_interval(X, E, coverage=0.96)
    with pytest.raises(ValueError, match="coverage=2 must be"):
        model.predict_interval(X, E, coverage=2)
    with pytest.raises(ValueError, match="cv=None"):
        MeasuredRegressor(cv=None).fit(X, y, X_err=E).predict_interval(X, E)
