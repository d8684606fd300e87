"""Intervals and spreads of `MeasuredRegressor` contain the true targets they state.

Every table has features with errors of their own and a scatter of 0.3 about a line or a
curve. Fractions are averages over tables of new objects' true targets.
"""

import warnings

import numpy as np
import pytest

from wideberth import MeasuredRegressor


def table(rng, n, kernel, exact, features=2):
    true = rng.normal(size=(n, features))
    E = np.zeros(true.shape) if exact else rng.uniform(0.05, 0.6, size=true.shape)
    X = true + E * rng.normal(size=true.shape)
    if kernel == "linear":
        middle = true[:, 0] - 0.5 * true[:, 1]
    else:
        middle = np.sin(2 * true[:, 0]) + 0.5 * true[:, 1] ** 2
    return X, E, middle + 0.3 * rng.normal(size=n)


def fractions(kernel, n, y_err, tables, exact=False):
    """Fractions in 90 % intervals, in those of three thirds, and in ±1.645 std."""
    parts = []
    for seed in range(tables):
        rng = np.random.default_rng([seed, n])
        X, E, t = table(rng, n + 1000, kernel, exact)
        errors = rng.uniform(0.05, y_err, size=n) if y_err else None
        y = t[:n] + (errors * rng.normal(size=n) if y_err else 0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MeasuredRegressor(kernel=kernel).fit(
                X[:n], y, X_err=E[:n], y_err=errors
            )
        X, E, t = X[n:], E[n:], t[n:]
        values, std = model.predict(X, X_err=E, return_std=True)
        low, high = model.predict_interval(X, X_err=E, coverage=0.9).T
        inside = (low <= t) & (t <= high)
        order = np.array_split(np.argsort(std, kind="stable"), 3)
        within = np.mean(np.abs(values - t) <= 1.645 * std)
        parts.append([inside.mean(), *(inside[k].mean() for k in order), within])
    found = np.mean(parts, axis=0)
    return found[0], found[1:4], found[4]


@pytest.mark.parametrize("exact", [False, True])
def test_the_std_of_a_curve_is_that_of_new_targets(exact):
    _, _, within = fractions("rbf", 50, 0.0, 5, exact)
    assert 0.84 < within < 0.97


def test_the_scatter_of_a_curve_is_not_that_of_the_rows_it_passes_through():
    rng = np.random.default_rng(0)
    X, _, t = table(rng, 100, "rbf", exact=True, features=5)
    for cv in (None, 5):
        model = MeasuredRegressor(kernel="rbf", cv=cv).fit(X, t)
        assert 0.25 < model.scatter_ < t.std()


def test_intervals_of_curves_cover_their_stated_fraction_at_every_spread():
    covered, thirds, _ = fractions("rbf", 50, 0.0, 6)
    assert 0.86 < covered < 0.95
    assert np.all((thirds > 0.82) & (thirds < 0.97))


@pytest.mark.parametrize(("kernel", "tables"), [("linear", 16), ("rbf", 5)])
def test_errors_of_y_leave_the_stated_fraction_of_true_targets(kernel, tables):
    covered, thirds, _ = fractions(kernel, 60, 2.0, tables)
    assert 0.86 < covered < 0.96
    assert np.all((thirds > 0.82) & (thirds < 0.98))


def test_intervals_of_lines_cover_at_few_rows_and_every_spread():
    covered, thirds, within = fractions("linear", 40, 0.0, 30)
    assert 0.88 < covered < 0.95
    assert np.ptp(thirds) < 0.04
    assert 0.87 < within < 0.95


def test_a_wild_target_hardly_widens_the_spread_of_the_others():
    rng = np.random.default_rng(1)
    X, E, t = table(rng, 200, "linear", exact=False)
    plain = MeasuredRegressor("absolute").fit(X, t, X_err=E)
    t[7] = 1e3
    wild = MeasuredRegressor("absolute").fit(X, t, X_err=E)
    _, std = plain.predict(X, X_err=E, return_std=True)
    _, other = wild.predict(X, X_err=E, return_std=True)
    assert np.all(other < 1.2 * std)
