"""Verdicts and certificates behind `TrueFeatures`, against brute force."""

import numpy as np
import pytest
from scipy.stats import t as student_t
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from wideberth import MeasuredSVC, RobustLinearSVC, TrueFeatures, make_robust_pipeline


def measurements(n=240, d=4, seed=0, classes=2, gaps=0.05):
    """True features, measurements of them with gaps, errors, and labels."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(d) + 0.5 * rng.normal(size=(d, d))
    true = 3.0 + rng.normal(size=(n, d)) @ mixing
    scores = (true - 3.0) @ rng.normal(size=(d, classes))
    y = (scores + 0.3 * rng.normal(size=scores.shape)).argmax(axis=1)
    E = rng.uniform(0.05, 1.2, size=(n, d))
    E[rng.random((n, d)) < 0.1] = 0.0
    X = true + E * rng.normal(size=(n, d))
    X[rng.random((n, d)) < gaps] = np.nan
    return true, X, E, y


def pipeline(n_components=1, **settings):
    return make_robust_pipeline(
        StandardScaler(), TrueFeatures(n_components), RobustLinearSVC(**settings)
    )


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    _, X, E, y = measurements(classes=request.param)
    model = pipeline().fit(X[:160], y[:160], robustlinearsvc__X_err=E[:160])
    return model, X[160:], E[160:], y[160:]


def posterior_of(model, X, E):
    """Posterior and errors in units of the scaled features, as written down."""
    scaler, features = model[0], model[1]
    return features.posterior(scaler.transform(X), E / scaler.scale_)


def weights_of(model):
    """One weight vector and intercept for each class."""
    coef, intercept = model[-1].coef_, model[-1].intercept_
    if len(coef) == 1:
        return np.vstack([-coef / 2, coef / 2]), np.r_[-intercept / 2, intercept / 2]
    return coef, intercept


def test_the_chance_is_that_of_drawing_true_features(fitted):
    model, X, E, _ = fitted
    X, E = X[:25], E[:25]
    found, post = model.verdict(X, X_err=E), posterior_of(model, X, E)
    W, b = weights_of(model)
    rng = np.random.default_rng(1)
    for i in range(len(X)):
        true = rng.multivariate_normal(post.mean[i], post.covariance[i], size=20_000)
        wins = (true @ W.T + b).argmax(axis=1)
        lost = np.mean(model.classes_[wins] != found.label[i])
        error = np.sqrt(max(lost * (1 - lost), 1e-3) / 20_000)
        assert lost <= found.chance[i] + 4 * error  # a bound where classes are many
        if len(W) == 2:
            assert found.chance[i] <= lost + 4 * error
    assert np.array_equal(found.label, model.predict(X, X_err=E))
    assert np.array_equal(found.certain, found.chance <= 0.05)
    assert not np.any(found.runner_up == found.label)


def test_margin_and_spread_are_those_of_the_pair(fitted):
    model, X, E, _ = fitted
    found, post = model.verdict(X, X_err=E), posterior_of(model, X, E)
    W, b = weights_of(model)
    p = np.searchsorted(model.classes_, found.label)
    k = np.searchsorted(model.classes_, found.runner_up)
    u = W[p] - W[k]
    margin = np.sum(u * post.mean, axis=1) + b[p] - b[k]
    spread = np.sqrt(np.einsum("nd,nde,ne->n", u, post.covariance, u))
    np.testing.assert_allclose(found.margin, margin, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.spread, spread, rtol=1e-10)
    assert (found.margin >= 0).all()


def test_the_cell_to_repeat_is_the_one_that_helps_most_when_it_is_known(fitted):
    model, X, E, _ = fitted
    found = model.verdict(X, X_err=E)
    W, _ = weights_of(model)
    p = np.searchsorted(model.classes_, found.label)
    k = np.searchsorted(model.classes_, found.runner_up)
    u = W[p] - W[k]

    def variance(X, E):
        V = posterior_of(model, X, E).covariance
        return np.einsum("nd,nde,ne->n", u, V, u)

    before, falls = variance(X, E), np.empty(X.shape)
    for j in range(X.shape[1]):
        known, exact = X.copy(), E.copy()
        known[:, j], exact[:, j] = 1.0, 0.0  # its value does not matter
        falls[:, j] = before - variance(known, exact)
    np.testing.assert_array_equal(found.remeasure, falls.argmax(axis=1))
    np.testing.assert_allclose(found.share, falls.max(axis=1) / before, rtol=1e-8)
    gap = np.isnan(X[np.arange(len(X)), found.remeasure])
    assert gap.any()  # gaps count as well


def test_exact_objects_of_several_gaussians_are_certain_and_name_no_cell():
    _, X, _, y = measurements(n=400)
    model = pipeline("per_class").fit(X, y)
    found = model.verdict(X)
    whole = ~np.isnan(X).any(axis=1)
    for numbers in (found.chance, found.share, found.spread):
        assert not numbers[whole].any()
    assert (found.remeasure[whole] == -1).all()
    assert (found.remeasure[~whole] >= 0).all()


def test_several_gaussians_are_summed_over():
    _, X, E, y = measurements(n=400)
    model = pipeline("per_class").fit(X, y, robustlinearsvc__X_err=E)
    found, post = model.verdict(X, X_err=E), posterior_of(model, X, E)
    w, b = model[-1].coef_[0], model[-1].intercept_[0]
    side = np.where(found.label == 1, 1.0, -1.0)
    chance = np.zeros(len(X))
    for k in range(2):
        f = post.means[k] @ w + b
        scales, degrees = post.uncertainty.student(post, w)
        plain = np.sqrt(np.einsum("d,nde,e->n", w, post.covariances[k], w))
        assert (scales[k] >= plain).all()
        tail = student_t.cdf(-side * f / scales[k], df=degrees[k])
        chance += post.responsibilities[:, k] * tail
    np.testing.assert_allclose(found.chance, chance, rtol=1e-8, atol=1e-14)
    with pytest.raises(ValueError, match=r"2 Gaussians.*n_components=1.*verdict"):
        model.certified_radius(X, X_err=E)


def test_chances_come_true_in_every_cell_of_a_table():
    """Observed against promised: the true side of 60 000 objects, 20 cells."""
    rng = np.random.default_rng(3)
    n, d = 60_000, 3
    true = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4)
    y = (true.sum(axis=1) + 0.5 * rng.normal(size=n) > 0).astype(int)
    E = rng.uniform(0.1, 3.0, size=(n, d))
    X = true + E * rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.1] = np.nan
    model = pipeline(C=0.1).fit(X[:3000], y[:3000], robustlinearsvc__X_err=E[:3000])
    # The population as it is, so that what is tested are the chances alone.
    features, scaler = model[1], model[0]
    covariance = (np.eye(d) + 0.4) @ (np.eye(d) + 0.4)
    units = scaler.scale_ * features._scale
    features._population.means[0] = (
        (0.0 - scaler.mean_) / scaler.scale_ - features._centre
    ) / features._scale
    features._population.covariances[0] = covariance / np.outer(units, units)
    found = model.verdict(X, X_err=E)
    scores = scaler.transform(true) @ model[-1].coef_[0] + model[-1].intercept_[0]
    other = (scores > 0).astype(int) != found.label
    edges = np.quantile(found.chance, np.linspace(0, 1, 21))
    cell = np.clip(np.searchsorted(edges, found.chance, side="right") - 1, 0, 19)
    for c in range(20):
        rows = cell == c
        promised = found.chance[rows].mean()
        variance = np.mean(found.chance[rows] * (1 - found.chance[rows]))
        error = np.sqrt(variance / rows.sum())
        assert abs(other[rows].mean() - promised) <= 3 * error + 1e-4, c


def test_certified_radius_is_where_the_class_changes(fitted):
    model, X, E, _ = fitted
    radius, label = model.certified_radius(X, X_err=E), model.predict(X, X_err=E)
    rng = np.random.default_rng(2)
    there = ~np.isnan(X)
    for _ in range(50):  # on the edge of what is certified nothing has changed
        q = np.where(there, rng.normal(size=X.shape), 0.0)
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        moved = X + 0.999 * np.minimum(radius, 1e6)[:, None] * E * q
        assert np.array_equal(model.predict(moved, X_err=E), label)
    for factor, same in ((0.999, True), (1.001, False)):
        worst = model.worst_case(X, label, factor * radius, X_err=E)
        with np.errstate(divide="ignore", invalid="ignore"):
            sizes = np.linalg.norm(np.where((E > 0) & there, worst / E, 0.0), axis=1)
        np.testing.assert_allclose(sizes, factor * radius, rtol=1e-9)
        assert not worst[~there].any()
        assert not worst[E == 0].any()
        moved = model.predict(X + worst, X_err=E)
        assert np.all((moved == label) == same)


def test_robust_score_counts_what_no_move_can_change(fitted):
    model, X, E, y = fitted
    radius, right = model.certified_radius(X, X_err=E), model.predict(X, E) == y
    for factor in (0.5, 1.0, 2.0):
        expected = np.mean(right & (radius > factor))
        assert model.robust_score(X, y, factor, X_err=E) == pytest.approx(expected)
    # Radii of training count posterior standard deviations, so it is 1 here.
    other = pipeline(radius=0.1).fit(X, y, robustlinearsvc__X_err=E)
    assert other.robust_score(X, y, X_err=E) == other.robust_score(X, y, 1, X_err=E)


def test_the_pipeline_is_its_steps_one_by_one():
    _, X, E, y = measurements()
    model = pipeline(C=0.5).fit(X, y, robustlinearsvc__X_err=E)
    scaler = StandardScaler().fit(X)
    features = TrueFeatures(1).fit(scaler.transform(X), y, X_err=E / scaler.scale_)
    post = features.posterior(scaler.transform(X), E / scaler.scale_)
    svc = RobustLinearSVC(C=0.5, radius=0.0)
    svc.fit(post.mean, y)
    np.testing.assert_allclose(
        model.decision_function(X, X_err=E),
        svc.decision_function(post.mean),
        rtol=1e-9,
        atol=1e-12,
    )


def test_steps_that_mix_features_carry_covariances():
    _, X, E, y = measurements(gaps=0.0)
    turned = PCA().fit(X)
    model = make_robust_pipeline(PCA(), TrueFeatures(1), RobustLinearSVC())
    model.fit(X, y, robustlinearsvc__X_err=E)
    A = turned.components_
    errors = np.einsum("ij,nj,kj->nik", A, E**2, A)
    features = TrueFeatures(1).fit(turned.transform(X), y, X_err=errors)
    np.testing.assert_allclose(
        model.decision_function(X, X_err=E),
        model[-1].decision_function(
            features.transform(turned.transform(X), X_err=errors)
        ),
        atol=1e-8,
    )
    with pytest.raises(ValueError, match="mixes features"):
        model.certified_radius(X, X_err=E)
    assert model.verdict(X, X_err=E).remeasure.max() < 4


@pytest.mark.parametrize("confidence", [0, 1, 1.5, "high", None])
def test_a_confidence_is_between_0_and_1(fitted, confidence):
    model, X, E, _ = fitted
    with pytest.raises(ValueError, match=r"confidence=.*between 0 and 1"):
        model.verdict(X, X_err=E, confidence=confidence)


def test_by_name_no_cell_is_none():
    pd = pytest.importorskip("pandas")
    _, X, E, y = measurements(gaps=0.0)
    names = [f"f{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    model = MeasuredSVC().fit(frame, y, X_err=E)
    assert set(model.verdict(frame, X_err=0).remeasure) == {None}
    assert set(model.verdict(frame, X_err=E).remeasure) <= {*names, None}
