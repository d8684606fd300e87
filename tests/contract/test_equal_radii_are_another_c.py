"""Equal radii are a penalty outside the hinge, one Euclidean radius another C.

Theory §1.3. A model that is optimal up to a relative gap of 1e-10 has the objective of
the optimum to ten digits, and its weights to about five.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from wideberth import (
    Box,
    CrossPolytope,
    RobustKernelSVC,
    RobustLinearSVC,
    path,
    solve,
)

FREE = {"fit_intercept": True}
NONE = {"fit_intercept": False}
PENALISED = {"intercept_penalty": 1.0}
SEEDS = range(20)


def table(seed, numbers=False):
    """Random rows and weights; labels that overlap, or numbers to predict."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(2, 7))
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.normal(size=n)
    if not numbers:
        y = np.where(y > 0, 1, -1)
        y[:2] = 1, -1
    return rng, X, y, rng.uniform(0.2, 2.0, size=n)


def shape(kind, rng, d):
    """A noise shape, and its Ω."""
    tau, factor = rng.uniform(0.3, 2.0, size=d), rng.normal(size=(d, d))
    return {
        "ball": ("l2", np.linalg.norm),
        "scales": (tau, lambda w: np.linalg.norm(tau * w)),
        "covariance": (factor @ factor.T, lambda w: np.linalg.norm(factor.T @ w)),
        "box": (Box(tau), lambda w: np.sum(tau * np.abs(w))),
        "cross-polytope": (CrossPolytope(tau), lambda w: np.max(tau * np.abs(w))),
    }[kind]


def objective(w, b, X, y, weights, penalty=0.0, intercept_penalty=0.0):
    """The objective of an SVM with a penalty outside its hinges."""
    losses = weights * np.maximum(1 - y * (X @ w + b), 0)
    return 0.5 * w @ w + 0.5 * intercept_penalty * b**2 + penalty + losses.sum()


def pinball(w, b, X, y, weights, quantile, penalty=0.0):
    """The objective of a quantile regression with a penalty."""
    off = y - X @ w - b
    losses = weights * np.maximum(quantile * off, (quantile - 1) * off)
    return 0.5 * w @ w + penalty + losses.sum()


def assert_same_direction(w, v):
    """Both are 0, or one is a positive multiple of the other."""
    lengths = np.linalg.norm(w), np.linalg.norm(v)
    if max(lengths) < 1e-6:
        return
    assert w @ v >= (1 - 1e-8) * lengths[0] * lengths[1]


@pytest.mark.parametrize("intercept", [NONE, FREE, PENALISED], ids=str)
@pytest.mark.parametrize(
    "kind", ["ball", "scales", "covariance", "box", "cross-polytope"]
)
def test_equal_radii_are_a_norm_penalty_outside_the_hinges(kind, intercept):
    for seed in SEEDS[:4]:
        rng, X, y, a = table(seed)
        noise, omega = shape(kind, rng, X.shape[1])
        C, radius = 10 ** rng.uniform(-2, 1), rng.uniform(0.02, 0.15)
        s0 = [0.0, 0.3][seed % 2]
        same = {"noise": noise, "sample_weight": a, "tol": 1e-10, "quiet": True}
        same |= intercept
        robust = solve(X, y, C=C, radius=radius, norm_penalty=s0, **same)
        u = 1 + radius * omega(robust.w)
        outside = (s0 + radius * robust.alpha.sum()) / u
        plain = solve(X, y, C=C / u, radius=0, norm_penalty=outside, **same)
        v, b = robust.w / u, robust.b / u
        found = objective(
            *(v, b, X, y, C / u * a),
            penalty=outside * omega(v),
            intercept_penalty=intercept.get("intercept_penalty", 0.0),
        )
        np.testing.assert_allclose(found, plain.primal, rtol=1e-8)
        assert_same_direction(robust.w, plain.w)


@pytest.mark.parametrize("intercept", [NONE, FREE], ids=str)
def test_one_euclidean_radius_is_a_plain_svm_with_a_smaller_C(intercept):
    for seed in SEEDS:
        rng, X, y, a = table(seed)
        C, radius = 10 ** rng.uniform(-2, 2), rng.uniform(0.05, 0.4)
        same = {"sample_weight": a, "tol": 1e-10, "quiet": True, **intercept}
        robust = solve(X, y, C=C, radius=radius, **same)
        length = np.linalg.norm(robust.w)
        if length < 1e-6:
            continue  # beyond the critical radius: the constant model
        u = 1 + radius * length
        kappa = length / (length + radius * robust.alpha.sum())
        assert kappa * C / u < C
        plain = solve(X, y, C=kappa * C / u, **same)
        found = objective(robust.w / u, robust.b / u, X, y, kappa * C / u * a)
        np.testing.assert_allclose(found, plain.primal, rtol=1e-8)
        assert_same_direction(robust.w, plain.w)


