"""A fitted model knows the radius it was trained with, and asks where it cannot."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import RobustLinearSVC, RobustLinearSVCCV, make_robust_pipeline
from wideberth.data import open_data
from wideberth.plotting import CertifiedAccuracyDisplay, MarginDisplay

RNG = np.random.default_rng(5)
Y = np.repeat([0, 1], 40)
X = RNG.normal(size=(80, 2)) + 1.5 * Y[:, None]
RADII = RNG.uniform(0.05, 1.0, 80)
GRID = {"Cs": [0.1, 1.0], "radii": [0.5], "cv": 2}


def asks(model, X=X, y=Y):
    """Whether both methods that need radii ask for them, and take them."""
    for method in (model.robust_score, model.worst_case):
        with pytest.raises(ValueError, match=r"radius must be given.*per sample"):
            method(X, y)
        method(X, y, RADII)
    return True


def same_as(model, radius):
    """Whether a model judges by this radius, which makes a difference here."""
    found = model.robust_score(X, Y)
    assert model.robust_score(X, Y, 0.0) > found
    np.testing.assert_array_equal(
        model.worst_case(X, Y), model.worst_case(X, Y, radius)
    )
    return found == model.robust_score(X, Y, radius)


def test_a_model_trained_with_radii_per_sample_asks_for_them():
    model = RobustLinearSVC().fit(X, Y, radius=RADII)
    assert model.radius_ is None
    assert asks(model)
    assert asks(pickle.loads(pickle.dumps(model)))


def test_a_number_or_dict_given_to_fit_is_the_radius_trained_with():
    assert same_as(RobustLinearSVC(radius=0.7).fit(X, Y), 0.7)
    model = RobustLinearSVC().fit(X, Y, radius=0.7)
    assert model.radius_ == 0.7
    assert same_as(model, 0.7)
    # What is set later is for the next fit.
    assert same_as(model.set_params(radius=0.1), 0.7)
    # A second fit forgets the first.
    assert asks(model.fit(X, Y, radius=RADII))


def test_a_search_judges_by_the_radius_of_the_model_it_chose():
    assert same_as(RobustLinearSVCCV(**GRID).fit(X, Y), 0.5)
    assert same_as(RobustLinearSVCCV(**GRID).fit(X, Y, radius=1.6), 0.8)
    assert asks(RobustLinearSVCCV(**GRID).fit(X, Y, radius=RADII))


def test_a_search_hands_scorers_models_that_know_their_radius():
    seen = []

    def robust(model, X, y):
        seen.append(model.radius_)
        return model.robust_score(X, y)

    RobustLinearSVCCV(**GRID, scoring=robust).fit(X, Y, radius=1.6)
    assert set(seen) == {0.8}
    with pytest.raises(ValueError, match="radius must be given"):
        RobustLinearSVCCV(**GRID, scoring=robust).fit(X, Y, radius=RADII)


def test_pipelines_and_routed_radii_ask_too():
    steps = StandardScaler(), RobustLinearSVC()
    model = make_robust_pipeline(*steps)
    assert asks(model.fit(X, Y, robustlinearsvc__radius=RADII))
    assert same_as(model.fit(X, Y, robustlinearsvc__radius=0.7), 0.7)
    plain = make_pipeline(*steps).fit(X, Y, robustlinearsvc__radius=RADII)
    assert asks(plain[-1], StandardScaler().fit_transform(X))
    with config_context(enable_metadata_routing=True):
        routed = RobustLinearSVC().set_fit_request(radius=True)
        search = GridSearchCV(
            routed, {"C": [1.0]}, cv=2, error_score="raise",
            scoring=lambda model, X, y: model.robust_score(X, y),
        )  # fmt: skip
        with pytest.raises(ValueError, match="radius must be given"):
            search.fit(X, Y, radius=RADII)


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "r.npy", RADII)
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "y": Y, "r": RADII})
    pq.write_table(table, tmp_path / "t.parquet")
    lines = (f"{k} 1:{a} 2:{b}\n" for k, (a, b) in zip(Y, X.tolist(), strict=True))
    (tmp_path / "t.svm").write_text("".join(lines))
    return tmp_path


def chunks():
    for rows in (slice(0, 80, 2), slice(1, 80, 2)):
        yield X[rows], Y[rows], np.ones(40), RADII[rows]


def test_data_in_chunks_is_remembered_like_data_in_memory(files):
    each = [
        lambda model: model.fit(chunks),
        lambda model: model.fit(files / "X.npy", Y, radius=RADII),
        lambda model: model.fit(open_data(files / "X.npy", Y, radius=files / "r.npy")),
        lambda model: model.fit(files / "t.parquet", "y", radius="r"),
        lambda model: model.fit(open_data(files / "t.parquet", "y", radius="r")),
        lambda model: model.fit(open_data(files / "t.svm", radius=RADII)),
    ]
    for fit in each:
        model = fit(RobustLinearSVC(radius=0.3))
        vars(model).pop("feature_names_in_", None)
        assert model.radius_ is None
        assert asks(model)
    assert same_as(RobustLinearSVC(radius=0.7).fit(files / "X.npy", Y), 0.7)
    assert same_as(RobustLinearSVC().fit(files / "X.npy", Y, radius=0.7), 0.7)


def test_displays_mark_no_radius_that_was_not_trained_with():
    model = RobustLinearSVC(radius=0.3).fit(X, Y, radius=RADII)
    assert CertifiedAccuracyDisplay.from_estimator(model, X, Y).trained_radius is None
    with pytest.raises(ValueError, match="radius must be given"):
        MarginDisplay.from_estimator(model, X, Y)
    np.testing.assert_array_equal(
        MarginDisplay.from_estimator(model, X, Y, radius=RADII).radii, RADII
    )
    search = RobustLinearSVCCV(**GRID).fit(X, Y)
    assert CertifiedAccuracyDisplay.from_estimator(search, X, Y).trained_radius == 0.5
