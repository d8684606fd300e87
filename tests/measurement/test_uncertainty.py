"""What few rows leave open of a population, against textbooks and simulation."""

import warnings
from collections import Counter

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t, truncnorm, wishart

from populations import em, posterior
from wideberth import TrueFeatures
from wideberth.measurement.fitting import Target, expectation_maximisation, rows_behind
from wideberth.measurement.population import (
    FLOOR,
    Measurements,
    Population,
    Prior,
    Sums,
    posterior_of,
    step,
    sums_of,
)
from wideberth.measurement.uncertainty import PopulationUncertainty


def measurements(X, E):
    d = X.shape[1]
    return Measurements(X, np.broadcast_to(E, X.shape) ** 2 * 1.0, np.empty((0, d, d)))


def fitted(n, d=3, seed=0, errors=0.0, nu=0.0):
    """A population with its moments, rows that it was learned from, and both's doubt."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.5 * rng.normal(size=(d, d)))
    mean, spread = X.mean(axis=0), np.cov(X.T, bias=True)
    E = errors * rng.uniform(0.5, 2.0, size=X.shape)
    population = Population(np.ones(1), mean[None], spread[None])
    part, prior = measurements(X, E), Prior(spread[None], np.array([nu]))
    return rng, population, part, PopulationUncertainty.of(population, part, prior)


# -- EM ------------------------------------------------------------------------------


@pytest.mark.parametrize("claim", [em, posterior])
def test_no_table_of_a_part_of_the_campaign_breaks_a_claim(claim):
    """Copies, exact cells, few rows, heavy tails, categories, any units, any kind."""
    found = sum(map(claim, range(21)), Counter())
    assert not [what for what in +found if not what.startswith("(")]


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("d", [2, 4])
def test_one_quantity_measured_twice_has_a_correlation_next_to_one(n, d):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        true = rng.normal(size=(n, d))
        true[:, 1] = true[:, 0]  # two instruments
        E = rng.uniform(0.1, 1, size=(n, d)) * (rng.random((n, d)) < 0.5)
        X = true + E * rng.normal(size=(n, d))
        spread = TrueFeatures(n_components=1).fit(X, X_err=E).covariances_[0]
        correlation = spread[0, 1] / np.sqrt(spread[0, 0] * spread[1, 1])
        assert 0.99 < correlation < 1


def scripted(objectives):
    """An E step whose objectives are these, in turn; M steps move the mean by 1/4."""
    told = iter(objectives)

    def e_step(population):
        return Sums(
            next(told), np.array([4.0]), np.ones((1, 1)), np.ones((1, 1, 1)) / 4
        )

    return e_step


@pytest.mark.parametrize(
    ("objectives", "kept", "converged"),
    [
        ([0.0, 1.0, -5.0, -5.0], [0.0, 1.0], False),  # a plain step that falls
        ([0.0, 1.0, np.nan, np.nan], [0.0, 1.0], False),
        ([0.0, -1e-6, -1e-6], [0.0], True),  # within the tolerance: rounding
        ([0.0, 1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 2.0, 3.0], False),  # max_iter
    ],
)
def test_em_keeps_what_rose_and_says_whether_it_converged(objectives, kept, converged):
    start = Population(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)))
    prior = Prior(np.ones((1, 1, 1)), np.zeros(1))
    fit = expectation_maximisation(scripted(objectives), start, prior, 4, 1e-4, 4)
    assert fit.objectives == kept
    assert fit.converged is converged


def test_a_plain_step_has_the_last_word_on_convergence():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3))
    E = rng.uniform(0.2, 2.0, size=X.shape)
    part = measurements(X + E * rng.normal(size=X.shape), E)
    spread = np.cov(part.values.T)
    prior = Prior(np.diag(np.diag(spread))[None], np.array([2.0]))
    start = Population(np.ones(1), part.values.mean(axis=0)[None], spread[None])
    fit = expectation_maximisation(
        lambda here: sums_of(here, part), start, prior, 60, 1e-5, 500
    )

    def objective(here):
        return here.log_likelihood(part) + prior.log_density(here)

    assert fit.converged
    assert objective(fit.population) == pytest.approx(fit.objectives[-1], rel=1e-12)
    after = step(fit.population, sums_of(fit.population, part), prior)
    assert objective(after) - fit.objectives[-1] <= 60 * 1e-5


def test_the_floor_holds_for_every_target():
    target = np.array([[1.0, 1.0], [1.0, 1.0]])  # singular itself
    for rows in (0.0, 1e-3, 10.0):
        prior = Target(target, np.ones(2)).prior(rows, 100)
        scatter = prior.rows[0] * prior.targets[0]
        assert np.linalg.eigvalsh(scatter).min() == pytest.approx(100 * FLOOR)
        assert prior.rows[0] == pytest.approx(rows + 100 * FLOOR)


# -- what is not known of a population -------------------------------------------------


def test_with_exact_rows_a_gap_is_predicted_as_by_regression():
    """s²(1 + 1/n + (x − x̄)ᵀS⁻¹(x − x̄)/n), the textbook's variance of a prediction."""
    n = 200
    rng, population, part, doubt = fitted(n)
    new = rng.normal(size=(20, 3)) @ np.linalg.cholesky(population.covariances[0]).T
    new += population.means[0]
    new[:, 2] = np.nan
    found = posterior_of(population, measurements(new, 0.0))
    scale, degrees = doubt.student(found, np.array([0.0, 0.0, 1.0]))
    known, gap = part.values[:, :2], part.values[:, 2]
    design = np.column_stack([np.ones(n), known])
    residual = gap - design @ np.linalg.lstsq(design, gap, rcond=None)[0]
    off = new[:, :2] - known.mean(axis=0)
    inverse = np.linalg.inv(np.cov(known.T, bias=True))
    leverage = np.einsum("ni,ij,nj->n", off, inverse, off)
    expected = np.mean(residual**2) * (1 + 1 / n + leverage / n)
    np.testing.assert_allclose(scale[0] ** 2, expected, rtol=1e-6)
    factor = (1 + 1 / n + leverage / n) ** 2
    np.testing.assert_allclose(degrees[0], n * factor, rtol=1e-6)


