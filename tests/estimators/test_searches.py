"""Searches over these estimators: scorers, warnings, refits."""

import inspect
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
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


def test_a_search_says_once_what_its_folds_repeat():
    search = RobustLinearSVCCV([1.0, 2.0], [50.0])
    said = warned(lambda: search.fit(X, Y))
    assert len(said) == len(set(said)) == 3  # of the chosen model, for each class
    few, y = X[::3], Y[::3] == 1
    model = MeasuredSVC(radius=80, probability=True, n_components=1)
    (said,) = warned(lambda: model.fit(few, y, X_err=np.ones_like(few)))
    assert "The critical radius (one for all samples)" in said


def test_an_ordinary_svm_says_that_it_is_one():
    assert "ordinary" in repr(RobustLinearSVC())
    assert "ordinary" in repr(RobustLinearSVC(radius=0.0))
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
