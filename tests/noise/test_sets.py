"""The contract of all noise, held by shapes that samples share and by sets per sample."""

import numpy as np
import pytest

from wideberth import Box
from wideberth.noise import Boxes, Noise, as_shape
from wideberth.noise.sums import SumOfBoxes
from wideberth.problem import Problem

N, D = 9, 4
KINDS = ["l2", "linf", "l1", "scales", "box", "ellipsoids", "boxes", "covariances"]


def noise_of(kind, rng):
    """Noise of N samples with D features, none of them exact."""
    radii = rng.uniform(0.1, 2.0, size=N)
    errors = rng.uniform(0.2, 1.0, size=(N, D))
    given = {
        "scales": {"noise": errors[0]},
        "box": {"noise": Box(errors[0])},
        "ellipsoids": {"X_err": errors},
        "boxes": {"X_err": errors, "error_shape": "box"},
        "covariances": {"X_err": [np.diag(e) @ SHARED @ np.diag(e) for e in errors]},
    }.get(kind, {"noise": kind})
    if "X_err" in given:
        given["X_err"] = np.array(given["X_err"])
    y = np.where(np.arange(N) % 2, 1, -1)
    problem = Problem.from_data(rng.normal(size=(N, D)), y, radius=radii, **given)
    return problem.noise


SHARED = 0.6 * np.eye(D) + 0.4


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def draw(kind, seed=0):
    rng = np.random.default_rng(seed)
    return noise_of(kind, rng), rng.exponential(size=N), rng


def test_a_sum_of_sets_supports_the_sum_of_what_the_sets_do(kind):
    noise, alpha, rng = draw(kind)
    total = noise.sum(alpha)
    for w in rng.normal(size=(20, D)):
        expected = alpha @ noise.supports(w)
        assert total.support(w) == pytest.approx(expected, rel=1e-12)
        assert total.times(3.0).support(w) == pytest.approx(3 * expected, rel=1e-12)
        both = total + noise.sum(2 * alpha)
        assert both.support(w) == pytest.approx(3 * expected, rel=1e-12)
        assert expected <= total.lipschitz(D) * noise.sets.norm(w) * (1 + 1e-12)
        lengths = noise.lipschitz(D) * np.linalg.norm(w)
        assert np.all(noise.supports(w) <= lengths * (1 + 1e-12))
        closer = noise.lipschitz(D) * noise.sets.norm(w)
        assert np.all(noise.supports(w) <= closer * (1 + 1e-12))
        assert noise.sets.norm(w) <= np.linalg.norm(w) * (1 + 1e-12)


def test_a_gauge_says_when_a_point_is_inside(kind):
    noise, alpha, rng = draw(kind)
    total, d = noise.sum(alpha), rng.normal(size=D)
    lower, upper = total.gauge(d)
    assert 0 < lower <= upper < np.inf
    for u in rng.normal(size=(300, D)):
        assert u @ d <= upper * total.support(u) * (1 + 1e-9)
    assert np.abs(total.times(1.01 * upper).closest(d)).max() < 0.1 * np.abs(d).max()
    assert total.times(0.9 * lower).closest(d).any()
    ball = total.inscribed(D)
    for u in rng.normal(size=(100, D)):
        assert ball * np.linalg.norm(u) <= total.support(u) * (1 + 1e-12)


def test_what_some_samples_leave_behind_is_their_sum(kind):
    noise, alpha, rng = draw(kind)
    for chosen in (np.arange(N) == 3, np.arange(N) != 3):
        weights, w = np.where(chosen, alpha, 0.0), rng.normal(size=D)
        kept = noise.take(np.flatnonzero(chosen))
        expected = kept.sum(alpha[chosen]).support(w)
        assert noise.folded(weights).support(w) == pytest.approx(expected, rel=1e-12)


def test_samples_taken_apart_and_joined_are_the_same(kind):
    noise, _, rng = draw(kind)
    w = rng.normal(size=D)
    parts = [noise.take(slice(0, 4)), noise.take(np.arange(4, N))]
    np.testing.assert_array_equal(
        np.concatenate([part.supports(w) for part in parts]), noise.supports(w)
    )
    joined = Noise.joined(parts)
    np.testing.assert_array_equal(joined.supports(w), noise.supports(w))
    halved = noise.divided(1.0, 2.0)  # sets by 2, radii times 2
    np.testing.assert_allclose(halved.supports(w), noise.supports(w) * (
        2.0 if kind in ("l2", "linf", "l1") else 1.0  # which have nothing to divide
    ))  # fmt: skip