def test_densities_of_exact_rows_are_those_of_student():
    n = 50
    rng, population, _, doubt = fitted(n)
    mean, spread = population.means[0], population.covariances[0]
    x = mean + 2 * rng.normal(size=(6, 3))
    x[0, 1] = np.nan
    part = measurements(x, 0.0)
    gradients, inverses = np.zeros((6, 3)), np.zeros((6, 3, 3))
    expected = np.empty(6)
    for i, row in enumerate(x):
        o = ~np.isnan(row)
        S = spread[np.ix_(o, o)]
        inverses[i][np.ix_(o, o)] = np.linalg.inv(S)
        gradients[i][o] = np.linalg.solve(S, (row - mean)[o])
        expected[i] = multivariate_t(mean[o], S * (1 + 1 / n), df=n).logpdf(row[o])
        expected[i] -= multivariate_normal(mean[o], S).logpdf(row[o])
    found = doubt.log_ratio(0, part, gradients, inverses)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_moves_of_posteriors_are_those_of_drawn_populations():
    """Populations drawn as off as the doubt says move ⟨u,x̂⟩ by the variance it adds."""
    rng, population, _, doubt = fitted(4000, errors=1.0, nu=300.0)
    u = np.array([1.0, -0.5, 2.0])
    x, e = rng.normal(size=(5, 3)), rng.uniform(0.3, 3.0, size=(5, 3))
    x[1, 0] = np.nan
    part = measurements(x, e)
    found = posterior_of(population, part)
    plain = np.einsum("i,nij,j->n", u, found.covariance, u)
    added = doubt.student(found, u)[0][0] ** 2 - plain
    W, N = doubt.scatters[0, 0], doubt.rows[0, 0]
    draws = 3000
    means = rng.multivariate_normal(population.means[0], doubt.shifts[0], size=draws)
    scatters = wishart.rvs(round(N), W / round(N), size=draws, random_state=1) - W
    moved = np.empty((draws, 5))
    for k in range(draws):
        spread = population.covariances[0] + scatters[k]
        other = Population(np.ones(1), means[k][None], spread[None])
        moved[k] = (posterior_of(other, part, None).mean - found.mean) @ u
    np.testing.assert_allclose(moved.var(axis=0), added, rtol=0.15)


