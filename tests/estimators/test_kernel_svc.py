"""`RobustKernelSVC`: the short spelling of a kernel step and a robust classifier."""

from itertools import islice

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from wideberth import (
    NullModelWarning,
    RobustKernelSVC,
    RobustLinearSVC,
    make_robust_pipeline,
    open_data,
    robust_scorer,
)
from wideberth.estimators.drawn import Drawn
from wideberth.estimators.kernel_svc import landmark_order
from wideberth.estimators.training import TrainingRows


@pytest.fixture(scope="module")
def moons():
    return make_moons(150, noise=0.15, random_state=0)


def test_it_is_the_pipeline_of_its_parts(moons):
    X, y = moons
    noise = X.std(axis=0)
    model = RobustKernelSVC(5.0, 0.1, noise=noise, tol=1e-10).fit(X, y)
    step = Nystroem(gamma=model.gamma_, n_components=150)
    long = make_robust_pipeline(step, RobustLinearSVC(5.0, 0.1, noise=noise, tol=1e-10))
    long.fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), long.decision_function(X), atol=1e-5
    )
    np.testing.assert_allclose(
        model.certified_radius(X), long.certified_radius(X), atol=1e-5
    )
    assert model.robust_score(X, y) == long.robust_score(X, y)


@pytest.mark.parametrize("with_errors", [False, True])
def test_a_scaler_before_it_keeps_noise_in_raw_units(with_errors):
    X, y = load_iris(return_X_y=True)
    X = X * [1.0, 10.0, 0.1, 1.0]
    rng = np.random.default_rng(0)
    errors = {"X_err": 0.05 * X * rng.random(X.shape)} if with_errors else {}
    noise = "l2" if with_errors else 0.2 * X.std(axis=0)
    parts = RobustKernelSVC(5.0, 0.5, noise=noise, n_components=40)
    model = make_robust_pipeline(StandardScaler(), parts).fit(X, y, **errors)
    scaled = StandardScaler().fit(X)
    alone = {name: E / scaled.scale_ for name, E in errors.items()}
    own = clone(parts).set_params(noise="l2" if with_errors else noise / scaled.scale_)
    own.fit(scaled.transform(X), y, **alone)
    radii = model.certified_radius(X, **errors)
    expected = own.certified_radius(scaled.transform(X), **alone)
    np.testing.assert_allclose(radii, expected, rtol=1e-6)
    labels = model.predict(X)
    moves = model.worst_case(X, labels, radius=0.999 * radii, **errors)
    np.testing.assert_array_equal(model.predict(X + moves), labels)


def test_without_a_model_there_are_scores(moons):
    grid = {"C": [0.1, 10.0], "gamma": [0.1, 1.0], "n_components": 20}
    alone = RobustKernelSVC(**grid, solver_options={"refit": False}).fit(*moons)
    whole = RobustKernelSVC(**grid).fit(*moons)
    np.testing.assert_array_equal(alone.cv_scores_, whole.cv_scores_)
    assert alone.C_ == whole.C_
    assert not hasattr(alone, "coef_")


def test_with_all_landmarks_and_no_noise_it_is_the_svm(moons):
    X, y = moons
    model = RobustKernelSVC(2.0, tol=1e-9).fit(X, y)
    svm = SVC(C=2.0, tol=1e-9).fit(X, y)
    assert model.gamma_ == pytest.approx(svm._gamma)
    np.testing.assert_allclose(
        model.decision_function(X), svm.decision_function(X), atol=1e-3
    )


def test_error_bars_go_by_the_names_of_columns():
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    rng = np.random.default_rng(0)
    E = pd.DataFrame(rng.uniform(0.05, 0.3, X.shape), columns=X.columns)
    model = RobustKernelSVC(10.0).fit(X, y, X_err=E)
    assert model.radius_ == 1.0
    mixed = E[E.columns[::-1]]
    radii = model.certified_radius(X, X_err=mixed)
    np.testing.assert_allclose(radii, model.certified_radius(X, X_err=E))
    assert model.robust_score(X, y, X_err=E) == np.mean(
        (radii > 1) & (model.predict(X) == y)
    )
    with pytest.raises(ValueError, match="X_err must be given"):
        model.certified_radius(X)


def test_samples_of_weight_zero_might_as_well_be_absent(moons):
    X, y = moons
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    one = RobustKernelSVC(tol=1e-9).fit(X, y, sample_weight=weight)
    other = RobustKernelSVC(tol=1e-9).fit(X[weight > 0], y[weight > 0])
    assert one.gamma_ == pytest.approx(other.gamma_)
    assert one.n_components_ == other.n_components_ == 100
    np.testing.assert_allclose(
        one.decision_function(X), other.decision_function(X), atol=1e-5
    )


