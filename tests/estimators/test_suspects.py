"""`ramp` in the estimators: suspects, searches, what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from support.ramp import wrong_labels
from wideberth import (
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    path,
    solve,
)
from wideberth.certify import label_distances


@pytest.fixture(scope="module")
def flipped():
    return wrong_labels(0, n=200, d=3, share=0.1, separation=3.0)


def test_flipped_labels_are_the_suspects(flipped):
    X, y, wrong = flipped
    model = RobustLinearSVC(C=0.5, radius=0.2, ramp=-1.0).fit(X, y)
    suspects = model.suspects_
    assert np.isin(suspects["sample"], wrong).mean() > 0.9
    assert np.isin(wrong, suspects["sample"]).mean() > 0.9
    np.testing.assert_array_equal(suspects["label"], y[suspects["sample"]])
    np.testing.assert_array_equal(suspects["predicted"], -suspects["label"])
    assert np.all(np.diff(suspects["distance"]) <= 0)
    rows = X[suspects["sample"]]
    np.testing.assert_allclose(suspects["distance"], model.certified_radius(rows))
    np.testing.assert_allclose(suspects["noises"], suspects["distance"] / 0.2)
    again = solve(X, y, C=0.5, radius=0.2, ramp=-1.0, tol=1e-4)
    assert set(suspects["sample"]) <= set(np.flatnonzero(again.descent.left_out))


def test_who_is_left_out_but_predicted_right_is_no_suspect(flipped):
    X, y, _ = flipped
    model = RobustLinearSVC(C=0.5, radius=1.5, ramp=0.0).fit(X, y)
    out = solve(X, y, C=0.5, radius=1.5, ramp=0.0, tol=1e-4).descent.left_out
    right = model.predict(X) == y
    assert (out & right).any()
    assert not right[model.suspects_["sample"]].any()


def test_a_model_that_tells_nothing_disbelieves_nobody(flipped):
    X, y, _ = flipped
    model = RobustLinearSVC(C=1e-4, ramp=0.0)
    with pytest.warns(UserWarning, match="the ramp leaves out samples"):
        model.fit(X, y)
    assert not model.coef_.any()
    assert len(model.suspects_) == 0


def test_without_noise_distances_are_lengths(flipped):
    X, y, _ = flipped
    suspects = RobustLinearSVC(C=0.5, ramp=-1.0).fit(X, y).suspects_
    assert np.isinf(suspects["noises"]).all()
    assert np.isfinite(suspects["distance"]).all()


def test_own_errors_are_the_unit(flipped):
    X, y, _ = flipped
    errors = 0.1 + 0.2 * np.random.default_rng(0).random(X.shape)
    model = RobustLinearSVC(C=0.5, ramp=-1.0, radius=2.0).fit(X, y, X_err=errors)
    suspects = model.suspects_
    rows = suspects["sample"]
    np.testing.assert_allclose(
        suspects["distance"], model.certified_radius(X[rows], X_err=errors[rows])
    )
    np.testing.assert_allclose(suspects["noises"], suspects["distance"] / 2)


def test_a_pipeline_suspects_rows_by_distances_in_units_of_the_data(flipped):
    X, y, _ = flipped
    X = X * [1, 10, 0.1]
    svc = RobustLinearSVC(C=0.5, radius=0.5, noise=[0.2, 2.0, 0.02], ramp=-1.0)
    model = make_robust_pipeline(StandardScaler(), svc).fit(X, y)
    found = model[-1].suspects_
    assert len(found) > 10
    distance = model.certified_radius(X[found["sample"]])
    np.testing.assert_allclose(found["distance"], distance)
    np.testing.assert_allclose(found["noises"], distance / 0.5)


def test_a_model_keeps_how_it_got_there_and_forgets_it(flipped):
    X, y, wrong = flipped
    model = RobustLinearSVC(ramp=-0.5, solver_options={"starts": 2}).fit(X, y)
    found = solve(X, y, ramp=-0.5, starts=2, tol=model.tol).descent
    (kept,) = model.descent_
    assert kept["left_out"] == found.left_out.sum() >= len(wrong) / 2
    assert kept["objectives"] == pytest.approx(list(found.objectives))
    assert kept["ending"] == found.ending
    model.set_params(ramp=None).fit(X, y)
    assert not hasattr(model, "suspects_")
    assert not hasattr(model, "descent_")


def test_several_classes_and_text():
    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]
    wrong = [3, 60, 120]
    y[wrong] = ["c", "a", "a"]
    model = RobustLinearSVC(C=1.0, ramp=-1.0).fit(X, y)
    first = model.suspects_[:3]
    assert set(first["sample"]) == set(wrong)
    assert dict(zip(first["sample"], first["label"], strict=True)) == {
        3: "c",
        60: "a",
        120: "a",
    }
    predicted = model.predict(X[first["sample"]])
    np.testing.assert_array_equal(first["predicted"], predicted)
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.suspects_, model.suspects_)


def test_distances_to_a_label_are_what_it_takes():
    rng = np.random.default_rng(0)
    for classes in (2, 4):
        coef = rng.normal(size=(1 if classes == 2 else classes, 3))
        X = rng.normal(size=(50, 3))
        values = X @ coef.T
        values = values[:, 0] if classes == 2 else values
        labels = rng.integers(classes, size=50)
        found, predicted = label_distances(values, labels, coef, "l2")
        np.testing.assert_array_equal(found == 0, predicted == labels)
        for x, label, size in zip(X, labels, found, strict=True):
            moves = rng.normal(size=(300, 3))
            moves *= 0.999 * size / np.linalg.norm(moves, axis=1)[:, None]
            scores = (x + moves) @ coef.T
            winner = scores.argmax(axis=1) if classes > 2 else scores[:, 0] > 0
            assert size == 0 or not np.any(winner == label)
            if classes == 2 and size > 0:  # and a little more is enough
                towards = (2 * label - 1) * coef[0] / np.linalg.norm(coef[0])
                assert ((x + 1.001 * size * towards) @ coef[0] > 0) == label
    flat, _ = label_distances(np.array([1.0]), [0], np.array([[0.0, 1.0]]), [1.0, 0.0])
    assert np.isinf(flat[0])


def test_searches_choose_the_ramp(flipped):
    X, y, _ = flipped
    Cs, ramps = [1e-3, 0.3], [-np.inf, -1.0, 0.0]
    search = RobustLinearSVCCV(Cs=Cs, radii=[0.0, 0.1], ramps=ramps, cv=3)
    search.fit(X, y)
    assert search.scores_.shape == (3, 2, 2, 3)
    assert search.best_params_.keys() == {"C", "ramp", "radius"}
    assert search.ramp_ == search.best_params_["ramp"]
    chosen = None if search.ramp_ == -np.inf else search.ramp_
    assert search.best_estimator_.ramp == chosen
    assert len(search.cv_results_["params"]) == 12
    for k, at in enumerate(search.cv_results_["params"]):
        i, j = ramps.index(at["ramp"]), [0.0, 0.1].index(at["radius"])
        mean = search.scores_[i, j, Cs.index(at["C"])].mean()
        assert search.cv_results_["mean_test_score"][k] == pytest.approx(mean)
    hinge = RobustLinearSVCCV(Cs=Cs, radii=[0.0, 0.1], cv=3).fit(X, y)
    np.testing.assert_allclose(search.scores_[0], hinge.scores_, atol=0.02)
    assert not np.array_equal(search.scores_[0], search.scores_[2])
    zero = RobustLinearSVCCV(Cs=Cs, radii=[0.0, 0.1], ramps=[0.0], cv=3)
    np.testing.assert_array_equal(zero.fit(X, y).scores_[0], search.scores_[2])
    assert search.ramp_ < 0
    for levels in (None, [None], [-np.inf]):
        trusting = RobustLinearSVCCV(Cs=Cs, ramps=levels, cv=3).fit(X, y)
        assert trusting.ramp_ == -np.inf
        assert trusting.best_estimator_.ramp is None
        assert not hasattr(trusting, "suspects_")


@pytest.mark.parametrize("ramp", [0.5, np.nan, np.inf, "ramp", True, 1e-300])
def test_what_is_no_level_of_the_ramp_is_refused_on_every_road(flipped, ramp):
    X, y, _ = flipped
    chunks = [(X, y)]
    for train in (
        lambda: RobustLinearSVC(ramp=ramp).fit(X, y),
        lambda: RobustLinearSVC(ramp=ramp).fit(chunks),
        lambda: RobustLinearSVCCV([1.0], ramps=[ramp]).fit(X, y),
        lambda: solve(X, y, ramp=ramp),
        lambda: solve(chunks, ramp=ramp),
        lambda: path(X, y, Cs=[1.0], ramp=ramp),
    ):
        with pytest.raises(
            ValueError, match=r"ramp=.* must be None .* or a number ≤ 0"
        ):
            train()
