"""Errors that depend on the values: `MeasuredRegressor` says so, and what helps.

The model takes errors to be independent of true values. Where they are computed from
the measured value, slopes come out too large; with the root mean square of the errors
in every row they are right.
"""

import warnings

import numpy as np
import pytest

from wideberth import MeasuredRegressor

WORDS = "depends on the values"


def grows(values):
    return 0.3 * np.abs(values) + 0.1


def simulated(seed, errors_of, n=500, scatter=0.3):
    """Measurements, the errors that are given, and targets of slopes 1 and −½."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, 2))
    y = true @ [1, -0.5] + scatter * rng.normal(size=n)
    E = grows(true) if errors_of in ("measured", "true") else errors_of(rng, true)
    X = true + E * rng.normal(size=true.shape)
    return X, grows(X) if errors_of == "measured" else E, y


def said(X, E, y, loss=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = MeasuredRegressor(loss, cv=None).fit(X, y, X_err=E)
    return model, [str(each.message) for each in caught]


@pytest.mark.parametrize("loss", ["gaussian", "absolute"])
@pytest.mark.parametrize("errors_of", ["measured", "true"])
def test_errors_that_grow_with_the_value_are_named_with_a_remedy(errors_of, loss):
    for seed in range(4):
        _, texts = said(*simulated(seed, errors_of), loss)
        (text,) = (each for each in texts if WORDS in each)
        assert "columns 0, 1" in text
        assert "root mean square" in text
        assert "logarithms" in text


@pytest.mark.parametrize("errors_of", ["measured", "true"])
def test_nothing_says_that_slopes_do_not_depend_on_such_errors(errors_of):
    for seed in range(4):
        _, texts = said(*simulated(seed, errors_of))
        assert not any("Slopes and" in each for each in texts)


def test_the_remedy_gives_the_true_slopes():
    slopes = []
    for seed in range(12):
        X, E, y = simulated(seed, "measured")
        model, texts = said(X, np.sqrt(np.mean(E**2, axis=0)) + 0 * E, y)
        slopes.append(model.coef_)
        assert not any(WORDS in each for each in texts)
    np.testing.assert_allclose(np.mean(slopes, axis=0), [1, -0.5], atol=0.06)


def test_the_warning_states_the_slope_that_the_remedy_gives():
    X, E, y = simulated(0, "measured")
    first, texts = said(X, E, y)
    (text,) = (each for each in texts if WORDS in each)
    column = int(text.split("that of ")[1].split()[0])
    other, _ = said(X, np.sqrt(np.mean(E**2, axis=0)) + 0 * E, y)
    given, equal = (
        f"{each.coef_[column]:.3g} ± {each.coef_std_[column]:.2g}"
        for each in (first, other)
    )
    assert f" is {given}, and {equal} with the root mean square" in text


@pytest.mark.parametrize("n", [60, 500])
@pytest.mark.parametrize(
    "errors",
    [
        lambda rng, true: 0.5 + 0 * true,
        lambda rng, true: rng.uniform(0.1, 1.0, size=true.shape),
        lambda rng, true: 0.4 * np.exp(0.8 * rng.normal(size=true.shape)),
        lambda rng, true: 0.5 * (rng.random(true.shape) < 0.5),
    ],
    ids=["equal", "uniform", "log-normal", "half exact"],
)
def test_errors_that_do_not_depend_on_values_are_not_suspected(errors, n):
    for seed in range(10):
        _, texts = said(*simulated(seed, errors, n))
        assert not any(WORDS in each for each in texts)


def test_errors_too_small_to_matter_are_not_remarked_upon():
    for seed in range(10):
        rng = np.random.default_rng(seed)
        true = rng.normal(size=(500, 2))
        y = true @ [1, -0.5] + 0.3 * rng.normal(size=500)
        E = 0.03 * np.abs(true) + 0.01
        _, texts = said(true + E * rng.normal(size=true.shape), E, y)
        assert not any(WORDS in each for each in texts)