def test_landmarks_differ_and_lie_apart():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, size=(500, 2)).astype(float)
    rows = [*landmark_order(X + 1e3, 0.5, 0)]
    assert len({*map(tuple, X[rows])}) == len(rows) == 36  # that is all there are
    clusters = (
        rng.normal(scale=1e-3, size=(400, 2)) + 10 * (np.arange(400) % 20 > 18)[:, None]
    )
    first = [*islice(landmark_order(clusters, 1.0, 0), 2)]
    assert np.ptp(clusters[first, 0]) > 5  # the small cluster has one, too


def test_more_landmarks_are_taken_where_they_explain_more(moons):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(900, 2))
    simple = RobustKernelSVC(10.0, gamma=1.0).fit(X, X[:, 0] > 0)
    board = np.floor(6 * X).sum(axis=1) % 2
    harder = RobustKernelSVC(10.0, gamma=30.0).fit(X, board)
    assert simple.n_components_ == 256
    assert harder.n_components_ > 256
    few = RobustKernelSVC(10.0, gamma=30.0, n_components=256).fit(X, board)
    new = rng.uniform(-1, 1, size=(2000, 2))
    truth = np.floor(6 * new).sum(axis=1) % 2
    assert harder.score(new, truth) > few.score(new, truth)


@pytest.mark.filterwarnings("ignore::wideberth.NullModelWarning")
@pytest.mark.parametrize("scoring", [None, robust_scorer(0.1), "roc_auc"])
def test_a_list_is_searched_as_by_scikit_learn(moons, scoring):
    X, y = moons
    grid = {"C": [0.1, 10.0], "gamma": ["scale", 5.0], "radius": [0.0, 0.05]}
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    options = {"n_components": 40, "scoring": scoring, "cv": cv}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wideberth.estimators.kernel_svc._CHOICE_TOL", 1e-6)
        model = RobustKernelSVC(**grid, **options, tol=1e-6).fit(X, y)
    alone = RobustKernelSVC(n_components=40, tol=1e-6)
    search = GridSearchCV(alone, grid, cv=cv, scoring=scoring).fit(X, y)
    parts = [search.cv_results_[f"split{k}_test_score"] for k in range(3)]
    scores = np.stack(parts, axis=-1).reshape(2, 2, 2, 3)
    np.testing.assert_allclose(model.cv_scores_, scores, atol=1e-9)
    best = search.best_params_
    assert (model.C_, model.radius_) == (best["C"], best["radius"])
    assert model.gamma_ == search.best_estimator_.gamma_
    np.testing.assert_allclose(
        model.decision_function(X), search.decision_function(X), atol=1e-4
    )


