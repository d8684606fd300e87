"""Verdicts, probabilities and certificates of `MeasuredSVC(kernel="rbf")`."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from wideberth import (
    MeasuredSVC,
    RobustKernelSVC,
    TrueFeatures,
    make_robust_pipeline,
    open_data,
)
from wideberth.estimators.curved import Curve
from wideberth.estimators.score_functions import KernelFunction
from wideberth.measurement.population import Posterior


class Exact:
    """A population that is known exactly."""

    def student(self, found, u):
        scales = np.einsum("ni,knij,nj->kn", u, found.covariances, u)
        return np.sqrt(scales), np.full(scales.shape, 1e6)


def posterior(means, covariances, shares):
    """A mixture of Gaussians for each object, from (K, n, d) and (K, n, d, d)."""
    mean = np.einsum("nk,knd->nd", shares, means)
    off = means - mean
    covariance = np.einsum("nk,knij->nij", shares, covariances)
    covariance += np.einsum("nk,kni,knj->nij", shares, off, off)
    return Posterior(mean, covariance, shares, means, covariances, Exact())


def random_function(rng, d, m=12, gamma=0.7):
    curve = Curve(rng.normal(size=(m, d)), np.eye(m), gamma, 2, 1e-16)
    return KernelFunction(curve, rng.normal(size=m), 0.3)


def values(f, x):
    return f.curve.kernel(x) @ f.v + f.shift


def nodes(mean, V, count=100):
    """Points and weights of Gauss and Hermite for N(mean, V)."""
    t, w = np.polynomial.hermite_e.hermegauss(count)
    d = len(mean)
    grid = np.stack(np.meshgrid(*[t] * d, indexing="ij"), -1).reshape(-1, d)
    weight = np.prod(np.meshgrid(*[w] * d, indexing="ij"), axis=0).ravel()
    lengths, vectors = np.linalg.eigh(V)
    root = vectors * np.sqrt(np.maximum(lengths, 0))
    return mean + grid @ root.T, weight / weight.sum()


def covariances(rng, n, d):
    A = rng.normal(size=(n, d, d))
    return 0.3 * A @ A.transpose(0, 2, 1) / d


@pytest.mark.parametrize("gamma", [1e-3, 0.7, 2.0])
@pytest.mark.parametrize("kind", ["whole", "singular", "one exact"])
def test_mean_variance_and_covariance_are_those_of_quadrature(gamma, kind):
    rng = np.random.default_rng(1)
    f, x, V = random_function(rng, 2, gamma=gamma), rng.normal(size=(5, 2)), None
    V = covariances(rng, 5, 2)
    if kind == "singular":
        V = 0.3 * np.einsum("ni,nj->nij", *[rng.normal(size=(5, 2))] * 2)
    if kind == "one exact":
        V[:, 0] = V[:, :, 0] = 0
    found = posterior(x[None], V[None], np.ones((5, 1)))
    (mean,), (spread,) = f.moments(found)
    pull, variance = f.covariance(found)
    for i in range(5):
        points, weight = nodes(x[i], V[i])
        seen = values(f, points)
        middle = weight @ seen
        moved = (points - x[i]).T @ (weight * (seen - middle))
        square = weight @ (seen - middle) ** 2
        np.testing.assert_allclose(mean[i], middle, rtol=1e-8)
        np.testing.assert_allclose(variance[i], square, rtol=0.1)
        np.testing.assert_allclose(spread[i] ** 2, square, rtol=0.1)
        np.testing.assert_allclose(pull[i], moved, rtol=1e-6, atol=1e-10)


def test_mixtures_add_what_is_between_their_gaussians():
    rng = np.random.default_rng(2)
    f, means = random_function(rng, 2), rng.normal(size=(3, 4, 2))
    V = np.stack([covariances(rng, 4, 2) for _ in range(3)])
    shares = rng.dirichlet(np.ones(3), size=4)
    found = posterior(means, V, shares)
    pull, variance = f.covariance(found)
    for i in range(4):
        parts = [nodes(means[k, i], V[k, i]) for k in range(3)]
        points = np.concatenate([p for p, _ in parts])
        weight = np.concatenate(
            [s * w for s, (_, w) in zip(shares[i], parts, strict=True)]
        )
        seen = values(f, points)
        off = seen - weight @ seen
        np.testing.assert_allclose(variance[i], weight @ off**2, rtol=0.1)
        np.testing.assert_allclose(pull[i], (weight * off) @ points, rtol=1e-6)


@pytest.mark.parametrize("size", [1e-4, 1e-9, 1e-30, 1e-140])
def test_small_variances_keep_their_digits(size):
    rng = np.random.default_rng(3)
    f, x = random_function(rng, 3), rng.normal(size=(6, 3))
    V = covariances(rng, 6, 3) * size**2
    _, variance = f.covariance(posterior(x[None], V[None], np.ones((6, 1))))
    slope = np.array([f.curve.gradient(f.v, z) for z in x])
    linear = np.einsum("ni,nij,nj->n", slope, V, slope)
    np.testing.assert_allclose(variance, linear, rtol=100 * size**2 + 1e-9)


def test_the_variance_is_never_below_that_of_its_linear_part():
    rng = np.random.default_rng(4)
    f = random_function(rng, 4, m=40)
    f = KernelFunction(f.curve, 1e7 * rng.choice([-1, 1], size=40), 0.0)  # cancels
    x = rng.normal(size=(50, 4))
    V = covariances(rng, 50, 4) * 10.0 ** rng.uniform(-12, 2, size=(50, 1, 1))
    found = posterior(x[None], V[None], np.ones((50, 1)))
    pull, variance = f.covariance(found)
    slope = np.linalg.solve(V, pull[..., None])[..., 0]
    assert (variance >= 0.999 * np.sum(slope * pull, axis=1)).all()


def test_on_a_line_the_chance_is_the_integral_where_f_is_negative():
    rng = np.random.default_rng(5)
    f, x = random_function(rng, 1), rng.normal(size=(8, 1))
    V = rng.uniform(0.01, 0.6, size=(8, 1, 1))
    chance, _, _ = f.chance_and_covariance(posterior(x[None], V[None], np.ones((8, 1))))
    for i in range(8):
        law = norm(x[i, 0], np.sqrt(V[i, 0, 0]))
        grid = np.linspace(*law.interval(1 - 1e-9), 20_001)
        signs = values(f, grid[:, None]) < 0
        roots = grid[np.flatnonzero(np.diff(signs))]
        ends = np.r_[-np.inf, roots, np.inf]
        middles = np.clip((ends[:-1] + ends[1:]) / 2, grid[0], grid[-1])
        below = values(f, middles[:, None]) < 0
        expected = np.diff(law.cdf(ends)) @ below
        assert chance[i] == pytest.approx(expected, rel=0.05, abs=2e-3)


def test_chances_of_broad_posteriors_are_those_of_drawing():
    rng = np.random.default_rng(6)
    f, x, V = random_function(rng, 3, m=30), rng.normal(size=(40, 3)), None
    V = covariances(rng, 40, 3)
    chance, _, _ = f.chance_and_covariance(
        posterior(x[None], V[None], np.ones((40, 1)))
    )
    lost = np.array(
        [np.mean(values(f, rng.multivariate_normal(*at, 20_000)) < 0)
         for at in zip(x, V, strict=True)]
    )  # fmt: skip
    assert np.abs(chance - lost).max() < 0.05
    assert np.abs(chance - lost).mean() < 0.01
    # Mean and variance alone would be far too sure of the rare ones.
    rare = chance < 0.05
    assert (lost[rare] < chance[rare] + 0.01).all()


# -- the estimator ---------------------------------------------------------------------


def rings(n=300, d=3, seed=0, classes=2, gaps=0.05):
    """True features, measurements with gaps, errors, and labels by the distance."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, d))
    square = np.square(true[:, :2]).sum(axis=1)
    y = np.digitize(square, {2: [1.4], 3: [0.8, 2.2]}[classes])
    E = rng.uniform(0.05, 0.6, size=(n, d)) * (rng.random((n, d)) < 0.9)
    X = true + E * rng.normal(size=(n, d))
    X[rng.random((n, d)) < gaps] = np.nan
    return true, X, E, y


