"""Searches of scikit-learn over these estimators: scorers, warnings, refits."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from wideberth import (
    MeasuredSVC,
    NullModelWarning,
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    robust_scorer,
)

X, Y = load_iris(return_X_y=True)


def test_searches_of_scikit_learn_and_ours_choose_the_same_by_robust_scorer():
    grid = {"radius": [0.0, 0.1, 0.3]}
    search = GridSearchCV(RobustLinearSVC(), grid, scoring=robust_scorer(radius=0.2))
    search.fit(X, Y)
    own = RobustLinearSVCCV([1.0], grid["radius"], scoring=robust_scorer(0.2)).fit(X, Y)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"]
    )
    assert search.best_params_["radius"] == own.radius_
    by_class = robust_scorer({0: 0.1, 1: 0.2, 2: 0.3})
    for scorer in (robust_scorer(), by_class):  # as trained; and one per class
        search.set_params(scoring=scorer).fit(X, Y)
        own.set_params(scoring=scorer).fit(X, Y)
        np.testing.assert_allclose(
            search.cv_results_["mean_test_score"], own.cv_results_["mean_test_score"]
        )


def test_a_scorer_without_a_radius_goes_by_that_of_training():
    model = RobustLinearSVC(radius=0.1).fit(X, Y)
    assert robust_scorer()(model, X, Y) == model.robust_score(X, Y)
    assert robust_scorer(0)(model, X, Y) == model.score(X, Y)
    assert clone(robust_scorer(0.3)).radius == 0.3
    with pytest.raises(TypeError, match="LinearSVC has no robust_score"):
        robust_scorer(0.1)(LinearSVC().fit(X, Y), X, Y)


def warned(act, category=NullModelWarning):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if issubclass(w.category, category)]


def test_a_search_warns_once_not_once_for_every_fold():
    noisy = RobustLinearSVC(radius=50)
    pipeline = make_robust_pipeline(StandardScaler(), noisy)
    for model in (noisy, pipeline):
        said = warned(lambda m=model: cross_val_score(m, X, Y))
        assert len(said) == 1
        assert "Some models of this search are w = 0" in said[0]
        assert len(warned(lambda m=model: cross_val_score(m, X, Y))) == 1  # once more
    search = GridSearchCV(noisy, {"C": [1, 2]})
    said = warned(lambda: search.fit(X, Y))
    # What the model fitted to all data has to say is said in full.
    assert sum("this search" in text for text in said) == 1
    assert sum("critical uniform radius" in text for text in said) == 3
    hasty = RobustLinearSVC(solver_options={"max_iter": 1}, tol=1e-12)
    said = warned(lambda: cross_val_score(hasty, X, Y), ConvergenceWarning)
    assert len(said) == 1
    assert "not proven to tol" in said[0]


def test_measurements_warn_once_of_their_folds():
    y = Y == 1
    model = MeasuredSVC(radius=80, probability=True)
    said = warned(lambda: model.fit(X, y, X_err=np.ones_like(X)))
    assert len(said) == 2  # of the folds, and of the model itself
    assert sum("this search" in text for text in said) == 1


def test_an_ordinary_svm_says_that_it_is_one():
    assert "ordinary" in repr(RobustLinearSVC())
    assert "ordinary" in repr(RobustLinearSVC(radius=0.0))
    assert "ordinary" in repr(RobustLinearSVC(radius={0: 0, 1: 0.0, 2: 0}))
    for robust in (
        RobustLinearSVC(radius=0.1),
        RobustLinearSVC(norm_penalty=1.0),
        RobustLinearSVC(ramp=-1.0),
        RobustLinearSVC(noise=np.ones(2)),
        RobustLinearSVC().fit(X, Y, radius=np.full(len(Y), 0.1)),
    ):
        assert "ordinary" not in repr(robust)
    assert "an ordinary SVM: radius is 0" in repr(RobustLinearSVC().fit(X, Y))
    assert "ordinary" in inspect.getdoc(RobustLinearSVC)
    # A line of Python, and within others what it was.
    assert eval(repr(RobustLinearSVC(C=2))).C == 2
    assert "#" not in repr(make_robust_pipeline(StandardScaler(), RobustLinearSVC()))


def test_new_rows_are_learnt_from_the_last_fit():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2040, 20))
    y = rows[:, 0] + 0.7 * rng.normal(size=2040) > 0
    model = RobustLinearSVC(radius=0.1, solver_options={"warm_start": True}, tol=1e-8)
    model.fit(rows[:2000], y[:2000]).fit(rows, y)
    fresh = RobustLinearSVC(radius=0.1, tol=1e-8).fit(rows, y)
    np.testing.assert_allclose(model.coef_, fresh.coef_, atol=1e-4)
    passes = [m.screening_[0]["trace"][-1]["passes"] for m in (model, fresh)]
    assert passes[0] < 0.7 * passes[1]
