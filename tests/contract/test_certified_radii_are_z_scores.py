"""A certified radius of a linear model is the z-score of random errors (theory §1.4)."""

import numpy as np
import pytest
from scipy.stats import norm

from wideberth import Box, CrossPolytope, RobustLinearSVC

DRAWS = 20_000


@pytest.fixture(scope="module")
def blobs():
    """Three classes in five columns of different scale."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 5)) + 2 * np.eye(5)[y]
    return X * [1, 3, 1, 0.5, 1], y


def observed(model, x, scales):
    """Fraction of random normal errors that change the class of one row."""
    errors = np.random.default_rng(1).normal(size=(DRAWS, len(x))) * scales
    return np.mean(model.predict(x + errors) != model.predict(x[None]))


def assert_near(found, chance):
    """Within four standard errors of a simulated frequency."""
    assert abs(found - chance) <= 4 * np.sqrt(chance * (1 - chance) / DRAWS) + 1e-4


def middling(radii):
    """Rows whose chances are neither 0 nor one half."""
    return np.flatnonzero((radii > 0.3) & (radii < 2.5))[:6]


def test_of_two_classes_random_errors_change_the_class_with_the_chance_of_a_z_score(
    blobs,
):
    X, y = blobs[0][:80], blobs[1][:80]
    scales = np.array([0.5, 1.5, 0.6, 0.3, 0.4])
    model = RobustLinearSVC(noise=scales).fit(X, y)
    radii = model.certified_radius(X)
    for i in middling(radii):
        assert_near(observed(model, X[i], scales), norm.cdf(-radii[i]))


def test_error_bars_count_the_errors_of_the_row(blobs):
    X, y = blobs[0][:80], blobs[1][:80]
    X_err = np.random.default_rng(2).uniform(0.1, 0.8, size=X.shape)
    model = RobustLinearSVC().fit(X, y, X_err=X_err)
    radii = model.certified_radius(X, X_err=X_err)
    for i in middling(radii):
        assert_near(observed(model, X[i], X_err[i]), norm.cdf(-radii[i]))


def test_in_units_of_x_the_radius_is_divided_by_the_standard_deviation(blobs):
    X, y = blobs[0][:80], blobs[1][:80]
    model = RobustLinearSVC(radius=0.1).fit(X, y)
    radii = model.certified_radius(X)
    for i in middling(radii):
        assert_near(observed(model, X[i], 0.5), norm.cdf(-radii[i] / 0.5))


def test_of_several_classes_the_chance_is_between_two_bounds(blobs):
    X, y = blobs
    scales = np.array([0.5, 1.5, 0.6, 0.3, 0.4])
    model = RobustLinearSVC(noise=scales).fit(X, y)
    radii = model.certified_radius(X)
    for i in middling(radii):
        chance = norm.cdf(-radii[i])
        slack = 4 * np.sqrt(chance / DRAWS)
        assert chance - slack <= observed(model, X[i], scales) <= 2 * chance + slack


def test_all_columns_at_once_need_smaller_errors_than_the_radius(blobs):
    X, y = blobs[0][:80], blobs[1][:80]
    model = RobustLinearSVC(radius=0.1).fit(X, y)
    radii, step = model.certified_radius(X), np.sign(model.coef_[0])
    # The same boundary, asked about boxes: each column by so much, at once.
    each = np.abs(model.decision_function(X)) / np.abs(model.coef_).sum()
    assert (each <= radii).all()
    assert (radii <= np.sqrt(X.shape[1]) * each + 1e-12).all()
    towards = -np.sign(model.decision_function(X))[:, None] * step
    before = model.predict(X)
    assert (model.predict(X + 0.999 * each[:, None] * towards) == before).all()
    assert (model.predict(X + 1.001 * each[:, None] * towards) != before).all()


def test_of_boxes_and_cross_polytopes_the_radius_is_no_z_score(blobs):
    X, y = blobs[0][:80], blobs[1][:80]
    tolerances = np.array([0.5, 1.5, 0.6, 0.3, 0.4])
    off = {}
    for shape in (Box, CrossPolytope):
        model = RobustLinearSVC(C=0.1, noise=shape(tolerances)).fit(X, y)
        radii = model.certified_radius(X)
        i = np.argmin(np.abs(radii - 1))
        off[shape] = observed(model, X[i], tolerances) - norm.cdf(-radii[i])
        width = np.linalg.norm(tolerances * model.coef_)
        z = np.abs(model.decision_function(X[i : i + 1]))[0] / width
        assert_near(observed(model, X[i], tolerances), norm.cdf(-z))
    assert off[Box] < -0.01
    assert off[CrossPolytope] > 0.01
