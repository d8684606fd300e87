"""Error bars beside data that is read in chunks: one read for both, one answer."""

import numpy as np
import pandas as pd
import pytest

from tall import searched
from wideberth import solve
from wideberth.data.errors import DataError
from wideberth.data.samples import Terms
from wideberth.data.sources import Source
from wideberth.noise import L2
from wideberth.problem import Problem
from wideberth.solvers.base import Control

from test_merge import Held  # isort: skip

PENALTIES = {"none": None, "free": 0.0, "penalised": 2.0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    y = np.where(X @ rng.normal(size=4) + 0.8 * rng.normal(size=20_000) > 0, 1.0, -1.0)
    return X, y, 0.3 * rng.exponential(size=X.shape) * (rng.random(X.shape) > 0.2)


@pytest.mark.parametrize("intercept", PENALTIES)
@pytest.mark.parametrize("shape", ["ellipsoid", "box"])
@pytest.mark.parametrize("room", [20_000, 1_500])
def test_chunks_have_the_certificate_of_all_rows(intercept, shape, room, data):
    X, y, E = data
    source = Held((X, y, np.ones(len(y)), np.full(len(y), 0.8), E), room, 3_000)
    penalty, radius = PENALTIES[intercept], 0.8
    terms = Terms(4, 0.2, radius, L2(), penalty, error_shape=shape)
    found = searched(source, terms, Control(1e-5))
    assert found.certificate.proves(1e-5)
    assert found.reads <= 25
    problem = Problem.from_data(
        X, y, C=0.2, radius=radius, X_err=E, error_shape=shape, intercept=penalty
    )
    point = problem.at(found.w, found.b)
    assert point.value == pytest.approx(found.certificate.primal, rel=1e-12)
    dual = problem.dual_at(found.alpha, near=found.w)
    assert dual.value <= point.value
    assert point.value - dual.value <= 1e-4 * point.value
    exact = solve(
        X, y, C=0.2, radius=radius, X_err=E, error_shape=shape, tol=1e-8,
        fit_intercept=penalty is not None, intercept_penalty=penalty or 0.0,
    )  # fmt: skip
    assert found.certificate.dual <= exact.primal * (1 + 1e-12)
    assert np.all(exact.alpha[found.removed] <= 1e-5)
    assert np.all(exact.alpha[found.saturated] >= 0.2 - 1e-5)
    assert found.removed.any()
    assert found.saturated.any()


def test_pairs_exact_features_and_chunks_that_bring_errors(data, tmp_path):
    """Lopsided and exact columns of one table; chunks without weights and radii."""
    X, y, E = (part[:900] for part in data)
    columns = dict(zip("abcd", X.T, strict=True))
    frame = pd.DataFrame(columns | {"up": 2 * E[:, 0], "down": E[:, 0], "e": E[:, 1]})
    frame.assign(label=y).to_parquet(tmp_path / "table.parquet")
    errors = {"a": ("down", "up"), "b": "e", "c": None, "d": None}
    exact = np.zeros(len(X))
    down = np.column_stack((E[:, 0], E[:, 1], exact, exact))
    up = np.column_stack((2 * E[:, 0], E[:, 1], exact, exact))
    expected = solve(X, y, C=0.2, X_err=(down, up), error_shape="box").primal
    parts = [
        (X[k], y[k], None, None, (down[k], up[k]))
        for k in (slice(0, 500), slice(500, 900))
    ]
    for given in ((tmp_path / "table.parquet", "label", errors), (parts, None, None)):
        where, label, beside = given
        found = solve(where, label, C=0.2, X_err=beside, error_shape="box")
        assert found.primal == pytest.approx(expected, rel=2e-6)


def test_rows_that_do_not_fit_are_said_to_need_memory(data, monkeypatch):
    """They form no groups; what is found of a sample of them is no proof."""
    X, y, E = (part[:400] for part in data)
    parts = [
        (X[k : k + 100], y[k : k + 100], None, None, E[k : k + 100])
        for k in range(0, 400, 100)
    ]
    monkeypatch.setattr(Source, "capacity", lambda *_: 60)
    found = solve(parts, None, C=0.2, quiet=True, tol=1e-8, max_iter=30)
    assert not found.converged
    assert "raise it" in str(found.notes[0])


@pytest.mark.parametrize(
    ("X_err", "said"),
    [
        ({"a": 3}, "pair of them"),
        ({"a": ("b", "c", "d")}, "pair of them"),
        ({"a": "b", "b": None}, "one thing only"),
        ({"a": "z"}, "no column 'z'"),
        ({}, "which columns"),
    ],
)
def test_wrong_names_of_error_columns(X_err, said, data, tmp_path):
    X, y, _ = (part[:50] for part in data)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(DataError, match=said):
        solve(tmp_path / "a.csv", "label", X_err=X_err)


def test_errors_that_cannot_go_with_the_data_are_refused(data, tmp_path):
    X, y, E = (part[:100] for part in data)
    np.save(tmp_path / "X.npy", X)
    pd.DataFrame(X).assign(label=y).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(DataError, match="which columns"):
        solve(tmp_path / "a.csv", "label", X_err=E)
    with pytest.raises(DataError, match="shape"):
        solve(tmp_path / "X.npy", y, X_err=E[:50])
    with pytest.raises(DataError, match="have no names"):
        solve(tmp_path / "X.npy", y, X_err={"a": "b"})
    with pytest.raises(DataError, match="must come with them"):
        solve(iter([(X, y)]).__iter__, X_err=E)


# -- numbers to predict ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("quantile", "intercept", "radius"),
    [
        (0.5, "none", 0.8),
        (0.2, "free", 0.8),
        (0.8, "penalised", 0.8),
        (0.2, "free", 3.0),  # w* is short, and one feature is at its kink
        (0.5, "none", 3.0),  # w* = 0
        (0.5, "free", 3.0),
    ],
)
def test_quantiles_have_the_certificate_of_all_rows(quantile, intercept, radius):
    """The noise of all rows is outside their hinges, of those far away too."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9_000, 4))
    E = 0.3 * rng.exponential(size=X.shape) * (rng.random(X.shape) > 0.2)
    t = X @ [1.0, -2.0, 0.5, 0.0] + 0.5 + 0.5 * rng.standard_t(3, size=len(X))
    penalty, n = PENALTIES[intercept], len(t)
    source = Held((X, t, np.ones(n), np.full(n, radius), E), 9_000, 2_000)
    side = 1.0 if quantile > 0.5 else -1.0
    share = min(quantile, 1 - quantile)
    terms = Terms(
        4, 0.2, radius, L2(), penalty, error_shape="ellipsoid", tilt=share, side=side
    )
    found = searched(source, terms, Control(1e-5))
    assert found.certificate.proves(1e-5)
    assert found.reads <= 25
    exact = solve(
        X, t, C=0.2, radius=radius, X_err=E, loss="quantile", quantile=quantile,
        tol=1e-6, quiet=True, fit_intercept=penalty is not None, intercept_penalty=penalty or 0.0,
    )  # fmt: skip
    assert found.certificate.dual <= exact.primal * (1 + 1e-12)
    assert found.certificate.primal >= exact.dual * (1 - 1e-12)
    assert np.all(exact.alpha[found.removed] <= 1e-3)
    assert np.all(exact.alpha[found.saturated] >= 0.2 - 1e-3)
    assert found.removed.any()
    assert found.saturated.any()
