import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

from wideberth import (
    Box,
    CrossPolytope,
    RobustLinearSVC,
    RobustLinearSVCCV,
    path,
    solve,
)
from wideberth.noise import L1, L2, Correlated, Ellipsoid, Linf, as_noise, as_shape
from wideberth.noise.shapes import ellipsoid_of


@st.composite
def shapes_and_vectors(draw, n_vectors=2):
    d = draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scales = rng.uniform(0, 3, size=d) * (rng.random(d) < 0.8)
    scaled = [kind(scales) for kind in (Ellipsoid, Box, CrossPolytope)]
    shape = draw(st.sampled_from([L2(), Linf(), L1(), *scaled]))
    vectors = rng.normal(size=(n_vectors, d)) * 10.0 ** draw(st.integers(-6, 6))
    return shape, *vectors


@given(shapes_and_vectors())
def test_maximizer_lies_in_the_unit_set_and_attains_the_support(case):
    shape, w, _ = case
    delta = shape.maximizer(w)
    assert shape.dual_norm(delta) <= 1 + 1e-12
    assert w @ delta == pytest.approx(shape.support(w), rel=1e-12)


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
def test_squares_are_those_of_a_smooth_support_function(case):
    shape, w, _ = case
    if shape.smooth:
        square = float(np.sum(shape.squares * w**2))
        assert shape.support(w) ** 2 == pytest.approx(square, rel=1e-12)


# -- polyhedra against their corners -----------------------------------------------------

POLYHEDRA = {"box": Box, "cross-polytope": CrossPolytope}


@pytest.mark.parametrize("kind", POLYHEDRA)
@pytest.mark.parametrize("zero", [False, True])
def test_polyhedra_know_the_balls_inside_and_around_them(kind, zero):
    """min and max of Ω(w)/‖w‖: no direction passes them, and some attain them."""
    rng = np.random.default_rng(1)
    scales = rng.uniform(0.3, 3.0, size=4)
    scales[2] *= not zero
    shape = POLYHEDRA[kind](scales)
    inside, around = shape.inscribed(4), shape.lipschitz(4)
    with np.errstate(divide="ignore"):
        narrow = np.where(scales > 0, 1 / scales, 1e12)
    few = np.eye(4)
    directions = [*rng.normal(size=(200, 4)), scales, narrow, *few]
    ratios = [shape.support(w) / np.linalg.norm(w) for w in directions]
    assert min(ratios) == pytest.approx(inside, abs=1e-9)
    assert max(ratios) == pytest.approx(around)


@pytest.mark.parametrize(
    "shape", [Box([1.0, 0.0, 2.0]), CrossPolytope([1.0, 0.0, 2.0])]
)
def test_a_polyhedron_behind_a_map_is_the_image_of_it(shape):
    rng = np.random.default_rng(3)
    maps = [
        np.diag([2.0, -3.0, 0.5]),
        np.array([[0.0, 0.0, 1.0], [-2.0, 0.0, 0.0]]),  # picks and orders
        np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 4.0]]),
    ]
    for A in maps:
        image = shape.carried(sp.csr_array(A))
        assert type(image) is type(shape)
        for w in rng.normal(size=(10, len(A))):
            assert image.support(w) == pytest.approx(shape.support(A.T @ w))
    for A in ([[1.0, 0.5, 0.0]], [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]):
        with pytest.raises(ValueError, match="mix or copy features"):
            shape.carried(sp.csr_array(A))


@pytest.mark.parametrize(
    "shape", [Box([1.0, 0.0, 2.0]), CrossPolytope([1.0, 0.0, 2.0])]
)
def test_parts_and_multiples_of_a_polyhedron(shape):
    w = np.array([0.3, -2.0, 1.1])
    J = np.array([2, 0])
    padded = np.array([w[0], 0.0, w[2]])
    assert shape.restricted(J).support(w[J]) == pytest.approx(shape.support(padded))
    assert shape.divided(4.0).support(w) == pytest.approx(shape.support(w) / 4)
    assert shape.reordered(J[::-1]).support(w[J[::-1]]) == pytest.approx(
        shape.support(padded)
    )
    assert shape.degrees(3) == 2


def test_boxes_leave_out_what_has_noise_and_no_weight():
    w = np.array([0.0, 0.0, 1.0])
    assert Box([1.0, 0.0, 2.0]).left_out(w).tolist() == [True, False, False]
    assert Linf().left_out(w).tolist() == [True, True, False]
    for shape in (L1(), L2(), CrossPolytope([1.0, 0.0, 2.0])):
        assert not shape.left_out(w).any()


