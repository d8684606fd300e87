"""No move inside a certified radius changes the class; a little more does where stated.

Linear radii are exact: the worst move of 1.01 times the radius changes the class, and
no move of 0.99 times does. Radii of kernels are bounds: moves by sampling and along
gradients never change the class inside.
"""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from oracle import worst_move
from wideberth import (
    MeasuredSVC,
    RobustKernelSVC,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
)

ROOT = np.array([[1.0, 0.4, 0.0], [0.0, 0.7, 0.2], [0.0, 0.0, 0.5]])
NOISES = {
    "l2": "l2",
    "linf": "linf",
    "l1": "l1",
    "scales": np.array([0.5, 2.0, 0.1]),
    "covariance": ROOT @ ROOT.T,
}


def table(classes, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = rng.integers(classes, size=n)
    return X + 2 * np.eye(3)[y], y


@pytest.mark.parametrize("estimator", [RobustLinearSVC, RobustLinearSVCCV])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("noise", NOISES)
def test_linear_radii_are_exact(noise, classes, estimator):
    X, y = table(classes)
    shape = NOISES[noise]
    if estimator is RobustLinearSVC:
        model = RobustLinearSVC(noise=shape, radius=0.1).fit(X, y)
    else:
        model = RobustLinearSVCCV([0.1, 1.0], [0.1], noise=shape, cv=3).fit(X, y)
    radii, coef = model.certified_radius(X), np.atleast_2d(model.coef_)
    coef = np.vstack([-coef[0], coef[0]]) if len(coef) == 1 else coef
    for x, radius, label in zip(X, radii, model.predict(X), strict=True):
        flips = []
        for k in range(len(coef)):
            if k == label:
                continue
            move = worst_move(shape, coef[k] - coef[label], radius)
            assert model.predict([x + 0.99 * move])[0] == label
            flips.append(model.predict([x + 1.01 * move])[0] != label)
        assert any(flips)


def test_pipelines_state_radii_in_the_units_of_the_data():
    X, y = table(2)
    X = X * [1.0, 100.0, 1e-3] + [5.0, -300.0, 0.0]
    scales = np.array([0.1, 20.0, 1e-4])
    model = make_robust_pipeline(StandardScaler(), RobustLinearSVC(noise=scales))
    model.fit(X, y)
    radii = model.certified_radius(X)
    w = model[-1].coef_[0] / model[0].scale_
    for x, radius, label in zip(X, radii, model.predict(X), strict=True):
        move = worst_move(scales, -w if label == 1 else w, radius)
        assert model.predict([x + 0.99 * move])[0] == label
        assert model.predict([x + 1.01 * move])[0] != label


def test_radii_of_measured_rows_are_exact_for_one_gaussian():
    rng = np.random.default_rng(1)
    X, y = table(2)
    E = rng.uniform(0.1, 0.6, size=X.shape)
    model = MeasuredSVC(n_components=1).fit(X, y, X_err=E)
    radii, labels = model.certified_radius(X, E), model.predict(X, X_err=E)
    step = 1e-6
    for x, e, radius, label in zip(X, E, radii, labels, strict=True):
        here = model.decision_function([x], X_err=[e])[0]
        slope = [
            (model.decision_function([x + step * u], X_err=[e])[0] - here) / step
            for u in np.eye(3)
        ]
        move = worst_move(e, -np.sign(here) * np.array(slope), radius)
        assert model.predict([x + 0.99 * move], X_err=[e])[0] == label
        assert model.predict([x + 1.01 * move], X_err=[e])[0] != label


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("classes", [2, 3])
def test_no_attack_inside_the_radius_of_a_kernel_succeeds(noise, classes):
    X, y = table(classes)
    shape = NOISES[noise]
    model = RobustKernelSVC(C=10.0, noise=shape, radius=0.0).fit(X, y)
    radii, labels = model.certified_radius(X), model.predict(X)
    assert np.mean(radii > 0.05) > 0.5
    rng = np.random.default_rng(0)
    for _ in range(8):
        moves = [worst_move(shape, v, 0.99 * r) for v, r in zip(  # noqa: B905
            rng.normal(size=X.shape), radii)]  # fmt: skip
        assert np.array_equal(model.predict(X + moves), labels)
    scores = decision(model, X)
    at = np.arange(len(X))
    for k in range(scores.shape[1]):  # towards every other class
        gaps = np.stack(
            [
                (lambda s: s[:, k] - s[at, labels])(decision(model, X + 1e-5 * u))
                for u in np.eye(3)
            ],
            axis=1,
        )
        slopes = gaps - (scores[:, k] - scores[at, labels])[:, None]
        moves = [
            worst_move(shape, v, 0.99 * r) if v.any() else np.zeros(3)
            for v, r in zip(slopes, radii, strict=True)
        ]
        assert np.array_equal(model.predict(X + moves), labels)


def decision(model, X) -> np.ndarray:
    """Scores of all classes."""
    scores = model.decision_function(X)
    return scores if scores.ndim == 2 else np.column_stack((-scores, scores))
