"""Measurements with errors: the population behind them and what was true."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from wideberth import TrueFeatures
from wideberth.measurement.fitting import (
    GaussianFitter,
    expectation_maximisation,
    marginals,
)
from wideberth.measurement.population import (
    FLOOR,
    Measurements,
    Population,
    Prior,
    posterior_of,
    step,
    sums_of,
)


def simulated(n=300, d=4, seed=0, missing=0.2, shift=0.0):
    """True features, measurements with gaps, their errors, and two classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    true = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + shift * y[:, None]
    errors = rng.uniform(0.0, 2.0, size=(n, d)) * (rng.random((n, d)) < 0.8)
    measured = true + errors * rng.normal(size=(n, d))
    measured[rng.random((n, d)) < missing] = np.nan
    return true, measured, errors, y


def measurements(X, errors):
    return Measurements(X, errors**2, np.empty((0, X.shape[1], X.shape[1])))


def random_population(K, d, seed=0):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(K, d, d))
    spreads = factors @ factors.transpose(0, 2, 1) + 0.1 * np.eye(d)
    return Population(rng.dirichlet(np.ones(K)), rng.normal(size=(K, d)), spreads)


# -- posteriors ------------------------------------------------------------------------


def textbook(population, x, error):
    """Posterior of one row by §9, component by component, in plain linear algebra."""
    o = ~np.isnan(x)
    logs, means, spreads = [], [], []
    for share, mu, spread in zip(
        population.shares, population.means, population.covariances, strict=True
    ):
        S = spread[np.ix_(o, o)] + error[np.ix_(o, o)]
        K = spread[:, o] @ np.linalg.inv(S)
        means.append(mu + K @ (x - mu)[o])
        spreads.append(spread - K @ spread[o])
        density = multivariate_normal.logpdf(x[o], mu[o], S) if o.any() else 0.0
        logs.append(np.log(share) + density)
    shares = np.exp(np.array(logs) - max(logs))
    shares /= shares.sum()
    mean = sum(s * m for s, m in zip(shares, means, strict=True))
    spread = sum(
        s * (V + np.outer(m - mean, m - mean))
        for s, m, V in zip(shares, means, spreads, strict=True)
    )
    return mean, spread, shares, np.log(np.exp(logs).sum())


@pytest.mark.parametrize("K", [1, 3])
@pytest.mark.parametrize("correlated", [False, True])
def test_posteriors_are_those_of_the_textbook(K, correlated):
    _, X, errors, _ = simulated(150)
    X[0] = np.nan
    population = random_population(K, 4)
    part, E = measurements(X, errors), errors[:, :, None] ** 2 * np.eye(4)
    if correlated:
        factors = np.random.default_rng(1).normal(size=(150, 4, 4))
        E = factors @ factors.transpose(0, 2, 1)
        part = Measurements(X, np.einsum("nii->ni", E).copy(), E)
    found = posterior_of(population, part)
    for i in range(len(X)):
        mean, spread, shares, density = textbook(population, X[i], E[i])
        np.testing.assert_allclose(found.mean[i], mean, atol=1e-9)
        np.testing.assert_allclose(found.covariance[i], spread, atol=1e-9)
        np.testing.assert_allclose(found.responsibilities[i], shares, atol=1e-9)
        likelihood = population.log_likelihood(part[i : i + 1])
        assert likelihood == pytest.approx(density, abs=1e-9)


