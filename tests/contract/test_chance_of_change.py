"""The chance that a fresh normal error changes a class, against simulated errors."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from wideberth import (
    Box,
    Correlated,
    CrossPolytope,
    RobustKernelSVC,
    RobustLinearSVC,
    make_robust_pipeline,
)
from wideberth.cli import main

#: Simulated errors of every row.
DRAWS = 1000


def simulated(model, X, draw, X_err=None):
    """The fraction of normal errors that change the class of each row."""
    before = model.predict(X, X_err)
    changed = [model.predict(X + draw(), X_err) != before for _ in range(DRAWS)]
    return np.mean(changed, axis=0)


def assert_close(chances, found):
    """To 5 standard errors of a fraction of so many draws."""
    error = np.sqrt(chances * (1 - chances) / DRAWS)
    assert np.all(np.abs(found - chances) <= 5 * error + 2 / DRAWS)


@pytest.fixture
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::4], y[::4]


def pipeline(**how):
    return make_robust_pipeline(StandardScaler(), RobustLinearSVC(**how))


def test_with_scales_it_is_that_of_simulated_errors(cancer):
    X, y = cancer
    scales, rng = X.std(axis=0), np.random.default_rng(0)
    model = pipeline(noise=scales, radius=0.3).fit(X, y)
    chances = model.chance_of_change(X)
    assert_close(
        chances, simulated(model, X, lambda: scales * rng.normal(size=X.shape))
    )
    assert np.sum(chances > 0.05) > 5  # some rows are in doubt


def test_with_errors_of_every_cell_it_is_that_of_simulated_errors(cancer):
    X, y = cancer
    rng = np.random.default_rng(0)
    errors = rng.uniform(0, 0.6, X.shape) * X.std(axis=0)
    model = pipeline(solver_options={}).fit(X, y, robustlinearsvc__X_err=errors)
    chances = model.chance_of_change(X, errors)
    draw = simulated(model, X, lambda: errors * rng.normal(size=X.shape), errors)
    assert_close(chances, draw)


def test_with_a_covariance_it_is_that_of_simulated_errors(cancer):
    X, y = cancer[0][:, :5], cancer[1]
    rng, factor = np.random.default_rng(0), 0.3 * np.linalg.cholesky(np.cov(X.T))
    model = pipeline(noise=Correlated(factor @ factor.T)).fit(X, y)
    chances = model.chance_of_change(X)
    found = simulated(model, X, lambda: rng.normal(size=X.shape) @ factor.T)
    assert_close(chances, found)


def test_with_three_classes_it_is_an_upper_bound_and_not_a_loose_one():
    X, y = load_wine(return_X_y=True)
    scales, rng = 0.7 * X.std(axis=0), np.random.default_rng(0)
    model = pipeline(noise=scales).fit(X, y)
    chances = model.chance_of_change(X)
    found = simulated(model, X, lambda: scales * rng.normal(size=X.shape))
    error = np.sqrt(found * (1 - found) / DRAWS)
    assert np.all(chances >= found - 5 * error - 2 / DRAWS)
    assert chances.sum() < 1.3 * found.sum()


@pytest.mark.parametrize(
    "model",
    [
        RobustLinearSVC(),
        RobustLinearSVC(radius=0.1, noise="linf"),
        RobustLinearSVC(noise=Box(np.ones(30))),
        RobustLinearSVC(noise=CrossPolytope(np.ones(30))),
        RobustKernelSVC(noise=np.ones(30)),
    ],
)
def test_without_standard_deviations_or_a_line_there_is_no_chance(cancer, model):
    X, y = cancer
    with pytest.raises(ValueError, match="chance_of_change"):
        model.fit(X, y).chance_of_change(X)


def test_errors_given_later_are_enough(cancer):
    X, y = cancer
    errors = np.full(X.shape, 0.1) * X.std(axis=0)
    model = pipeline(radius=0.1).fit(X, y)
    assert 0 < model.chance_of_change(X, errors).max() <= 0.5


# -- the command line --------------------------------------------------------------------


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 2)) + y[:, None]
    errors = rng.uniform(0.1, 1, X.shape)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame[["a_err", "b_err"]] = errors
    frame["state"] = np.where(y, "sick", "well")
    frame["sigma"] = rng.uniform(0.1, 0.3, 120)
    frame.to_csv("t.csv", index=False)
    pd.DataFrame({"name": ["a", "b"], "scale": [0.4, 0.2]}).to_csv("s.csv", index=False)


def certified(capfd, options):
    fit = "fit t.csv --target state --folds 0 --out m.wideberth"
    assert main([*fit.split(), *options.split()]) == 0
    capfd.readouterr()
    assert main(["certify", "m.wideberth", "t.csv", "--out", "c.csv"]) == 0
    said = capfd.readouterr().out
    assert main(["certify", "m.wideberth", "t.csv", "--json"]) == 0
    return pd.read_csv("c.csv"), said, json.loads(capfd.readouterr().out)


@pytest.mark.parametrize(
    "options", ["--errors auto --drop sigma", "--noise s.csv --drop sigma a_err b_err"]
)
def test_certify_writes_it_where_errors_are_standard_deviations(table, capfd, options):
    from scipy.stats import norm

    rows, said, summary = certified(capfd, options)
    expected = norm.sf(rows["certified_radius"])
    np.testing.assert_allclose(rows["chance_of_change"], expected, rtol=1e-9)
    assert summary["expected_changes"] == pytest.approx(expected.sum())
    percent = f"{100 * expected.mean():.1f} % of the classes"
    assert f"normal errors of the stated size change {percent}" in said


@pytest.mark.parametrize(
    "options",
    [
        "--radius 0.1 --drop sigma a_err b_err",
        "--radius 0.1std --drop sigma a_err b_err",
        "--noise linf s.csv --radius 0.1 --drop sigma a_err b_err",
        "--errors auto box --radius 0.2 --drop sigma",
        "--radius-column sigma --drop a_err b_err",
        "--kernel rbf --noise s.csv --radius 0.2 --drop sigma a_err b_err",
    ],
)
def test_certify_writes_none_elsewhere(table, capfd, options):
    rows, said, summary = certified(capfd, options)
    assert "certified_radius" in rows
    assert "chance_of_change" not in rows
    assert summary["expected_changes"] is None
    assert "normal errors" not in said