def curved(**settings):
    return MeasuredSVC(**{"kernel": "rbf", "n_components": 1, "C": 10.0} | settings)


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    _, X, E, y = rings(classes=request.param)
    model = curved().fit(X[:200], y[:200], X_err=E[:200])
    return model, X[200:], E[200:], y[200:]


def test_it_is_the_pipeline_of_a_kernel_machine(fitted):
    model, X, E, _ = fitted
    _, rows, errors, y = rings(classes=len(model.classes_))
    parts = StandardScaler(), TrueFeatures(1), RobustKernelSVC(10.0)
    long = make_robust_pipeline(*parts).fit(rows[:200], y[:200], X_err=errors[:200])
    values = long.decision_function(X, X_err=E)
    off = np.abs(model.decision_function(X, X_err=E) - values).max()
    assert off < 0.01 * np.abs(values).max()  # rows in another order, to solve to 1e-4
    np.testing.assert_allclose(
        model.certified_radius(X, X_err=E),
        long.certified_radius(X, X_err=E),
        atol=0.05 * long.certified_radius(X, X_err=E).max(),
    )
    machine = RobustKernelSVC(10.0)
    front = long[:-1].transform
    with pytest.raises(ValueError, match="X_err"):
        front(X)
    means = long[1].transform(long[0].transform(X), X_err=E / long[0].scale_)
    train = long[1].transform(long[0].transform(rows), X_err=errors / long[0].scale_)
    machine.fit(train[:200], y[:200])
    np.testing.assert_allclose(machine.decision_function(means), values)
    assert model.gamma_ == pytest.approx(machine.gamma_)