@pytest.mark.parametrize("intercept", [NONE, FREE], ids=str)
def test_a_plain_svm_is_robust_at_every_radius_up_to_its_own_limit(intercept):
    for seed in SEEDS:
        rng, X, y, a = table(seed)
        same = {"sample_weight": a, "tol": 1e-10, "quiet": True, **intercept}
        C = 10 ** rng.uniform(-2, 1)
        plain = solve(X, y, C=C, **same)
        tau, total = np.linalg.norm(plain.w), plain.alpha.sum()
        radius = rng.uniform(0.05, 0.9) * tau / total
        u, kappa = 1 / (1 - radius * tau), 1 - radius * total / tau
        C = C * u / kappa
        robust = solve(X, y, C=C, radius=radius, **same)
        # The robust losses are u times the plain ones, and all lie inside the hinge.
        w, b = u * plain.w, u * plain.b
        losses = C * a * np.maximum(1 - y * (X @ w + b) + radius * u * tau, 0)
        found = 0.5 * w @ w + losses.sum()
        np.testing.assert_allclose(found, robust.primal, rtol=1e-8)
        assert_same_direction(robust.w, plain.w)


def test_the_equivalent_C_rises_with_C_and_falls_with_the_radius():
    _, X, y, _ = table(0)
    radii = [0, 0.02, 0.05, 0.1]
    models = path(X, y, Cs=np.geomspace(0.01, 100, 12), radii=radii, tol=1e-9)
    length = np.linalg.norm(models.coefs, axis=2)
    radius = np.array(radii)[:, None]
    # Σα = P + ½‖w‖² at the optimum of a problem with a free intercept.
    total = models.objectives + 0.5 * length**2
    kappa = length / (length + radius * total)
    plain = kappa * models.Cs / (1 + radius * length)
    assert (np.diff(plain, axis=1) > 0).all()
    assert (np.diff(plain, axis=0) < 0).all()


@pytest.mark.parametrize("quantile", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("kind", ["ball", "scales", "box"])
def test_one_radius_in_a_quantile_regression_is_a_penalty_and_a_shift(kind, quantile):
    for seed in SEEDS[:4]:
        rng, X, y, a = table(seed, numbers=True)
        noise, omega = shape(kind, rng, X.shape[1])
        C, radius = 10 ** rng.uniform(-1, 1), rng.uniform(0.05, 0.3)
        same = {"loss": "quantile", "quantile": quantile, "noise": noise, "C": C}
        same |= {"sample_weight": a, "tol": 1e-10, "quiet": True}
        robust = solve(X, y, radius=radius, **same)
        outside = 2 * quantile * (1 - quantile) * radius * C * a.sum()
        plain = solve(X, y, radius=0, norm_penalty=outside, **same)
        b = robust.b + (1 - 2 * quantile) * radius * omega(robust.w)
        penalty = outside * omega(robust.w)
        found = pinball(robust.w, b, X, y, C * a, quantile, penalty)
        np.testing.assert_allclose(found, plain.primal, rtol=1e-8)
        np.testing.assert_allclose(robust.primal, plain.primal, rtol=1e-8)


def test_least_absolute_deviations_with_one_euclidean_radius_have_a_smaller_C():
    for seed in SEEDS:
        rng, X, y, a = table(seed, numbers=True)
        C, radius = 10 ** rng.uniform(-1, 1), rng.uniform(0.05, 0.3)
        same = {"loss": "quantile", "sample_weight": a, "tol": 1e-10, "quiet": True}
        robust = solve(X, y, C=C, radius=radius, **same)
        length = np.linalg.norm(robust.w)
        if length < 1e-6:
            continue
        kappa = length / (length + 0.5 * radius * C * a.sum())
        plain = solve(X, y, C=kappa * C, **same)
        found = pinball(robust.w, robust.b, X, y, kappa * C * a, 0.5)
        np.testing.assert_allclose(found, plain.primal, rtol=1e-8)


def test_a_kernel_machine_with_one_radius_has_another_C():
    """The radius acts as R = √(2 − 2exp(−γρ²)) on the features of the kernel."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    robust = RobustKernelSVC(C=1, radius=0.6, tol=1e-8).fit(X, y)
    moved = np.sqrt(2 - 2 * np.exp(-robust.gamma_ * 0.6**2))
    length = np.linalg.norm(robust.coef_)
    total = robust.objective_[0] + 0.5 * length**2
    C = length / (length + moved * total) / (1 + moved * length)
    assert abs(C / 0.0677 - 1) < 2e-3  # the page on curved boundaries
    plain = RobustKernelSVC(C=C, radius=0, tol=1e-8).fit(X, y)
    radii = [model.certified_radius(X) for model in (robust, plain)]
    np.testing.assert_allclose(*radii, rtol=1e-4, atol=1e-5)
    assert (robust.predict(X) == plain.predict(X)).all()


def test_radii_that_differ_and_boxes_are_no_plain_svm():
    """The nearest model of a dense plain path differs in direction."""
    _, X, y, _ = table(5)
    plain = path(X, y, Cs=np.geomspace(1e-4, 1e3, 200)).coefs[0]
    plain /= np.linalg.norm(plain, axis=1)[:, None]
    radii = np.where(np.arange(len(y)) % 2, 0.0, 0.6)
    for robust in (
        RobustLinearSVC(tol=1e-8).fit(X, y, radius=radii),
        RobustLinearSVC(tol=1e-8, radius=0.3, noise="linf").fit(X, y),
    ):
        w = robust.coef_[0] / np.linalg.norm(robust.coef_)
        assert (plain @ w).max() < 0.999
    same = RobustLinearSVC(tol=1e-8, radius=0.3).fit(X, y)
    w = same.coef_[0] / np.linalg.norm(same.coef_)
    assert (plain @ w).max() > 1 - 1e-4
