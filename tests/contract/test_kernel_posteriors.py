"""Kernels on measured rows: what is said of a posterior is what draws from it do."""

import numpy as np
import pytest

from wideberth import MeasuredRegressor, MeasuredSVC, TrueFeatures

DRAWS = 4_000


def rings(n, seed, d=3):
    """True features, measurements with gaps, their errors, and the squared radius."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, d))
    E = rng.uniform(0.05, 0.6, size=(n, d)) * (rng.random((n, d)) < 0.9)
    X = true + E * rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.1] = np.nan
    return X, E, np.square(true[:, :2]).sum(axis=1)


@pytest.fixture(scope="module", params=[1, 2])
def classifier(request):
    X, E, square = rings(500, 0)
    model = MeasuredSVC(kernel="rbf", n_components=request.param, random_state=0)
    return model.fit(X, square > 1.4, X_err=E)


@pytest.fixture(scope="module")
def regressor():
    X, E, square = rings(300, 0, d=2)
    y = np.exp(-square) + 0.05 * np.random.default_rng(1).normal(size=300)
    return MeasuredRegressor(kernel="rbf", cv=None).fit(X, y, X_err=E)


def drawn(posterior, i, rng):
    """True features of object i, drawn from its posterior."""
    which = rng.choice(len(posterior.means), DRAWS, p=posterior.responsibilities[i])
    parts = [
        rng.multivariate_normal(
            posterior.means[k, i], posterior.covariances[k, i], np.sum(which == k)
        )
        for k in range(len(posterior.means))
    ]
    return np.concatenate(parts)


def test_chances_and_spreads_of_verdicts_are_those_of_draws(classifier):
    X, E, _ = rings(40, 1)
    found = classifier.verdict(X, X_err=E)
    scaler, features, machine = classifier.pipeline_
    posterior = features.posterior(scaler.transform(X), E / scaler.scale_)
    rng, off = np.random.default_rng(2), []
    for i in range(len(X)):
        scores = machine.decision_function(drawn(posterior, i, rng))
        other = np.where(found.label[i], scores < 0, scores > 0)
        off.append(found.chance[i] - other.mean())
        assert found.spread[i] == pytest.approx(scores.std(), rel=0.15, abs=1e-6)
    assert np.abs(off).mean() < 0.01
    assert np.abs(off).max() < 0.05


def test_predictions_and_spreads_of_curves_are_those_of_draws(regressor):
    X, E, _ = rings(25, 1, d=2)
    values, spreads = regressor.predict(X, E, return_std=True)
    rows, errors, _ = rings(300, 0, d=2)
    features = TrueFeatures(1, shrinkage=0.0).fit(rows, X_err=errors)
    posterior, rng = features.posterior(X, E), np.random.default_rng(2)
    for i in range(len(X)):
        curve = regressor.predict(drawn(posterior, i, rng), X_err=0)
        assert values[i] == pytest.approx(curve.mean(), abs=0.03)
        expected = np.hypot(regressor.scatter_, curve.std())
        assert spreads[i] == pytest.approx(expected, rel=0.12)


def test_an_object_has_the_same_answers_alone_and_among_others(classifier, regressor):
    X, E, _ = rings(40, 1)
    found = classifier.verdict(X, X_err=E)
    alone = [classifier.verdict(X[[i]], X_err=E[[i]]) for i in range(len(X))]
    for name in ("chance", "spread", "share"):
        single = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_allclose(single, getattr(found, name), rtol=1e-6, atol=1e-9)
    backwards = classifier.verdict(X[::-1], X_err=E[::-1])
    np.testing.assert_allclose(backwards.chance[::-1], found.chance, atol=1e-9)
    X, E = X[:, :2], E[:, :2]
    both = regressor.predict(X, E, return_std=True)
    single = [regressor.predict(X[[i]], E[[i]], return_std=True) for i in range(len(X))]
    np.testing.assert_allclose(np.hstack(single), both, rtol=1e-6)


def test_an_error_that_vanishes_leaves_the_answers_of_an_exact_cell(classifier):
    X = np.nan_to_num(rings(20, 1)[0])
    exact = classifier.verdict(X, X_err=0)
    nearly = classifier.verdict(X, X_err=1e-9)
    assert not exact.chance.any()
    assert (exact.spread < 1e-12).all()
    assert (nearly.chance < 1e-6).all()
    # What a small error does is what the slope says, in all its digits.
    twice = classifier.verdict(X, X_err=2e-9)
    np.testing.assert_allclose(twice.spread, 2 * nearly.spread, rtol=1e-5)
    np.testing.assert_allclose(twice.share, nearly.share, rtol=1e-5)


def test_verbose_regressors_print_a_line_for_each_fit(capsys):
    X, E, square = rings(60, 0)
    MeasuredRegressor(kernel="rbf", cv=2, verbose=1).fit(X, square, X_err=E)
    lines = capsys.readouterr().out.splitlines()
    assert [line.rpartition(",")[0] for line in lines] == [
        f"[MeasuredRegressor] fitted to {n} rows" for n in (60, 30, 30)
    ]
    MeasuredRegressor(kernel="rbf", cv=2).fit(X, square, X_err=E)
    assert not capsys.readouterr().out