def test_a_target_that_is_known_from_few_rows_adds_doubt():
    _, population, part, _ = fitted(30, errors=1.0)
    spread = population.covariances
    scales = []
    for known in (np.inf, 30.0, 3.0):
        prior = Prior(spread, np.array([60.0]), np.full((1, 3), known))
        doubt = PopulationUncertainty.of(population, part, prior)
        found = posterior_of(population, part)
        scales.append(doubt.student(found, np.ones(3))[0][0])
    assert (scales[0] < scales[1]).all()
    assert (scales[1] < scales[2]).all()


def test_units_and_constant_columns_do_not_change_the_doubt():
    rng = np.random.default_rng(2)
    true = rng.normal(size=(30, 3))
    y = (true.sum(axis=1) > 0).astype(int)
    E = rng.uniform(0.1, 1.0, size=true.shape)
    X = true + E * rng.normal(size=true.shape)
    w = np.array([1.0, 2.0, -1.0])
    base = TrueFeatures("per_class").fit(X, y, X_err=E).posterior(X, X_err=E)
    scale, degrees = base.uncertainty.student(base, w)
    units = np.array([1e-6, 1.0, 1e5])
    moved = (X + 3.0) * units
    other = TrueFeatures("per_class").fit(moved, y, X_err=E * units)
    found = other.posterior(moved, X_err=E * units)
    again = found.uncertainty.student(found, w / units)
    np.testing.assert_allclose(again[0], scale, rtol=1e-5)
    np.testing.assert_allclose(again[1], degrees, rtol=1e-4)
    wide, errors = np.insert(X, 1, 7.0, axis=1), np.insert(E, 1, 0.0, axis=1)
    other = TrueFeatures("per_class").fit(wide, y, X_err=errors)
    found = other.posterior(wide, X_err=errors)
    again = found.uncertainty.student(found, np.insert(w, 1, 3.0))
    np.testing.assert_allclose(again[0], scale, rtol=1e-5)
    np.testing.assert_allclose(found.responsibilities, base.responsibilities, rtol=1e-4)


def test_rows_with_errors_count_less():
    part = measurements(np.zeros((4, 2)), np.array([[0.0, 1.0]] * 4))
    np.testing.assert_allclose(rows_behind(part, np.ones(2)), [4.0, 1.0])
    part.values[:3, 0] = np.nan
    np.testing.assert_allclose(rows_behind(part, np.ones(2)), [1.0, 1.0])


def test_one_row_has_no_population_to_doubt():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = TrueFeatures().fit([[1.0, 2.0]])
        found = model.posterior([[1.0, 2.0]])
        scale, degrees = found.uncertainty.student(found, np.ones(2))
    assert scale.tolist() == [[0.0]]
    assert np.isfinite(degrees).all()
    assert np.isfinite(found.uncertainty.rows).all()


def test_a_variance_near_nothing_is_lifted_to_the_mean_of_what_it_may_be():
    """That of a normal distribution, cut off at 0."""
    _, population, part, doubt = fitted(20, errors=3.0)
    u, few = np.array([1.0, -1.0, 0.5]), part[:8]
    found = posterior_of(population, few)
    V, W, N = found.covariance, doubt.scatters[0, 0], doubt.rows[0, 0]
    inverse = np.linalg.inv(population.covariances[0])
    for i in range(8):
        r = inverse @ V[i] @ u
        g = inverse @ (found.mean[i] - population.means[0])
        own = r @ population.covariances[0] @ r
        spread = np.sqrt(2 / N) * (r @ W @ r)
        moved = r @ doubt.shifts[0] @ r
        moved += ((r @ W @ r) * (g @ W @ g) + (r @ W @ g) ** 2) / N
        lifted = truncnorm(-own / spread, np.inf, loc=own, scale=spread).mean() - own
        scale = doubt.student(found, u)[0][0, i]
        assert scale**2 == pytest.approx(u @ V[i] @ u + moved + lifted, rel=1e-6)
        assert lifted > 0.01 * spread  # so that it shows