def test_the_worst_case_attains_the_support(kind):
    noise, _, rng = draw(kind)
    w, y = rng.normal(size=D), np.where(np.arange(N) % 2, 1.0, -1.0)
    moves = noise.worst_case(w, y)
    np.testing.assert_allclose(-y * (moves @ w), noise.supports(w), rtol=1e-9)


@pytest.mark.parametrize("kind", ["linf", "box", "boxes"])
def test_boxes_of_some_features_are_those_of_all_without_the_others(kind):
    noise, alpha, rng = draw(kind)
    columns = np.array([0, 2])
    w = np.zeros(D)
    w[columns] = rng.normal(size=2)
    few, total = noise.restricted(columns), noise.sum(alpha)
    np.testing.assert_allclose(few.supports(w[columns]), noise.supports(w))
    some = total.restricted(columns)
    assert some.support(w[columns]) == pytest.approx(total.support(w))
    np.testing.assert_allclose(some.box(2), total.box(D)[columns])
    i, j = np.arange(N)[:, None], np.arange(D)[None, :]
    np.testing.assert_allclose(alpha @ noise.cells(i, j), total.box(D))


@pytest.mark.parametrize("kind", ["l2", "linf", "l1", "scales", "box", "boxes"])
def test_a_norm_penalty_is_a_set_of_its_own(kind):
    noise, alpha, rng = draw(kind)
    fixed, total = noise.sets.penalty(0.7, D), noise.sum(0.01 * alpha)
    d = rng.normal(size=D)
    t = total.gauge(d, fixed=fixed)[1]
    assert (total.times(t * (1 + 1e-9)) + fixed).gauge(d)[1] <= 1 + 1e-9
    assert (total.times(t * 0.99) + fixed).gauge(d)[1] > 1 - 1e-9 or t == 0
    f = total.largest_multiple(d, fixed)
    assert (total.times(f) + fixed).gauge(f * d)[1] == pytest.approx(1.0)


def test_one_shape_and_as_many_sets_are_the_same_noise():
    """A box that all samples share is the case of one row."""
    rng = np.random.default_rng(0)
    scales, radii = rng.uniform(0.1, 1.0, size=D), rng.uniform(0.1, 1.0, size=N)
    one = Noise(Box(scales), radii)
    own = Noise(Boxes.of(np.tile(scales, (N, 1))), radii)
    alpha, d, w = rng.exponential(size=N), 3 * rng.normal(size=D), rng.normal(size=D)
    np.testing.assert_allclose(one.supports(w), own.supports(w))
    np.testing.assert_allclose(one.sum(alpha).closest(d), own.sum(alpha).closest(d))
    assert one.sum(alpha).gauge(d) == pytest.approx(own.sum(alpha).gauge(d))
    assert one.sum(alpha).support(w) == pytest.approx(own.sum(alpha).support(w))
    inscribed = [noise.sum(alpha).inscribed(D) for noise in (one, own)]
    assert inscribed[0] == pytest.approx(inscribed[1])


def test_a_lopsided_box_reaches_against_the_point():
    total = SumOfBoxes(np.array([1.0, 2.0]), np.array([3.0, 4.0]), 1.0, 0.0)
    np.testing.assert_array_equal(total.closest(np.array([5.0, -5.0])), [4.0, -1.0])
    np.testing.assert_array_equal(total.closest(np.array([-2.0, 1.5])), [0.0, 0.0])
    assert total.gauge(np.array([2.0, -2.0])) == (2.0, 2.0)
    assert total.support(np.array([1.0, -1.0])) == 5.0
    assert total.inscribed(2) == 1.0


def test_one_radius_for_all_stays_one_number():
    radii = np.broadcast_to(0.5, (N,))
    noise = Noise(as_shape("l2", D), radii)
    for found in (noise.supports(np.ones(D)), noise.lipschitz(D)):
        assert found.strides == (0,)
        assert found.shape == (N,)