def test_a_ring_needs_a_curve():
    _, X, E, y = rings(n=600, gaps=0.0)
    rows, rest = slice(0, 400), slice(400, None)
    scores = {}
    for kernel in ("linear", "rbf"):
        model = curved(kernel=kernel).fit(X[rows], y[rows], X_err=E[rows])
        scores[kernel] = model.score(X[rest], y[rest], X_err=E[rest])
    assert scores["rbf"] > scores["linear"] + 0.15


def test_chance_margin_and_spread_are_those_of_drawing_true_features(fitted):
    model, X, E, _ = fitted
    X, E = X[:15], E[:15]
    found = model.verdict(X, X_err=E)
    scaler, features, machine = model.pipeline_
    post = features.posterior(scaler.transform(X), E / scaler.scale_)
    rng = np.random.default_rng(1)
    at = np.arange(10_000)
    for i in range(len(X)):
        true = rng.multivariate_normal(post.mean[i], post.covariance[i], size=len(at))
        scores = machine.decision_function(true)
        scores = scores if scores.ndim > 1 else np.outer(scores, [-0.5, 0.5])
        lost = np.mean(model.classes_[scores.argmax(axis=1)] != found.label[i])
        assert lost <= found.chance[i] + 0.05  # a bound where classes are many
        if len(model.classes_) == 2:
            assert found.chance[i] <= lost + 0.05
        p, k = np.searchsorted(model.classes_, (found.label[i], found.runner_up[i]))
        lead = scores[:, p] - scores[:, k]
        assert found.spread[i] == pytest.approx(lead.std(), rel=0.1, abs=1e-9)
    assert np.array_equal(found.label, model.predict(X, X_err=E))
    assert (found.margin >= 0).all()


def test_the_share_is_what_knowing_the_cell_explains_at_least():
    _, X, E, y = rings(d=2, gaps=0.0)
    model = curved().fit(X, y, X_err=E)
    X, E = X[:12], E[:12]
    found = model.verdict(X, X_err=E)
    scaler, features, machine = model.pipeline_
    post = features.posterior(scaler.transform(X), E / scaler.scale_)
    assert (found.share > 0.3).any()
    for i in np.flatnonzero(found.remeasure >= 0):
        j, V = int(found.remeasure[i]), post.covariance[i]
        # Var E[f | x_j] ÷ Var f, x_j at nodes and the other cell given x_j
        known, weight = nodes(post.mean[i, [j]], V[j : j + 1, j : j + 1], 40)
        k = 1 - j
        gain = V[k, j] / V[j, j]
        rest = np.array([[max(V[k, k] - gain * V[k, j], 0.0)]])
        inner, total = [], 0.0
        for (x_j,), w in zip(known, weight, strict=True):
            middle = post.mean[i, [k]] + gain * (x_j - post.mean[i, j])
            others, share = nodes(middle, rest, 40)
            rows = np.empty((len(others), 2))
            rows[:, j], rows[:, k] = x_j, others[:, 0]
            values = machine.decision_function(rows)
            inner.append(share @ values)
            total += w * (share @ values**2)
        middle = weight @ inner
        explained = weight @ (np.array(inner) - middle) ** 2 / (total - middle**2)
        assert found.share[i] <= explained + 1e-6


