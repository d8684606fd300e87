"""Pieces of fitting a population, one by one, against their definitions."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from wideberth import RobustLinearSVC, TrueFeatures, make_robust_pipeline
from wideberth.estimators.denoised import Scores
from wideberth.measurement.fitting import (
    Fit,
    GaussianFitter,
    _joined,
    _splits,
    marginals,
    moments,
    thinned,
)
from wideberth.measurement.goodness import _heavy, _lumpy
from wideberth.measurement.population import Measurements, Population, Prior


def rows(n, d=2, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    X = scale * rng.normal(size=(n, d))
    return Measurements(X, np.zeros((n, d)), np.empty((0, d, d)))


def test_the_prior_is_a_density_and_knows_singular_covariances():
    T, spread = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([[1.5, -0.2], [-0.2, 0.7]])
    prior = Prior(np.array([T, T]), np.array([3.0, 0.0]))
    two = Population(np.full(2, 0.5), np.zeros((2, 2)), np.array([spread, spread]))
    expected = -1.5 * (
        np.log(np.linalg.det(spread)) + np.trace(np.linalg.solve(spread, T))
    )
    assert prior.log_density(two) == pytest.approx(expected)
    flat = np.ones((2, 2))
    other = Population(np.full(2, 0.5), np.zeros((2, 2)), np.array([flat, spread]))
    assert prior.log_density(other) == -np.inf
    other = Population(np.full(2, 0.5), np.zeros((2, 2)), np.array([spread, flat]))
    assert prior.log_density(other) == pytest.approx(
        expected
    )  # which it says nothing of


def test_samples_to_choose_by_are_even_and_small():
    """A fifth of 4096 rows of the largest group, and as few of the others."""
    for n, kept in ((100, 100), (819, 819), (820, 410), (4096, 820), (10_000, 770)):
        part = rows(n, 1)
        (found,) = thinned([part])
        assert len(found) == kept
        stride = -(-n * 5 // 4096)
        np.testing.assert_array_equal(found.values, part.values[::stride])
    both = thinned([rows(4096, 1), rows(100, 1)])
    assert [len(part) for part in both] == [820, 20]


def test_folds_hold_every_row_once():
    part = rows(23, 1)
    found = _splits(part)
    assert len(found) == 5
    left_out = np.sort(np.concatenate([test.values[:, 0] for _, test in found]))
    np.testing.assert_array_equal(left_out, np.sort(part.values[:, 0]))
    for train, test in found:
        assert len(train) + len(test) == 23
        assert not np.intersect1d(train.values, test.values).size


def test_targets_are_the_variances_with_one_row_more():
    part = rows(9, 2, scale=2.0)
    target, start = GaussianFitter()._start(part, None)
    mean, variance = marginals(part, 200, 1e-2)
    expected = (9 * variance + 1) / 10
    np.testing.assert_allclose(target.covariance, np.diag(expected))
    np.testing.assert_allclose(start.means[0], mean)
    np.testing.assert_allclose(np.diag(start.covariances[0]), expected)


def test_marginals_of_one_exact_value_are_finite_after_any_number_of_steps():
    values = np.array([[0.4], [3.0], [-2.0]])
    variances = np.array([[0.0], [4.0], [9.0]])
    mean, variance = marginals(
        Measurements(values, variances, np.empty((0, 1, 1))), 2000, 0.0
    )
    assert mean[0] == pytest.approx(0.4)
    assert 0 <= variance[0] < 1e-20


def test_a_number_for_the_shrinkage_is_that_of_every_gaussian():
    fitter = GaussianFitter(shrinkage=3.0)
    assert fitter.choose([rows(10)]) == [3.0]
    assert fitter.choose([rows(10), rows(12)]) == [3.0, 3.0, 3.0]


def test_gaussians_side_by_side_tell_of_the_one_that_took_most():
    def fit(steps, converged):
        here = Population(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)))
        prior = Prior(np.ones((1, 1, 1)), np.array([float(steps)]), np.ones((1, 1)))
        return Fit(here, list(range(steps)), converged), prior

    for order in ((3, 5), (5, 3)):
        fits, priors = zip(*(fit(k, k == 3) for k in order), strict=True)
        both, prior = _joined([rows(30, 1), rows(10, 1)], fits, priors)
        assert len(both.objectives) == 5
        assert both.converged is False
        np.testing.assert_allclose(both.population.shares, [0.75, 0.25])
        np.testing.assert_allclose(prior.rows, order)
    assert _joined([rows(3, 1)], *zip(fit(3, True), strict=True))[0].converged is True


@pytest.mark.parametrize(
    ("n", "most"), [(10, 4), (100, 5), (300, 9), (1000, 25), (10_000, 250)]
)
def test_tails_are_heavy_beyond_chance_and_beyond_two_and_a_half_percent(n, most):
    for outside, heavy in ((most, False), (most + 1, True)):
        u = np.where(np.arange(n) < outside, 0.995, 0.5)
        assert _heavy(u) == heavy


@pytest.mark.parametrize(("n", "limit"), [(25, 0.382), (100, 0.191), (2000, 0.1)])
def test_lumps_are_a_distance_beyond_chance_and_beyond_a_tenth(n, limit):
    even = (np.arange(n) + 0.5) / n
    for size, lumpy in ((limit - 0.01, False), (limit + 0.01, True)):
        away = size - 0.5 / n
        for u in (np.clip(even - away, 0, 1), np.clip(even + away, 0, 1)):
            assert _lumpy(np.random.default_rng(0).permutation(u)) == lumpy
    assert not _lumpy(even)
    assert not _lumpy(np.empty(0))


def test_behind_a_mixing_step_no_cell_is_a_raw_feature():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    E, y = np.full(X.shape, 0.2), (X[:, 0] > 0).astype(int)
    model = make_robust_pipeline(PCA(2), TrueFeatures(1), RobustLinearSVC())
    model.fit(X, y, robustlinearsvc__X_err=E)
    assert model.denoised_.columns is None
    plain = make_robust_pipeline(TrueFeatures(1), RobustLinearSVC())
    plain.fit(X, y, robustlinearsvc__X_err=E)
    np.testing.assert_array_equal(plain.denoised_.columns, [0, 1, 2])


def test_moments_of_exact_rows_are_their_correlations_about_the_mean():
    rng = np.random.default_rng(4)
    X = 5.0 + rng.normal(size=(200, 3)) @ (np.eye(3) + 0.5)
    part = Measurements(X, np.zeros(X.shape), np.empty((0, 3, 3)))
    mean, variance = X.mean(axis=0), X.var(axis=0)
    found = moments(part, mean, variance)
    np.testing.assert_allclose(found, np.cov(X.T, bias=True), rtol=1e-9)


def test_scores_are_decision_values_and_groups_of_them_are_as_wide_as_the_widest():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3)) + 1.0
    E, y = rng.uniform(0.1, 0.5, size=X.shape), (X[:, 0] > 1.3).astype(int)
    for n_components in (1, "per_class"):
        model = make_robust_pipeline(TrueFeatures(n_components), RobustLinearSVC())
        model.fit(X, y, robustlinearsvc__X_err=E)
        scores = model.denoised_.scores(X, E)
        mixed = np.sum(scores.shares.T[..., None] * scores.values, axis=0)[:, 0]
        np.testing.assert_allclose(
            mixed, model.decision_function(X, X_err=E), rtol=1e-9
        )
    one = Scores(np.ones((4, 1)), np.ones((1, 4, 1)), np.ones((1, 4, 1)))
    two = Scores(np.full((3, 2), 0.5), np.zeros((2, 3, 1)), np.zeros((2, 3, 1)))
    both = Scores.joined([one, two])
    np.testing.assert_array_equal(both.shares[:4], [[1.0, 0.0]] * 4)
    assert both.values.shape == both.spreads.shape == (2, 7, 1)
    np.testing.assert_array_equal(both.values[0, :, 0], [1, 1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(both.take(0).values, both.values[..., 0])


def test_a_class_without_any_value_of_a_feature_has_a_population():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 3))
    y = np.arange(40) % 2
    X[y == 1, 2] = np.nan
    mean, variance = marginals(
        Measurements(X[y == 1], np.zeros((20, 3)), np.empty((0, 3, 3))), 50, 1e-2
    )
    assert np.isfinite(mean).all()
    assert np.isfinite(variance).all()
    model = TrueFeatures("per_class").fit(X, y, X_err=0.1)
    found = model.posterior(X, X_err=0.1)
    assert np.isfinite(found.mean).all()
    assert np.isfinite(model.covariances_).all()
    scales, _ = found.uncertainty.student(found, np.ones(3))
    assert np.isfinite(scales).all()