def test_radii_are_chosen_beside_error_bars(moons):
    X, y = moons
    E = np.random.default_rng(0).uniform(0.01, 0.15, X.shape)
    model = RobustKernelSVC([0.1, 10.0], [0.0, 1.0], scoring=robust_scorer(1.0), cv=3)
    model.fit(X, y, X_err=E)
    assert model.cv_scores_.shape == (2, 1, 2, 3)
    assert model.robust_score(X, y, 1.0, X_err=E) > 0.6
    with pytest.raises(ValueError, match="radius is given to fit"):
        model.fit(X, y, radius=0.1)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"gamma": "auto"}, "gamma='auto'"),
        ({"gamma": 0.0}, "gamma=0"),
        ({"n_components": 0}, "n_components=0"),
        ({"n_components": "many"}, "n_components='many'"),
        ({"C": []}, "a value to choose from"),
        ({"C": [1.0, -1.0]}, "C=-1.0"),
        ({"radius": -1.0}, "radius"),
        ({"solver_options": {"speed": 1}}, "speed"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(moons, params, message):
    with pytest.raises(ValueError, match=message):
        RobustKernelSVC(**params).fit(*moons)


# -- data in chunks --------------------------------------------------------------------

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Three classes, one of them rare, in a Parquet file and as a frame."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.where(np.square(X).sum(axis=1) > 2.5, "far", "near").astype(object)
    X[:12], y[:12] = X[:12] / 5 + 4, "rare"
    frame = pd.DataFrame(X, columns=NAMES)
    frame["label"], frame["weight"] = y, rng.uniform(0, 2, size=900).round()
    frame["radius"] = rng.uniform(0, 0.05, size=900)
    for name in NAMES:
        frame[f"{name}_err"] = rng.uniform(0.01, 0.05, size=900)
    path = tmp_path_factory.mktemp("table") / "table.parquet"
    frame.to_parquet(path)
    return path, frame


def in_chunks(table, beside=None, **more):
    """Columns of the file, in many chunks."""
    columns = None if "X_err" in more else NAMES
    given = {name: name.replace("sample_", "") for name in beside or ()}
    source = open_data(table[0], "label", columns=columns, **given, **more)
    source.growth = 1e4
    return source


CHUNKED = {
    "noise": ({"radius": 0.05, "noise": {"a": 1.0, "c": 0.1, "b": 0.5}}, ()),
    "weights": ({"class_weight": "balanced"}, ("sample_weight",)),
    "radii of rows": ({}, ("radius",)),
}


@pytest.mark.parametrize("case", CHUNKED)
def test_chunks_train_the_model_that_memory_does(table, case):
    params, beside = CHUNKED[case]
    model = RobustKernelSVC(10.0, **{"tol": 1e-8, "n_components": 60} | params)
    frame = table[1]
    given = {name: frame[name.replace("sample_", "")].to_numpy() for name in beside}
    one = clone(model).fit(frame[NAMES], frame["label"], **given)
    assert one.score(frame[NAMES], frame["label"]) > 0.9
    source = in_chunks(table, beside)
    other = clone(model).fit(source)
    assert other.gamma_ == pytest.approx(one.gamma_, rel=1e-12)
    np.testing.assert_array_equal(
        other.curved_.curve.landmarks, one.curved_.curve.landmarks
    )
    np.testing.assert_allclose(
        other.decision_function(in_chunks(table)),
        one.decision_function(frame[NAMES]),
        atol=2e-3,
    )
    assert other.radius_ == one.radius_
    radii = [model.certified_radius(frame[NAMES]) for model in (one, other)]
    np.testing.assert_allclose(*radii, atol=1e-2)
    chunks = [*other.stream(in_chunks(table), "predict", "certified_radius")]
    np.testing.assert_allclose(
        np.concatenate([chunk["certified_radius"] for chunk in chunks]), radii[1]
    )


def test_chunks_bring_errors_and_are_searched(table):
    path, frame = table
    columns = {name: f"{name}_err" for name in NAMES}
    errors = frame[[*columns.values()]].set_axis(NAMES, axis=1)
    model = RobustKernelSVC([0.1, 10.0], gamma=["scale", 1.0], tol=1e-8)
    model.set_params(n_components=60)
    one = clone(model).fit(frame[NAMES], frame["label"], X_err=errors)
    other = clone(model).fit(in_chunks(table, X_err=columns))
    assert (other.C_, other.gamma_) == pytest.approx((one.C_, one.gamma_))
    np.testing.assert_allclose(other.cv_scores_, one.cv_scores_)
    np.testing.assert_allclose(
        other.certified_radius(path, X_err=columns),
        one.certified_radius(frame[NAMES], X_err=errors),
        atol=1e-2,
    )
    with pytest.raises(ValueError, match="cv=3 needs the data in memory"):
        clone(model).set_params(cv=3).fit(in_chunks(table))


def test_a_warning_has_no_radius_in_the_units_of_the_kernel(moons):
    for data in (moons, (lambda: iter([moons]),)):
        with pytest.warns(NullModelWarning, match=r"about y\. Choose a smaller radius"):
            RobustKernelSVC(radius=10.0).fit(*data)


@pytest.mark.parametrize("seed", range(3))
def test_rare_classes_are_drawn_and_weigh_what_they_are(monkeypatch, seed):
    monkeypatch.setattr("wideberth.estimators.drawn.MOST_ROWS", 400)
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20_000, 2)), rng.random(20_000) < 0.01
    weight = rng.integers(3, size=len(y)).astype(float)
    data = TrainingRows.of(X, y, weight)
    drawn = Drawn.of(data, seed)
    rare, positive = drawn.rows.y, y & (weight > 0)
    assert rare.sum() == 100
    assert 390 <= drawn.rows.n <= 400
    assert not drawn.complete
    assert drawn.rows.weight.min() > 0
    share = drawn.rows.weight[rare].sum() / drawn.rows.weight.sum()
    assert share == pytest.approx(weight[positive].sum() / weight.sum(), rel=0.3)
    few = Drawn.of(data.take(slice(300)), seed)
    assert few.complete
    assert few.rows.n == np.sum(weight[:300] > 0)


def test_a_class_that_is_rare_among_many_rows_is_learned():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12_000, 2))
    y = np.zeros(len(X), dtype=int)
    X[:15], y[:15] = rng.normal(size=(15, 2)) * 0.1 + 6, 1
    model = RobustKernelSVC([1.0, 100.0], gamma=0.5).fit(X, y)
    assert model.predict([[6.0, 6.0]]) == 1
