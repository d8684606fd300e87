import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wideberth.noise import L1, L2, Ellipsoid, Linf, as_noise


@st.composite
def shapes_and_vectors(draw, n_vectors=2):
    d = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scales = rng.uniform(0, 3, size=d) * (rng.random(d) < 0.8)
    shape = draw(st.sampled_from([L2(), Linf(), L1(), Ellipsoid(scales)]))
    vectors = rng.normal(size=(n_vectors, d)) * 10.0 ** draw(st.integers(-6, 6))
    return shape, *vectors


@given(shapes_and_vectors())
def test_maximizer_lies_in_the_unit_set_and_attains_the_support(case):
    shape, w, _ = case
    delta = shape.maximizer(w)
    assert shape.dual_norm(delta) <= 1 + 1e-12
    assert w @ delta == pytest.approx(shape.support(w), rel=1e-12)


@given(shapes_and_vectors())
def test_support_is_bounded_by_the_dual_norm_and_the_lipschitz_constant(case):
    shape, w, d = case
    if np.isfinite(shape.dual_norm(d)):
        assert w @ d <= shape.dual_norm(d) * shape.support(w) * (1 + 1e-12)
    lipschitz = shape.lipschitz(w.size)
    assert shape.support(w) <= lipschitz * np.linalg.norm(w) * (1 + 1e-12)
    assert abs(shape.support(w) - shape.support(d)) <= (
        lipschitz * np.linalg.norm(w - d) * (1 + 1e-9) + 1e-12 * shape.support(d)
    )


@given(shapes_and_vectors(), st.floats(0, 3))
def test_prox_minimises_its_objective_and_leaves_a_residual_inside_the_set(case, share):
    shape, d, other = case
    s = share * np.abs(d).max()
    w = shape.prox(d, s)
    residual = d - w
    for direction in (other, residual, w):
        slack = 1e-12 * np.linalg.norm(d) * np.linalg.norm(direction)
        assert residual @ direction <= s * shape.support(direction) + slack
    # The residual must be a maximiser over sU in direction w: that is optimality.
    scale = np.linalg.norm(d) ** 2
    assert residual @ w == pytest.approx(s * shape.support(w), abs=1e-9 * scale)

    def objective(u):
        return 0.5 * np.sum((u - d) ** 2) + s * shape.support(u)

    for trial in (other, d, w * 1.01, w + 1e-3 * other, np.zeros_like(d)):
        assert objective(w) <= objective(trial) + 1e-9 * scale


@given(shapes_and_vectors())
def test_curvature_is_the_derivative_of_the_gradient(case):
    shape, w, direction = case
    if not shape.smooth or shape.support(w) < 1e-3 * np.linalg.norm(w):
        return
    step = 1e-5 * np.linalg.norm(w) / np.linalg.norm(direction)
    forward = shape.maximizer(w + step * direction)
    backward = shape.maximizer(w - step * direction)
    diagonal, g = shape.curvature(w)
    exact = diagonal * direction - g * (g @ direction)
    difference = (forward - backward) / (2 * step)
    tolerance = 1e-3 * shape.lipschitz(w.size) ** 2 / shape.support(w)
    np.testing.assert_allclose(
        difference, exact, atol=tolerance * np.linalg.norm(direction)
    )


def test_zero_radius_changes_nothing():
    d = np.array([1.0, -2.0, 3.0])
    for shape in (L2(), Linf(), L1(), Ellipsoid([0.0, 1.0, 2.0])):
        np.testing.assert_array_equal(shape.prox(d, 0.0), d)


def test_a_feature_without_noise_is_never_shrunk():
    shape = Ellipsoid([0.0, 1.0])
    np.testing.assert_array_equal(shape.prox(np.array([3.0, 4.0]), 1e9), [3.0, 0.0])


def test_an_ellipsoid_of_ones_is_the_euclidean_ball():
    d, ball, ellipsoid = np.array([3.0, -4.0]), L2(), Ellipsoid(np.ones(2))
    np.testing.assert_allclose(ellipsoid.prox(d, 2.0), ball.prox(d, 2.0), rtol=1e-14)


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ("l3", "'l3'"),
        ([1.0, -1.0, 1.0], "scale 1 is -1.0"),
        ([1.0, np.nan, 1.0], "scale 1 is nan"),
        ([1.0, 2.0], r"shape \(2,\).*3 features"),
        (object(), "neither a name"),
    ],
)
def test_bad_noise_is_named(noise, said):
    with pytest.raises(ValueError, match=f"(?s)noise.*{said}"):
        as_noise(noise, 3)