def test_objects_without_any_error_are_certain_and_name_no_cell(fitted):
    model, X, _, _ = fitted
    found = model.verdict(X[~np.isnan(X).any(axis=1)], X_err=0)
    assert found.certain.all()
    for numbers in (found.chance, found.share, found.spread):
        assert not numbers.any()
    assert (found.remeasure == -1).all()


def test_moves_within_the_certified_radius_change_no_class(fitted):
    model, X, E, _ = fitted
    radii = model.certified_radius(X, X_err=E)
    labels = model.predict(X, X_err=E)
    assert np.median(radii[np.isfinite(radii)]) > 0.2
    finite = np.where(np.isfinite(radii), radii, 1e3)
    moves = model.pipeline_.worst_case(X, labels, radius=0.999 * finite, X_err=E)
    np.testing.assert_array_equal(model.predict(X + moves, X_err=E), labels)
    rng = np.random.default_rng(0)
    for _ in range(100):
        q = rng.normal(size=X.shape) * (~np.isnan(X) & (E > 0))
        length = np.linalg.norm(q, axis=1, keepdims=True)
        q *= 0.999 * finite[:, None] / np.where(length > 0, length, 1.0)
        np.testing.assert_array_equal(model.predict(X + E * q, X_err=E), labels)


def test_the_worst_moves_found_are_within_the_errors_and_hurt(fitted):
    model, X, E, _ = fitted
    labels = model.predict(X, X_err=E)
    moves = model.pipeline_.worst_case(X, labels, radius=2.0, X_err=E)
    with np.errstate(invalid="ignore"):
        q = np.where(E > 0, moves / E, 0.0)
    assert (np.linalg.norm(q, axis=1) <= 2.0 + 1e-9).all()
    assert not moves[E == 0].any()
    changed = model.predict(X + moves, X_err=E) != labels
    assert changed.mean() > 0.3
    radii = model.certified_radius(X, X_err=E)
    assert not (changed & (radii >= 2.0)).any()
    robust = model.pipeline_.robust_score(X, labels, radius=2.0, X_err=E)
    assert robust <= 1 - changed.mean()


def test_the_choice_goes_by_rows_left_out_with_a_population_of_the_others():
    _, X, E, y = rings()
    cv = StratifiedKFold(2, shuffle=True, random_state=0)
    grid = {"Cs": [1.0, 30.0], "gamma": [0.05, 1.0], "radii": [0.0, 0.5]}
    model = curved(cv=cv, **grid).fit(X, y, X_err=E)
    assert model.cv_scores_.shape == (2, 2, 2, 2)
    for k, (train, test) in enumerate(cv.split(X, y)):
        for c, C in enumerate(grid["Cs"]):
            for g, gamma in enumerate(grid["gamma"]):
                one = curved(C=C, gamma=gamma).fit(X[train], y[train], X_err=E[train])
                score = one.score(X[test], y[test], X_err=E[test])
                assert model.cv_scores_[c, g, 0, k] == pytest.approx(score, abs=0.03)
    means = model.cv_scores_.mean(axis=-1)
    c, g, r = np.unravel_index(means.argmax(), means.shape)
    assert grid["Cs"][c] == model.C_
    assert model.gamma_ == grid["gamma"][g]
    assert model.radius_ == grid["radii"][r]


def test_a_radius_counts_posterior_standard_deviations():
    _, X, E, y = rings()
    plain, robust = (curved(radius=r).fit(X, y, X_err=E) for r in (0.0, 0.3))
    assert robust.radius_ == 0.3
    margins = [np.median(m.certified_radius(X, X_err=E)) for m in (plain, robust)]
    assert margins[1] > margins[0]