@pytest.mark.parametrize("e", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_errors_of_any_size_lose_no_digits(e):
    spread = np.array([[1.0, 0.6], [0.6, 2.0]])
    population = Population(np.ones(1), np.zeros((1, 2)), spread[None])
    x = np.array([[1.0 + e, 0.5]])
    found = posterior_of(population, measurements(x, np.array([[e, 1.0]])))
    A = np.linalg.inv(spread) + np.diag([e**-2, 1.0])
    scale = np.sqrt(np.diag(np.linalg.inv(A)))  # by precisions, accurate here
    V = np.linalg.inv(A * scale * scale[:, None]) * scale * scale[:, None]
    np.testing.assert_allclose(found.covariance[0], V, rtol=1e-4, atol=1e-30)
    np.testing.assert_allclose(found.mean[0], V @ (x[0] / [e**2, 1.0]), rtol=1e-4)
    assert np.linalg.eigvalsh(found.covariance[0])[0] >= 0


def test_one_feature_shrinks_as_in_every_textbook():
    rng = np.random.default_rng(0)
    x, e = rng.normal(5.0, 2.0, size=(400, 1)), rng.uniform(0.1, 3.0, size=(400, 1))
    x += e * rng.normal(size=x.shape)
    model = TrueFeatures(shrinkage=0, tol=1e-12, max_iter=500)
    found = model.fit_transform(x, X_err=e)
    m, v = model.means_[0, 0], model.covariances_[0, 0, 0]
    np.testing.assert_allclose(found, m + v / (v + e**2) * (x - m), rtol=1e-10)
    weights = 1 / (v + e**2)  # the two equations of the maximum of the likelihood
    assert m == pytest.approx(np.average(x, weights=weights), rel=1e-4)
    excess = np.average((x - m) ** 2 - e**2, weights=weights**2)
    assert v == pytest.approx(excess, rel=1e-3)


# -- EM --------------------------------------------------------------------------------


def test_without_errors_the_population_has_the_moments_of_the_sample():
    true, *_ = simulated()
    model = TrueFeatures(shrinkage=0).fit(true)
    np.testing.assert_allclose(model.means_[0], true.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(
        model.covariances_[0], np.cov(true.T, bias=True), rtol=2 * FLOOR
    )
    np.testing.assert_array_equal(model.transform(true), true)


def test_a_prior_counts_as_rows():
    true, *_ = simulated()
    sample = np.cov(true.T, bias=True)
    shrunk = (300 * sample + 100 * np.diag(np.diag(sample))) / 400
    model = TrueFeatures(shrinkage=100).fit(true)
    np.testing.assert_allclose(model.covariances_[0], shrunk, rtol=1e-6)


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("nu", [0.0, 5.0])
def test_a_step_of_em_is_that_of_the_textbook_and_never_falls(K, nu):
    _, X, errors, _ = simulated(200)
    part, population = measurements(X, errors), random_population(K, 4)
    prior = Prior(np.tile(np.eye(4), (K, 1, 1)), np.full(K, nu))
    last = -np.inf
    for _ in range(20):
        sums, found = sums_of(population, part), posterior_of(population, part)
        objective = sums.likelihood + prior.log_density(population)
        assert objective >= last - 1e-9
        last = objective
        ahead = step(population, sums, prior)
        for k in range(K):
            share = found.responsibilities[:, k]
            N, mean = share.sum(), np.average(found.means[k], axis=0, weights=share)
            off = found.means[k] - mean
            scatter = np.einsum("n,ni,nj->ij", share, off, off)
            scatter += np.einsum("n,nij->ij", share, found.covariances[k])
            np.testing.assert_allclose(ahead.shares[k], N / 200)
            np.testing.assert_allclose(ahead.means[k], mean)
            shrunk = (scatter + nu * np.eye(4)) / (N + nu)
            np.testing.assert_allclose(ahead.covariances[k], shrunk, atol=1e-10)
        population = ahead


@pytest.mark.parametrize("K", [1, 2])
def test_accelerated_em_never_falls_and_ends_where_plain_em_does(K):
    _, X, errors, _ = simulated(400, shift=4.0)
    part = measurements(X, errors)
    start = random_population(K, 4)
    prior = Prior(np.tile(np.eye(4), (K, 1, 1)), np.full(K, 2.0))

    calls = []

    def e_step(population):
        calls.append(population)
        return sums_of(population, part)

    fit = expectation_maximisation(e_step, start, prior, 400, 1e-9, 2000)
    assert fit.converged
    assert (np.diff(fit.objectives) >= 0).all()
    population, plain = start, [-np.inf]
    while len(plain) < 3 or plain[-1] - plain[-2] > 400 * 1e-9:
        sums = sums_of(population, part)
        plain.append(sums.likelihood + prior.log_density(population))
        population = step(population, sums, prior)
    assert fit.objectives[-1] == pytest.approx(plain[-1], abs=1e-3)
    assert len(calls) < 0.8 * len(plain)


def test_marginals_are_the_maximum_of_the_likelihood():
    _, X, errors, _ = simulated(2000)
    part = measurements(X, errors)
    mean, variance = marginals(part, 100, 1e-6)
    for j in range(4):
        there = ~np.isnan(X[:, j])
        x, v = X[there, j], errors[there, j] ** 2
        w = 1 / (variance[j] + v)
        assert mean[j] == pytest.approx(np.average(x, weights=w))
        excess = np.average((x - mean[j]) ** 2 - v, weights=w**2)
        assert variance[j] == pytest.approx(excess, rel=1e-4)


def test_the_population_is_found():
    true, X, errors, _ = simulated(20_000)
    model = TrueFeatures().fit(X, X_err=errors)
    scale = true.std(axis=0)
    off = (model.covariances_[0] - np.cov(true.T)) / np.outer(scale, scale)
    assert np.abs(off).max() < 0.05


def test_groups_lean_on_what_they_have_in_common():
    true, *_, y = simulated(400, shift=3.0)
    parts = [measurements(true[y == k], np.zeros((200, 4))) for k in (0, 1)]
    fit, prior = GaussianFitter(shrinkage=1e9).groups(parts, [0.0, 1e9, 1e9])
    within = np.mean([np.cov(true[y == k].T, bias=True) for k in (0, 1)], axis=0)
    np.testing.assert_allclose(prior.targets[0], within, rtol=1e-6)
    np.testing.assert_allclose(fit.population.covariances[1], within, rtol=1e-5)
    np.testing.assert_allclose(fit.population.means[1], true[y == 1].mean(axis=0))


# -- what must not matter --------------------------------------------------------------


def test_units_and_order_do_not_matter():
    _, X, errors, y = simulated(shift=3.0)
    units = 10.0 ** np.array([-6, 6, 0, 3])
    model = TrueFeatures(tol=1e-8, max_iter=1000)
    found = model.fit_transform(X, y, X_err=errors)
    scaled = model.fit_transform(X * units + units, y, X_err=errors * units)
    np.testing.assert_allclose((scaled - units) / units, found, rtol=1e-5, atol=1e-6)
    columns = [2, 0, 3, 1]
    other = model.fit_transform(X[:, columns], y, X_err=errors[:, columns])
    np.testing.assert_allclose(other, found[:, columns], rtol=1e-4, atol=1e-4)
    rows, fixed = np.random.default_rng(0).permutation(len(X)), clone(model)
    fixed.set_params(shrinkage=4.0, n_components="per_class")
    found = fixed.fit_transform(X, y, X_err=errors)
    other = fixed.fit_transform(X[rows], y[rows], X_err=errors[rows])
    np.testing.assert_allclose(other, found[rows], rtol=1e-4, atol=1e-4)


def test_exact_cells_stay_and_rows_without_any_get_the_mean():
    _, X, errors, y = simulated(shift=3.0)
    model = TrueFeatures("per_class").fit(X, y, X_err=errors)
    found = model.posterior(X, errors)
    exact = (errors == 0) & ~np.isnan(X)
    np.testing.assert_array_equal(found.mean[exact], X[exact])
    np.testing.assert_allclose(
        np.einsum("nii->ni", found.covariance)[exact], 0, atol=1e-20
    )
    single = TrueFeatures(1).fit(X, X_err=errors).posterior(X, errors)
    np.testing.assert_array_equal(single.covariance[exact], 0.0)  # rows of V
    empty = model.posterior(np.full((1, 4), np.nan), np.nan * np.ones((1, 4)))
    np.testing.assert_allclose(empty.mean[0], model.weights_ @ model.means_)
    np.testing.assert_allclose(empty.responsibilities[0], model.weights_)


def test_a_cell_without_measurement_may_have_any_error():
    _, X, errors, _ = simulated()
    found = TrueFeatures().fit_transform(X, X_err=errors)
    for error in (np.nan, np.inf, -1.0):
        other = np.where(np.isnan(X), error, errors)
        np.testing.assert_array_equal(
            TrueFeatures().fit_transform(X, X_err=other), found
        )


def test_labels_fit_and_never_denoise():
    _, X, errors, y = simulated(shift=3.0)
    model = TrueFeatures("per_class")
    found = model.fit_transform(X, y, X_err=errors)
    np.testing.assert_array_equal(found, model.transform(X, errors))
    assert model.n_components_ == 2


def test_auto_has_one_gaussian_per_class_only_where_classes_differ():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 4)), np.arange(600) % 2
    assert TrueFeatures().fit(X, y, X_err=0.5).n_components_ == 1
    X[y == 1] += 6.0
    assert TrueFeatures().fit(X, y, X_err=0.5).n_components_ == 2
    assert TrueFeatures().fit(X, np.linspace(0, 1, 600), X_err=0.5).n_components_ == 1


