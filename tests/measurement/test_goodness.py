"""Tails and lumps that a population has not are warned of; what it has is not."""

import warnings

import numpy as np
import pytest

from wideberth import TrueFeatures


def table(kind, n=400, seed=0):
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, 3)) @ (np.eye(3) + 0.4)
    if kind == "tails":
        true *= np.where(rng.random((n, 1)) < 0.1, 6.0, 1.0)
    if kind == "one tail":
        true[:, 1] *= np.where(rng.random(n) < 0.1, 6.0, 1.0)
    if kind == "skew":
        true[:, 2] = np.exp(true[:, 2])
    if kind == "lumps":  # beside each other in no column's own direction
        true += np.where(rng.random(n) < 0.5, 1, -1)[:, None] * [1.5, -3.0, 1.5]
    E = rng.uniform(0.05, 0.3, size=true.shape)
    X = true + E * rng.normal(size=true.shape)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, E


def misfit_of(X, E, n_components=1):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = TrueFeatures(n_components, random_state=0).fit(X, X_err=E)
    said = [str(each.message) for each in told if "does not fit" in str(each.message)]
    assert len(said) == any(model.misfit_.values())
    return "".join(said)


@pytest.mark.parametrize("n", [10, 30, 100, 1000])
def test_rows_of_one_gaussian_fit_it(n):
    for seed in range(5):
        assert misfit_of(*table("plain", n, seed)) == ""


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("tails", r"heavy tails in columns 0, 1, 2, and in whole rows"),
        ("one tail", r"heavy tails in column 1"),
        ("skew", r"clusters or a skew in column 2"),
        ("lumps", r"clusters or a skew in .*whole rows"),
    ],
)
def test_what_one_gaussian_has_not_is_named_with_the_remedy(kind, said):
    import re

    found = misfit_of(*table(kind))
    assert re.search(said, found), found
    assert "n_components, such as 2" in found


def test_two_lumps_fit_two_gaussians():
    X, E = table("lumps")
    assert misfit_of(X, E) != ""
    assert misfit_of(X, E, n_components=2) == ""


def test_a_quantity_measured_twice_is_no_misfit():
    """The cell that the other determines has the variance of the floor."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        true = np.repeat(rng.normal(size=(200, 1)), 2, axis=1)
        E = rng.uniform(0.1, 1, size=true.shape) * (rng.random(true.shape) < 0.5)
        assert misfit_of(true + E * rng.normal(size=true.shape), E) == ""
