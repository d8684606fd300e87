"""`MeasuredRegressor(kernel="rbf")`: a curve through measurements with errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from wideberth import MeasuredRegressor

CURVE = MeasuredRegressor(kernel="rbf", cv=None)


def bent(true):
    return np.sin(2 * true[:, 0]) + 0.5 * true[:, 1] ** 2


def simulated(n=400, seed=0, error=0.4, gaps=0.05, scatter=0.2):
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, 2))
    y = bent(true) + scatter * rng.normal(size=n)
    E = error * rng.uniform(0.1, 1.5, size=true.shape)
    X = true + E * rng.normal(size=true.shape)
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y, E


@pytest.fixture(scope="module")
def data():
    return simulated()


@pytest.fixture(scope="module")
def model(data):
    X, y, E = data
    return MeasuredRegressor(kernel="rbf").fit(X, y, X_err=E)


@parametrize_with_checks([MeasuredRegressor(kernel="rbf", cv=None)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_curve_is_that_of_the_true_features(model, data):
    true = np.random.default_rng(5).uniform(-1.5, 1.5, size=(500, 2))
    off = model.predict(true, X_err=0) - bent(true)
    line = MeasuredRegressor(cv=None).fit(data[0], data[1], X_err=data[2])
    beside = line.predict(true, X_err=0) - bent(true)
    assert np.abs(off).mean() < 0.25 < 2 * 0.25 < np.abs(beside).mean()


def test_intervals_hold_what_they_say(model):
    X, y, E = simulated(3000, seed=1)
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X, E, coverage=coverage).T
        assert abs(np.mean((low <= y) & (y <= high)) - coverage) < 0.05


def test_the_spread_grows_with_the_errors_of_an_object(model):
    row = np.array([[0.0, 1.0]])
    _, exact = model.predict(row, X_err=0, return_std=True)
    _, noisy = model.predict(row, X_err=0.3, return_std=True)
    assert exact[0] == pytest.approx(model.scatter_)
    assert exact < noisy


def test_remeasure_names_the_cell_that_the_curve_rests_on():
    X, y, E = simulated(200)
    frame, errors = (pd.DataFrame(part, columns=["a", "b"]) for part in (X, E))
    model = clone(CURVE).fit(frame, y, X_err=errors)
    rows = pd.DataFrame([[np.nan, 0], [0, 1.0], [0, 1]], columns=["a", "b"])
    own = pd.DataFrame([[0, 0], [0.01, 0.5], [0, 0]], columns=["a", "b"])
    cell, share = model.remeasure(rows, X_err=own)
    assert cell.tolist() == ["a", "b", None]
    assert np.all((share[:2] > 0) & (share[:2] <= 1))
    assert share[2] == 0


def test_a_curve_has_no_slopes_and_says_so(model, data):
    for name in ("coef_", "intercept_", "coef_std_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"a curve, which has no {name}: its"):
            getattr(model, name)
    with pytest.raises(AttributeError, match="no attribute 'slopes_'"):
        _ = model.slopes_
    again = clone(CURVE).fit(data[0], data[1], X_err=data[2])
    again.set_params(kernel="linear").fit(data[0], data[1], X_err=data[2])
    assert again.coef_.shape == (2,)
    assert not hasattr(again, "gamma_")


def test_the_loss_is_absolute_and_another_is_refused(data):
    X, y, E = data
    one = clone(CURVE).fit(X, y, X_err=E)
    other = clone(CURVE).set_params(loss="absolute").fit(X, y, X_err=E)
    np.testing.assert_array_equal(one.predict(X, E), other.predict(X, E))
    with pytest.raises(ValueError, match="regression is a line, and kernel='rbf' asks"):
        clone(CURVE).set_params(loss="gaussian").fit(X, y, X_err=E)
    for params in ({"kernel": "laplacian"}, {"gamma": 0.0}, {"gamma": "auto"}):
        with pytest.raises(ValueError, match=next(iter(params))):
            clone(CURVE).set_params(**params).fit(X, y)


def test_a_wild_target_does_not_turn_the_curve(data):
    X, y, E = data
    plain = clone(CURVE).fit(X, y, X_err=E).predict(X, E)
    wild = y.copy()
    wild[7] = 1e6
    found = clone(CURVE).fit(X, wild, X_err=E).predict(X, E)
    assert np.median(np.abs(found - plain)) < 0.1 * y.std()


def test_gamma_is_in_scaled_units_and_scale_is_the_rule_of_kernel_machines(data):
    X, y, _ = data
    X = np.nan_to_num(X)
    model = clone(CURVE).fit(X, y)
    assert model.gamma_ == pytest.approx(0.5, rel=0.01)  # of two columns of variance 1
    assert clone(CURVE).set_params(gamma=3).fit(X, y).gamma_ == 3.0


@pytest.mark.parametrize("unit", [1e-140, 1e-3, 1e140])
def test_units_of_x_and_y_change_the_units_of_the_answer(unit):
    X, y, E = simulated(100)
    one = clone(CURVE).fit(X, y, X_err=E, y_err=0.1)
    other = clone(CURVE).fit(unit * X, unit * y, X_err=unit * E, y_err=unit * 0.1)
    found = other.predict(unit * X, unit * E) / unit
    np.testing.assert_allclose(found, one.predict(X, E), atol=1e-3 * y.std())


def test_copies_predict_the_same(model, data):
    X, _, E = data
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict(X, E), model.predict(X, E))
    assert clone(model).get_params() == model.get_params()


def test_predictions_of_chunks_are_those_of_memory(model, data):
    X, _, E = data
    parts = (slice(0, 150), slice(150, None))
    chunks = [(X[r], None, None, None, E[r]) for r in parts]
    for ask in (model.predict, model.predict_interval):
        np.testing.assert_allclose(ask(chunks), ask(X, E))


@pytest.mark.parametrize("n", [2, 3, 6, 12])
def test_few_rows_are_fitted(n):
    X, y, E = simulated(n, gaps=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = clone(CURVE).fit(X, y, X_err=E)
    assert np.isfinite(model.predict(X, E)).all()


def test_constants_are_predicted():
    X, y, E = simulated(50)
    model = MeasuredRegressor(kernel="rbf").fit(X, np.full(50, 0.1), X_err=E)
    np.testing.assert_array_equal(model.predict_interval(X, E), 0.1)
    model = clone(CURVE).fit(np.ones((50, 2)), y)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), np.median(y), atol=0.05)
    wider = np.column_stack((np.nan_to_num(X), np.ones(50)))
    found = clone(CURVE).fit(wider, y)
    moved = np.column_stack((wider[:, :2], np.full(50, 7.0)))
    np.testing.assert_array_equal(found.predict(wider), found.predict(moved))
