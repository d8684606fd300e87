"""Columns of two values without errors and gaps: beside the Gaussians, not in them."""

import numpy as np
import pytest

from wideberth import MeasuredSVC, TrueFeatures
from wideberth.measurement import true_features
from wideberth.measurement.population import Measurements, posterior_of


def table(n, seed=0, sizes=(2, 3, 6), effect=1.0, gaps=0.3):
    """True features behind two measured columns and one-hot ones; rows with gaps."""
    rng = np.random.default_rng(seed)
    groups = [rng.integers(0, k, n) for k in sizes]
    C = np.hstack([np.eye(k)[g] for k, g in zip(sizes, groups, strict=True)])
    move = np.random.default_rng(1).normal(size=(C.shape[1], 2))
    true = rng.normal(size=(n, 2)) @ [[1.0, 0.6], [0.0, 0.8]] + effect * C @ move
    E = rng.uniform(0.1, 1.0, size=(n, 2))
    X = true + E * rng.normal(size=(n, 2))
    X[rng.random((n, 2)) < gaps] = np.nan
    y = (true[:, 0] + C[:, 0] + 0.3 * rng.normal(size=n) > 0.5).astype(int)
    return np.hstack([true, C]), np.hstack([X, C]), np.hstack([E, 0 * C]), y


def test_categories_are_no_part_of_the_gaussians_and_singular_ones_are_no_trouble():
    true, X, E, y = table(400)
    X, E = np.column_stack([X, X[:, -1]]), np.column_stack([E, E[:, -1]])  # a copy
    model = TrueFeatures().fit(X, y, X_err=E)
    assert model._population.means.shape[1] == 2
    assert np.all(np.diff(model.objective_) >= 0)
    found = model.posterior(X, E)
    np.testing.assert_array_equal(found.mean[:, 2:], X[:, 2:])
    np.testing.assert_array_equal(found.covariance[:, 2:], 0.0)
    assert np.linalg.eigvalsh(found.covariance[:, :2, :2]).min() >= 0
    off = (found.mean - np.column_stack([true, true[:, -1]]))[:, :2]
    sizes = np.einsum("nii->ni", found.covariance)[:, :2]
    assert np.mean(off**2 / sizes) == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize("n_components", [1, "per_class"])
def test_rows_of_known_categories_have_the_posterior_of_the_whole_population(
    n_components,
):
    _, X, E, y = table(300)
    model = TrueFeatures(n_components).fit(X, y, X_err=E)
    part = Measurements(X, E**2, np.empty((0, *model.covariances_.shape[1:])))
    whole = posterior_of(model._joint, part.scaled(model._centre, model._scale))
    whole = whole.in_units(part, model._centre, model._scale)
    found = model.posterior(X, E)
    np.testing.assert_allclose(found.means, whole.means, atol=1e-9)
    np.testing.assert_allclose(found.covariances, whole.covariances, atol=1e-9)


def test_a_category_that_is_missing_or_doubtful_is_filled_in_like_any_cell():
    _, X, E, _ = table(600, sizes=(2,), effect=3.0, gaps=0.0)
    model = TrueFeatures(1).fit(X, X_err=E)
    rows, errors = X[:100].copy(), E[:100].copy()
    rows[:50, 2], errors[50:, 2] = np.nan, 0.2
    found = model.posterior(rows, errors)
    guess = found.mean[:50, 2] > 0.5
    assert np.mean(guess == (X[:50, 2] > 0.5)) > 0.8  # the other columns tell
    assert (found.covariance[:, 2, 2] > 0).all()
    assert np.abs(found.mean[50:, 2] - X[50:100, 2]).max() < 0.5
    for kind in (None, "full"):
        given = rows if kind is None else np.where(np.isnan(rows), 0.0, rows)
        assert np.isfinite(model.transform(given, errors)).all()


def test_gaps_are_filled_by_what_the_category_says_where_it_says_something():
    true, X, E, _ = table(800)
    gap = np.isnan(X[:, :2])
    alone = TrueFeatures(1).fit(X[:, :2], X_err=E[:, :2]).transform(X[:, :2], E[:, :2])
    found = TrueFeatures(1).fit(X, X_err=E)
    off = [
        np.mean((f[:, :2] - true[:, :2])[gap] ** 2)
        for f in (found.transform(X, E), alone)
    ]
    assert off[0] < 0.75 * off[1]
    rng = np.random.default_rng(0)
    noise = np.hstack([X[:, :2], np.eye(40)[rng.integers(0, 40, 800)]])
    errors = np.hstack([E[:, :2], np.zeros((800, 40))])
    useless = TrueFeatures(1).fit(noise, X_err=errors).transform(noise, errors)[:, :2]
    assert np.mean((useless - true[:, :2])[gap] ** 2) < 1.05 * off[1]


def test_few_rows_of_many_categories_do_not_make_posteriors_too_sure():
    ratios = []
    for seed in range(20):
        true, X, E, _ = table(160, seed, sizes=(5, 8))
        model = TrueFeatures(1).fit(X[:60], X_err=E[:60])
        found = model.posterior(X[60:], E[60:])
        scale = found.uncertainty.student(found, np.eye(X.shape[1])[0])[0][0]
        ratios.append((found.mean - true[60:])[:, 0] / scale)
    assert 0.7 < np.mean(np.square(ratios)) < 1.2


def test_a_classifier_sees_categories_beside_what_was_measured():
    _, X, E, y = table(3000)
    _, new, errors, labels = table(2000, seed=5)
    model = MeasuredSVC().fit(X, y, X_err=E)
    blind = MeasuredSVC().fit(X[:, :2], y, X_err=E[:, :2])
    score = model.score(new, labels, X_err=errors)
    assert score > blind.score(new[:, :2], labels, X_err=errors[:, :2]) + 0.02
    found = model.verdict(new, X_err=errors)
    assert set(np.unique(found.remeasure)) <= {-1, 0, 1}


def test_only_so_many_categories_have_effects(monkeypatch):
    monkeypatch.setattr(true_features, "_MOST_EFFECTS", 3)
    _, X, E, _ = table(300)
    model = TrueFeatures(1).fit(X, X_err=E)
    assert 0 < np.sum(model._effects.any(axis=1)) <= 3
    np.testing.assert_array_equal(model.transform(X, E)[:, 2:], X[:, 2:])


def test_what_would_take_hours_is_refused_with_an_estimate(monkeypatch):
    monkeypatch.setattr(true_features, "_LONGEST_STEP", 1e5)
    X = np.random.default_rng(0).normal(size=(300, 40))
    with pytest.raises(ValueError, match=r"40 columns .*about .* hours.*Drop columns"):
        TrueFeatures().fit(X, X_err=0.1)


def test_a_long_fit_says_what_it_does(capsys):
    _, X, E, _ = table(100)
    TrueFeatures(1, verbose=1).fit(X, X_err=E)
    said = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[TrueFeatures] EM, ") for line in said)
    assert any("100 rows, 2 columns: log likelihood" in line for line in said)