@pytest.mark.parametrize("shape", [Box([1.0, 3.0]), CrossPolytope([1.0, 3.0])])
def test_what_rounding_leaves_beside_a_scale_mixes_nothing(shape):
    carried = shape.carried(sp.csr_array([[2.0, 1e-20], [0.0, 5.0]]))
    np.testing.assert_allclose(carried.scales, [2.0, 15.0])
    with pytest.raises(ValueError, match="mix or copy features"):
        shape.carried(sp.csr_array([[2.0, 1e-3], [0.0, 5.0]]))
    with pytest.raises(ValueError, match="mix or copy features"):
        shape.carried(sp.csr_array([[2.0, 0.0], [1.0, 5.0]]))


@pytest.mark.parametrize("name", ["linf", "l1"])
def test_without_features_there_is_room_for_any_ball(name):
    shape = as_noise(name, 0)
    assert (shape.inscribed(0), shape.lipschitz(0)) == (np.inf, 0.0)


@pytest.mark.parametrize("s", [0.0, -0.5])
@pytest.mark.parametrize("noise", ["l1", CrossPolytope([0.3, 0.7, 1.1])])
def test_without_noise_nothing_is_clipped(noise, s):
    shape = as_noise(noise, 3)
    for d in np.random.default_rng(0).normal(size=(50, 3)):
        np.testing.assert_array_equal(shape.prox(d, s), d)


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_features_are_correlated_or_not_whatever_their_units(unit):
    apart = sp.csr_array(unit * np.array([[1.0, 0.0], [1e-15, 2.0]]))
    shape = ellipsoid_of(apart)
    assert isinstance(shape, Ellipsoid)
    np.testing.assert_allclose(shape.scales, [unit, 2 * unit])
    together = sp.csr_array(unit * np.array([[1.0, 0.0], [1e-6, 2.0]]))
    assert isinstance(ellipsoid_of(together), Correlated)


def test_what_noise_just_reaches_is_taken_away():
    shape, d = as_noise([0.5, 2.0, 0.0], 3), np.array([1.5, -8.0, 7.0])
    assert shape.dual_norm(np.array([1.5, -8.0, 0.0])) == 5.0
    np.testing.assert_array_equal(shape.prox(d, 5.0), [0.0, 0.0, 7.0])


def test_a_feature_without_noise_is_never_shrunk():
    for kind in (Ellipsoid, Box, CrossPolytope):
        shape = kind([0.0, 1.0])
        np.testing.assert_array_equal(shape.prox(np.array([3.0, 4.0]), 1e9), [3.0, 0.0])


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ("l3", "'l3'"),
        ([1.0, -1.0, 1.0], "scale 1 is -1.0"),
        ([1.0, np.nan, 1.0], "scale 1 is nan"),
        ([1.0, 2.0], r"shape \(2,\).*3 features"),
        (object(), "real numbers"),
    ],
)
def test_bad_noise_is_named(noise, said):
    with pytest.raises(ValueError, match=f"(?s)noise.*{said}"):
        as_noise(noise, 3)


# -- noise that is labelled by feature names ---------------------------------------

NAMES = ["mass", "charge", "spin", "age"]
OTHER = ["spin", "age", "mass", "charge"]
SCALES = np.array([0.1, 2.0, 0.5, 1.0])
ROOT = np.array([[1.0, 0.0], [0.5, 2.0], [-1.0, 0.5], [0.0, 1.0]])
SIGMA = ROOT @ ROOT.T


def table(n=60):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 4))
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return pd.DataFrame(X, columns=NAMES), y


def labelled(kind):
    """The same noise with its labels in another order, and as an array."""
    series = pd.Series(SCALES, index=NAMES)[OTHER]
    matrix = pd.DataFrame(SIGMA, index=NAMES, columns=NAMES)
    return {
        "series": (series, SCALES),
        "nullable": (series.astype("Float64"), SCALES),
        "dict": (series.to_dict(), SCALES),
        "frame": (matrix.loc[OTHER, OTHER[::-1]], SIGMA),
        "polars frame": (pl.DataFrame(matrix.loc[OTHER, OTHER]), SIGMA),
        "covariance": (Correlated(matrix.loc[OTHER, OTHER]), SIGMA),
        "factor": (
            Correlated.from_factor(pd.DataFrame(ROOT, index=NAMES).loc[OTHER]),
            SIGMA,
        ),
    }[kind]


KINDS = [
    *("series", "nullable", "dict", "frame", "polars frame", "covariance", "factor")
]


