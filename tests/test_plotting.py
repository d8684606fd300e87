import sys

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_blobs
from sklearn.preprocessing import StandardScaler, scale

mpl.use("Agg")

from matplotlib import pyplot as plt

from wideberth import RobustLinearSVC, make_robust_pipeline
from wideberth.plotting import (
    CertifiedAccuracyDisplay,
    MarginDisplay,
    ScreeningDisplay,
)


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


def test_screening_display_ends_with_what_the_fit_reports(cancer):
    model = RobustLinearSVC(radius=0.05).fit(*cancer)
    display = ScreeningDisplay.from_estimator(model)
    assert display.removed[-1] == model.screening_[0]["removed"] > 0.5
    assert display.saturated[-1] == model.screening_[0]["saturated"]
    assert display.iterations[-1] == model.n_iter_[0]
    shown = [text.get_text() for text in display.figure_.axes[1].legend_.get_texts()]
    assert shown == ["removed", "saturated", "undecided", "relative gap"]
    display.figure_.canvas.draw()


def test_screening_display_names_the_class(blobs):
    X, y = blobs
    model = RobustLinearSVC().fit(X, np.array(["a", "b", "c"])[y])
    display = ScreeningDisplay.from_estimator(model, label="b")
    assert display.ax_.get_title() == "b against the rest"
    with pytest.raises(ValueError, match="label='d' is not one of the classes"):
        ScreeningDisplay.from_estimator(model, label="d")


@pytest.mark.filterwarnings("ignore::wideberth.NullModelWarning")
def test_screening_display_says_when_there_is_nothing_to_draw(cancer):
    model = RobustLinearSVC(warm_start=True, fit_intercept=False).fit(*cancer)
    model.fit(*cancer)  # at the solution there is nothing to do
    with pytest.raises(ValueError, match="has no trace"):
        ScreeningDisplay.from_estimator(model)


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


def test_margins_need_two_features(cancer):
    model = RobustLinearSVC().fit(*cancer)
    with pytest.raises(ValueError, match="it must have two columns"):
        MarginDisplay.from_estimator(model, *cancer)


def test_missing_matplotlib_is_said(cancer, monkeypatch):
    model = RobustLinearSVC().fit(*cancer)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"wideberth\[plots\]"):
        ScreeningDisplay.from_estimator(model)
