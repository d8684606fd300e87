import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import StandardScaler, scale

mpl.use("Agg")

from matplotlib import pyplot as plt

from wideberth import RobustLinearSVC, make_robust_pipeline, path
from wideberth.plotting import CertifiedAccuracyDisplay, MarginDisplay, PathDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(60, centers=[[0, 0], [6, 2], [1, 7]], random_state=1)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), y


def test_certified_accuracy_is_the_robust_score(cancer):
    X, y = cancer
    model = RobustLinearSVC(radius=0.1).fit(X, y)
    _, ax = plt.subplots()
    display = CertifiedAccuracyDisplay.from_estimator(model, X, y, ax=ax)
    assert display.ax_ is ax
    assert display.accuracy[0] == model.score(X, y)
    assert np.all(np.diff(display.accuracy) <= 0)
    middle = len(display.radii) // 2
    assert display.accuracy[middle] == model.robust_score(X, y, display.radii[middle])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), display.accuracy)
    assert ax.legend_.get_texts()[0].get_text() == "RobustLinearSVC, radius 0.1"


def segments_at(ax, x):
    """Heights at which the drawn lines pass over x."""
    for line in ax.lines:
        (x0, y0), slope = line.get_xy1(), line.get_slope()
        if slope is None:
            x1, y1 = line.get_xy2()
            slope = (y1 - y0) / (x1 - x0)
        yield y0 + slope * (x - x0)


@pytest.mark.parametrize("noise", ["l2", [1.0, 0.3], [[1.0, 0.5], [0.5, 0.5]]])
def test_margins_are_drawn_where_the_decision_is_minus_one_zero_one(blobs, noise):
    X, y = blobs[0], blobs[1] == 0
    svc = RobustLinearSVC(radius=0.3, noise=np.array(noise) if noise != "l2" else noise)
    model = make_robust_pipeline(StandardScaler(), svc).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y)
    heights = list(segments_at(display.ax_, 1.5))
    values = model.decision_function(np.column_stack([np.full(3, 1.5), heights]))
    np.testing.assert_allclose(values, [-1, 0, 1], atol=1e-6)
    assert len(display.ax_.collections) == 4  # points and sets of both classes
    display.figure_.canvas.draw()


@pytest.mark.parametrize("noise", ["l2", "linf", "l1"])
def test_uncertainty_sets_have_the_shape_and_size_of_the_noise(noise):
    X, y = np.array([[0.0, 0.0], [5.0, 5.0]]), np.array([0, 1])
    model = RobustLinearSVC(noise=noise).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, radius=np.array([0.5, 1.0]))
    order = {"l2": 2, "linf": np.inf, "l1": 1}[noise]
    drawn = display.ax_.collections[2].get_paths()[0].vertices - X[1]
    np.testing.assert_allclose(np.linalg.norm(drawn, order, axis=1), 1.0)


@pytest.mark.parametrize("form", ["ellipsoid", "box", "pair", "covariance"])
@pytest.mark.parametrize("radius", [None, 0.5])
def test_every_sample_is_drawn_with_its_own_errors(blobs, form, radius):
    (X, y), rng = blobs, np.random.default_rng(5)
    errors, roots = (
        rng.uniform(0.1, 1, size=(2, *X.shape)),
        rng.normal(size=(len(X), 2, 2)),
    )
    given, shape = {
        "ellipsoid": (errors[0], "ellipsoid"),
        "box": (errors[0], "box"),
        "pair": (np.stack([*errors], axis=-1), "box"),
        "covariance": (roots @ roots.transpose(0, 2, 1), "ellipsoid"),
    }[form]
    svc = RobustLinearSVC(error_shape=shape)
    model = make_robust_pipeline(StandardScaler(), svc)
    model.fit(X, y, robustlinearsvc__X_err=given)
    display = MarginDisplay.from_estimator(model, X, y, X_err=given, radius=radius)
    size = 1.0 if radius is None else radius
    for k, label in enumerate(model[-1].classes_):
        sets, points = display.ax_.collections[2 * k : 2 * k + 2]
        np.testing.assert_allclose(points.get_offsets(), X[y == label])
        for i, edge in zip(np.flatnonzero(y == label), sets.get_paths(), strict=True):
            moves = edge.vertices - X[i]
            if form == "covariance":
                sizes = np.linalg.norm(moves @ np.linalg.inv(roots[i]).T, axis=1)
            elif form == "ellipsoid":
                sizes = np.linalg.norm(moves / errors[0, i], axis=1)
            else:
                other = errors[1 if form == "pair" else 0, i]
                middle, half = (other - errors[0, i]) / 2, (other + errors[0, i]) / 2
                sizes = np.abs((moves - size * middle) / half).max(axis=1)
            np.testing.assert_allclose(sizes, size, rtol=1e-6)
    display.figure_.canvas.draw()
    with pytest.raises(ValueError, match="X_err must be given"):
        MarginDisplay.from_estimator(model, X, y)


# -- along a path ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def along():
    """A path over norm penalties, in no order, and one over radii; few features."""
    X, y = load_breast_cancer(return_X_y=True)
    X, options = scale(X)[:, 10:20], {"noise": "linf", "quiet": True}
    penalties = path(X, y, Cs=[0.1, 1.0], norm_penalties=[30, 0, 3, 1e4], **options)
    return penalties, path(X, y, Cs=[1.0], radii=[0.0, 0.1, 0.4], **options)


def test_a_path_is_drawn_along_what_varies(along):
    penalties, radii = along
    assert radii.plot().against == "radius"
    first = penalties.plot(k=1)
    assert (first.against, first.title) == ("C", "radius 0")
    display = penalties.plot(
        against="norm_penalty", k=1, feature_names=list("abcdefghij")
    )
    np.testing.assert_array_equal(display.values, [0, 3, 30, 1e4])
    np.testing.assert_array_equal(display.coefs, penalties.coefs[[1, 2, 0, 3], 1])
    assert display.title == "C 1"
    above, below = display.ax_
    assert below.get_xlabel() == "norm penalty"
    assert above.get_xscale() == below.get_xscale() == "symlog"
    named = {line.get_label(): line for line in above.lines}
    largest = np.abs(display.coefs).max(axis=0).argmax()
    drawn = named["abcdefghij"[largest]].get_ydata()
    np.testing.assert_array_equal(drawn, display.coefs[:, largest])
    np.testing.assert_allclose(
        display.removed, penalties.removed[[1, 2, 0, 3], 1] / 569
    )
    one = path(*load_breast_cancer(return_X_y=True), Cs=[1e-9], quiet=True)
    assert PathDisplay.from_path(one).against == "C"


def test_a_drawing_of_a_path_says_what_it_lacks(along):
    penalties, radii = along
    with pytest.raises(ValueError, match="against='size' is not known"):
        penalties.plot(against="size")
    with pytest.raises(ValueError, match="feature_names has 2 names"):
        penalties.plot(feature_names=["a", "b"])
    with pytest.raises(ValueError, match="No point of C 1 has a ramp"):
        radii.plot(against="ramp")


def test_missing_matplotlib_is_said(cancer, monkeypatch):
    model = RobustLinearSVC().fit(*cancer)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"wideberth\[plots\]"):
        CertifiedAccuracyDisplay.from_estimator(model, *cancer)