@pytest.mark.parametrize("kind", KINDS)
def test_labelled_noise_is_that_of_its_features(kind):
    noise, plain = labelled(kind)
    found, expected = as_shape(noise, 4, NAMES), as_shape(plain, 4)
    for w in np.random.default_rng(0).normal(size=(5, 4)):
        assert found.support(w) == pytest.approx(expected.support(w), rel=1e-7)
        assert found.maximizer(w) @ w == pytest.approx(expected.support(w), rel=1e-7)
        np.testing.assert_allclose(
            found.prox(w, 0.4), expected.prox(w, 0.4), rtol=1e-6, atol=1e-6
        )


@pytest.mark.parametrize("kind", ["series", "frame", "factor"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_every_way_in_aligns_noise_with_the_columns(kind, library):
    X, y = table()
    noise, plain = labelled(kind)
    frame = X if library == "pandas" else pl.DataFrame(X)
    options = {"radius": 0.3, "tol": 1e-8}
    expected = solve(X.to_numpy(), y, noise=plain, fit_intercept=True, **options)

    def same(w):
        np.testing.assert_allclose(np.ravel(w), expected.w, rtol=1e-3, atol=1e-4)

    same(solve(frame, y, noise=noise, fit_intercept=True, **options).w)
    models = path(
        frame, y, Cs=[1.0], radii=[0.3], noise=noise, fit_intercept=True, tol=1e-8
    )
    same(models.coefs)
    model = RobustLinearSVC(noise=noise, **options).fit(frame, y)
    same(model.coef_)
    reach = as_shape(plain, 4).support(model.coef_[0])
    radii = np.abs(model.decision_function(frame)) / reach
    np.testing.assert_allclose(model.certified_radius(frame), radii, rtol=1e-6)
    search = RobustLinearSVCCV(Cs=[1.0], radii=[0.3], noise=noise, tol=1e-8, cv=3)
    same(search.fit(frame, y).coef_)
    grid = GridSearchCV(RobustLinearSVC(noise=noise, **options), {"C": [1.0]}, cv=3)
    same(grid.fit(frame, y).best_estimator_.coef_)


@pytest.mark.parametrize(
    ("noise", "said"),
    [
        ({"mass": 1.0, "charge": 1.0, "spin": 1.0}, "has none for 'age'"),
        (pd.Series(1.0, index=[*NAMES, "size"]), "names 'size', not in X"),
        ({"Mass": 1.0, "charge": 1, "spin": 1, "age": 1}, "(?s)'mass'.*'Mass'"),
        (pd.Series(1.0, index=[*NAMES, "age"]), "'age' more than once"),
        (pd.DataFrame(np.eye(4), index=NAMES, columns=list("abcd")), "other names"),
        (pd.DataFrame(np.eye(4), columns=list("abcd")), "'mass'"),
        (
            pd.Series([1.0, None, 1.0, 1.0], index=NAMES, dtype="Float64"),
            "scale 1 is nan",
        ),
    ],
)
def test_names_that_do_not_match_are_listed(noise, said):
    X, y = table()
    with pytest.raises(ValueError, match=said):
        solve(X, y, noise=noise, fit_intercept=False)
    with pytest.raises(ValueError, match=said):
        RobustLinearSVC(noise=noise).fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_refused_where_x_has_no_names(kind):
    X, y = table()
    noise, _ = labelled(kind)
    with pytest.raises(ValueError, match="no column names"):
        solve(X.to_numpy(), y, noise=noise, fit_intercept=False)
    with pytest.raises(ValueError, match="no column names"):
        RobustLinearSVC(noise=noise).fit(X.to_numpy(), y)


def test_numbers_without_labels_are_in_the_order_of_the_features():
    for noise in (SCALES.tolist(), pd.Series(SCALES), pl.Series(SCALES)):
        np.testing.assert_array_equal(as_noise(noise, 4).scales, SCALES)
        np.testing.assert_array_equal(as_noise(noise, 4, NAMES).scales, SCALES)
    with pytest.raises(ValueError, match="labelled"):
        Ellipsoid(pd.Series(SCALES, index=NAMES))


@pytest.mark.parametrize(
    "noise",
    [
        np.array([1.0, 2j, 1.0]),
        np.array([[1.0, 1j], [-1j, 1.0]]),
        pd.Series([1.0, 1j]),
        np.ma.array([1.0, 2.0], mask=[False, True]),
        ["a", "b"],
    ],
)
def test_noise_that_is_no_real_number_is_refused(noise):
    with pytest.raises(ValueError, match=r"(?s)noise .*(real numbers|masked)"):
        as_shape(noise, 2)


def test_a_complex_factor_is_refused():
    with pytest.raises(ValueError, match="real numbers"):
        Correlated.from_factor(np.array([[1.0 + 1j], [2.0]]))