def test_probabilities_know_errors_and_gaps():
    _, X, E, y = rings(n=900)
    rows, rest = slice(0, 500), slice(500, None)
    model = curved(probability=True).fit(X[rows], y[rows], X_err=E[rows])
    found = model.predict_proba(X[rest], X_err=E[rest])
    np.testing.assert_allclose(found.sum(axis=1), 1)
    truth = (y[rest] == 1).astype(float)
    assert np.mean((found[:, 1] - truth) ** 2) < 0.8 * truth.var()
    unknown = np.full((1, 3), np.nan)
    chance = model.predict_proba(unknown, X_err=np.ones((1, 3)))[0, 1]
    assert chance == pytest.approx(truth.mean(), abs=0.2)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"kernel": "poly"}, "kernel='poly' is not known; give 'linear' or 'rbf'"),
        ({"gamma": [0.1, 1.0]}, "gamma=.* has several values, of which cv chooses"),
        ({"gamma": -1.0}, "gamma=-1"),
        ({"gamma": "auto"}, "gamma='auto' is not known"),
    ],
)
def test_what_it_cannot_take_is_refused_in_a_sentence(settings, words):
    _, X, E, y = rings()
    with pytest.raises(ValueError, match=words):
        curved(**settings).fit(X, y, X_err=E)


def _odd_tables():
    rng = np.random.default_rng(0)
    _, X, E, y = rings(n=70)
    yield "exact", np.nan_to_num(X), 0 * E, y, {}
    yield "duplicated column", X[:, [0, 1, 2, 0]], E[:, [0, 1, 2, 0]], y, {}
    exact = np.nan_to_num(X)[:, [0, 1, 1]]
    yield "duplicated exact column", exact, 0 * exact, y, {}
    one = np.ones((len(X), 1))
    yield "constant column", np.hstack([X, one]), np.hstack([E, 0 * one]), y, {}
    yield "constant, with errors", np.hstack([X, one]), np.hstack([E, one]), y, {}
    category = (rng.random(one.shape) < 0.3) * 1.0
    yield "category", np.hstack([X, category]), np.hstack([E, 0 * one]), y, {}
    for n in (4, 6, 9):
        yield f"{n} rows", X[:n], E[:n], np.arange(n) % 2, {}
    for gamma in (1e-200, 1e-12, 1e12, 1e200):
        yield f"gamma {gamma:g}", X, E, y, {"gamma": gamma}
    units = np.array([1e100, 1.0, 1e-100])
    yield "units", X * units, E * units, y, {}
    yield "large errors", X, 1e8 * E, y, {}
    yield "small errors", X, 1e-8 * E, y, {}
    yield "large C", X, E, y, {"C": 1e6}
    yield "one column", X[:, :1], E[:, :1], y, {}


ODD = {name: rest for name, *rest in _odd_tables()}


@pytest.mark.parametrize("name", ODD)
def test_odd_tables_have_finite_answers(name):
    X, E, y, settings = ODD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = curved(probability=True, **settings).fit(X, y, X_err=E)
    X = np.vstack([X, np.full(X.shape[1], np.nan)])
    E = np.vstack([E, np.ones(X.shape[1])])
    found = model.verdict(X, X_err=E)
    for numbers in (found.margin, found.spread, found.chance, found.share):
        assert np.isfinite(numbers).all()
        assert (numbers >= 0).all()
    assert (found.chance <= 1).all()
    assert (found.share <= 1).all()
    assert np.isfinite(model.predict_proba(X, X_err=E)).all()
    assert (model.certified_radius(X, X_err=E) >= 0).all()


def test_units_do_not_matter():
    _, X, E, y = rings()
    units = 2.0 ** np.array([300, -20, -300])
    one = curved().fit(X, y, X_err=E)
    other = curved().fit(X * units, y, X_err=E * units)
    a, b = one.verdict(X, X_err=E), other.verdict(X * units, X_err=E * units)
    np.testing.assert_allclose(a.chance, b.chance, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(a.spread, b.spread, rtol=1e-6)
    np.testing.assert_array_equal(a.remeasure, b.remeasure)


# -- roads -----------------------------------------------------------------------------


def test_chunks_have_the_answers_of_memory(fitted):
    model, X, E, _ = fitted
    whole = {
        name: getattr(model, name)(X, X_err=E)
        for name in ("decision_function", "predict", "certified_radius")
    }
    chunks = [(X[k : k + 30], None, None, None, E[k : k + 30]) for k in (0, 30, 60, 90)]
    parts = list(model.stream(open_data(lambda: iter(chunks)), *whole))
    for name, expected in whole.items():
        found = np.concatenate([part[name] for part in parts])
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert len(parts) > 1