def test_a_mixture_finds_the_classes_by_itself():
    _, X, errors, y = simulated(600, shift=12.0)
    model = TrueFeatures(2, random_state=0).fit(X, X_err=errors)
    found = model.posterior(X, errors).responsibilities[:, 0] > 0.5
    assert max(np.mean(found == y), np.mean(found != y)) > 0.95


# -- a good citizen --------------------------------------------------------------------


@parametrize_with_checks([TrueFeatures()])
def test_scikit_learn_finds_nothing_to_object(estimator, check):
    check(estimator)


def test_frames_are_used_by_name_and_come_out_as_such():
    _, X, errors, _ = simulated()
    names = list("abcd")
    frame, bars = pd.DataFrame(X, columns=names), pd.DataFrame(errors, columns=names)
    model = TrueFeatures().set_output(transform="pandas")
    found = model.fit_transform(frame, X_err=bars[["c", "a", "d", "b"]])
    np.testing.assert_array_equal(found, TrueFeatures().fit_transform(X, X_err=errors))
    assert list(found) == names == list(model.get_feature_names_out())


def test_errors_are_routed_through_pipelines():
    _, X, errors, y = simulated(shift=3.0)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(TrueFeatures(), LogisticRegression())
        pipeline.fit(X, y, X_err=errors)
        found = pipeline.predict(X, X_err=errors)
    model = TrueFeatures().fit(X, y, X_err=errors)
    plain = LogisticRegression().fit(model.transform(X, errors), y)
    np.testing.assert_array_equal(found, plain.predict(model.transform(X, errors)))


def test_a_measurement_far_off_its_error_is_named():
    _, X, errors, _ = simulated(missing=0.0)
    errors[:] = 0.5
    X[17, 2] = 1e4
    with pytest.warns(UserWarning, match="row 17, column 2"):
        TrueFeatures(1).fit(X, X_err=errors)


def test_what_cannot_be_is_said():
    _, X, errors, _ = simulated()
    with pytest.raises(ValueError, match="needs the labels y"):
        TrueFeatures("per_class").fit(X, X_err=errors)
    with pytest.raises(ValueError, match="X_err=0 if all values are exact"):
        TrueFeatures().fit(X, X_err=errors).transform(X)
    bad = errors.copy()
    bad[0] = np.nan
    with pytest.raises(ValueError, match="has no error at row 0"):
        TrueFeatures().fit(np.nan_to_num(X), X_err=bad)
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="no measurement at all in column 1"):
        TrueFeatures().fit(X, X_err=errors)
