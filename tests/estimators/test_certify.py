import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from wideberth import Box, CrossPolytope, certify
from wideberth.noise import Correlated, as_shape

SHAPES = ("l2", "linf", "l1", "scales", "box", "cross-polytope", "covariance")


def make_model(seed, n_classes, shape, d=4, n=25):
    """A random linear classifier, its noise shape, and samples."""
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=(1 if n_classes == 2 else n_classes, d))
    noise = shape
    if shape == "scales":
        noise = rng.uniform(0.1, 2, size=d)
    if shape in ("box", "cross-polytope"):
        made = Box if shape == "box" else CrossPolytope
        noise = made(rng.uniform(0.1, 2, size=d))
    if shape == "covariance":
        root = rng.normal(size=(d, d))
        noise = root @ root.T
    X = rng.normal(size=(n, d))
    return rng, X, coef, rng.normal(size=len(coef)), noise


def predict(X, coef, intercept):
    values = certify.decision_values(X, coef, intercept)
    return (values > 0).astype(int) if values.ndim == 1 else values.argmax(axis=1)


def random_moves(rng, n, noise, d):
    """Moves of size exactly 1 in units of the shape."""
    shape, moves = as_shape(noise, d), rng.normal(size=(n, d))
    return moves / np.array([shape.dual_norm(move) for move in moves])[:, None]


models = given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    shape=st.sampled_from(SHAPES),
)


@models
@settings(max_examples=60)
def test_nothing_changes_within_the_certified_radius(seed, n_classes, shape):
    rng, X, coef, b, noise = make_model(seed, n_classes, shape)
    radius = certify.certified_radius(certify.decision_values(X, coef, b), coef, noise)
    before = predict(X, coef, b)
    for _ in range(40):
        moves = random_moves(rng, len(X), noise, X.shape[1])
        moved = X + 0.999999 * radius[:, None] * moves
        np.testing.assert_array_equal(predict(moved, coef, b), before)


@models
@settings(max_examples=60)
def test_the_worst_case_just_beyond_it_changes_the_prediction(seed, n_classes, shape):
    _, X, coef, b, noise = make_model(seed, n_classes, shape)
    values, before = certify.decision_values(X, coef, b), predict(X, coef, b)
    radius = certify.certified_radius(values, coef, noise)
    beyond = 1.000001 * radius + 1e-9
    moves = certify.worst_case(values, before, coef, beyond, noise)
    sizes = [as_shape(noise, X.shape[1]).dual_norm(move) for move in moves]
    np.testing.assert_allclose(sizes, beyond, rtol=1e-6)
    assert np.all(predict(X + moves, coef, b) != before)


@models
@settings(max_examples=60)
def test_robustly_correct_is_correct_under_the_worst_case(seed, n_classes, shape):
    rng, X, coef, b, noise = make_model(seed, n_classes, shape)
    labels = rng.integers(n_classes, size=len(X))
    values, radii = certify.decision_values(X, coef, b), rng.exponential(size=len(X))
    robust = certify.robust_correct(values, labels, coef, radii, noise)
    moves = certify.worst_case(values, labels, coef, radii, noise)
    np.testing.assert_array_equal(robust, predict(X + moves, coef, b) == labels)


def test_radius_of_two_classes_is_the_distance_to_the_boundary():
    coef, b = np.array([[3.0, 4.0]]), np.array([-5.0])
    values = certify.decision_values(np.array([[3.0, 4.0], [0.0, 0.0]]), coef, b)
    np.testing.assert_allclose(certify.certified_radius(values, coef), [4.0, 1.0])
    np.testing.assert_allclose(
        certify.certified_radius(values, coef, "linf"), [20 / 7, 5 / 7]
    )
    np.testing.assert_allclose(certify.certified_radius(values, coef, "l1"), [5, 5 / 4])


def test_what_no_move_can_change_has_an_infinite_radius():
    coef, values = np.array([[1.0, 0.0]]), np.array([0.5, -2.0])
    radius = certify.certified_radius(values, coef, np.array([0.0, 1.0]))
    np.testing.assert_array_equal(radius, np.inf)
    # Two classes of the same weights: the better one always wins.
    twins = np.array([[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    values = np.array([[2.0, 1.0, -1.0], [1.0, 1.0, -2.0]])
    np.testing.assert_allclose(certify.certified_radius(values, twins), [1.5, 1.5])


def test_ties_go_to_the_first_class_as_in_prediction():
    coef, values = np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0], [1.0, 1.0]])
    np.testing.assert_array_equal(certify.certified_radius(values, coef), 0.0)
    robust = certify.robust_correct(values, np.array([0, 1]), coef, 0.0)
    np.testing.assert_array_equal(robust, [True, False])
    # Exactly at the boundary of the ball: f = 0 is class 0, in training and here.
    edge = certify.robust_correct(np.array([-1.0, 1.0]), [0, 1], coef[:1], 1.0)
    np.testing.assert_array_equal(edge, [True, False])


def test_scores_of_float32_data_are_float64_sums():
    rng = np.random.default_rng(0)
    X, coef = rng.normal(size=(3000, 400)).astype(np.float32), rng.normal(size=(3, 400))
    values = certify.decision_values(X, coef, np.arange(3.0))
    expected = X.astype(np.float64) @ coef.T + np.arange(3.0)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


def test_a_bad_radius_is_named():
    with pytest.raises(ValueError, match=r"radius is -1\.0"):
        certify.robust_correct(np.zeros(3), [0, 0, 1], np.ones((1, 2)), -1.0)


def test_no_certified_radius_exceeds_what_a_covariance_allows():
    """Moves across a rounded, nearly singular covariance are small, but not none."""
    open_directions = 0
    for seed in range(10):
        root = np.random.default_rng(seed).normal(size=(5, 2))
        covariance = root @ root.T
        for w in Correlated(covariance).axes.T:
            found = certify.certified_radius(np.array([0.5]), w[None], covariance)[0]
            with mp.workdps(60):
                exact = mp.matrix(w.tolist())
                square = (exact.T * mp.matrix(covariance.tolist()) * exact)[0]
                if square > 0:
                    assert mpf(found) * mp.sqrt(square) <= mpf(0.5) * (1 + mpf(1e-12))
                    open_directions += square < 1e-10
    assert open_directions > 5
