"""Labels: two classes of any kind on every road, and classes that do not occur."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import KFold, cross_val_score

from arguments import FITTED, FRAME, POSITIVE, ROADS, D, N, X, Y, masked, with_gap
from wideberth import RobustLinearSVC, RobustLinearSVCCV, path, solve
from wideberth._screen import screen
from wideberth.data import DataError
from wideberth.problem import Problem

# -- y ---------------------------------------------------------------------------------


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("data", [X, FRAME, sp.csr_array(X)])
def test_labels_that_are_missing_are_asked_for(data, road):
    with pytest.raises(ValueError, match=r"y is None|requires y to be passed"):
        ROADS[road](data, None)


NO_LABELS = {
    "short": (Y[:9], r"y has shape \(9,\).*shape \(60,\)"),
    "masked": (masked(Y), "y is a masked array"),
    "mixed": (np.array([1, "a"] * 30, dtype=object), r"y mixes numbers \(1\) and text"),
    "gap": (with_gap(Y), "y has no label at row 1|y contains NaN"),
    "None": (np.array([None, *Y[1:]]), r"y has no label at row 0 \(None\)"),
    "NaN": (np.where(np.arange(N) == 3, np.nan, Y), "y has no label|y contains NaN"),
    "lists": (pd.Series([[1.0], [-1.0]] * 30), "y holds an object of type"),
    "dicts": (np.array([{}, {"a": 1}] * 30), "y holds an object of type"),
    "one class": (np.ones(N), "y holds (a single class|1 class)"),
    "numbers": (X[:, 0], "look like measurements|continuous"),
    "complex": (Y + 1j, "y has dtype complex|Complex data not supported"),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("case", NO_LABELS)
def test_what_is_no_label_is_refused_on_every_road(case, road):
    labels, said = NO_LABELS[case]
    with pytest.raises(ValueError, match=said):
        ROADS[road](X, labels)


LABELS = {
    "numbers": (Y, [-1, 1]),
    "0 and 1": (POSITIVE.astype(int), [0, 1]),
    "unsigned": (POSITIVE.astype(np.uint8), [0, 1]),
    "truth values": (POSITIVE, [False, True]),
    "text": (np.where(POSITIVE, "yes", "no"), ["no", "yes"]),
    "objects": (Y.astype(object), [-1, 1]),
    "text in objects": (np.where(POSITIVE, "b", "a").astype(object), ["a", "b"]),
    "categories": (pd.Series(np.where(POSITIVE, "b", "a"), dtype="category"), "ab"),
    "nullable": (pd.Series(Y).astype("Int64"), [-1, 1]),
    "list": (np.where(POSITIVE, 7, 3).tolist(), [3, 7]),
}


@pytest.mark.parametrize("case", LABELS)
def test_two_classes_of_any_kind_are_plus_and_minus_one_in_memory(case):
    labels, classes = LABELS[case]
    expected = solve(X, Y, radius=0.1, fit_intercept=False)
    found = solve(X, labels, radius=0.1, fit_intercept=False)
    np.testing.assert_array_equal(found.w, expected.w)
    assert found.classes.tolist() == list(classes)
    assert path(X, labels, Cs=[1.0], fit_intercept=False).classes.tolist() == list(
        classes
    )
    problem = Problem.from_data(X, labels)
    np.testing.assert_array_equal(problem.y, Y)
    assert problem.classes.tolist() == list(classes)
    given = {"w": expected.w, "alpha": expected.alpha, "fit_intercept": False}
    decided = screen(X, labels, C=1.0, radius=0.1, **given)
    again = screen(X, Y, C=1.0, radius=0.1, **given)
    np.testing.assert_array_equal(decided.removed, again.removed)
    model = RobustLinearSVC().fit(X, labels)
    assert model.classes_.tolist() == list(classes)
    assert model.score(X, labels) > 0.8


@pytest.mark.parametrize("road", ["solve", "path", "screen", "Problem"])
def test_more_than_two_classes_are_the_estimators(road):
    with pytest.raises(ValueError, match=r"3 classes \(0, 1, 2\).*RobustLinearSVC"):
        ROADS[road](X, np.arange(N) % 3)


def test_a_third_class_in_a_later_chunk_is_noticed():
    first, second = LABELS["text"][0], np.full(N, "maybe")
    said = "chunk 1: row 0 has the label maybe; solve needs exactly two.*'no' and 'yes'"
    with pytest.raises(DataError, match=said):
        solve([(X, first), (X, second)], fit_intercept=False)
    with pytest.raises(DataError, match=r"row 0 has no label \(nan\)"):
        solve([(X, Y.astype(float)), (X, np.full(N, np.nan))], fit_intercept=False)


def test_a_column_of_labels_is_taken_with_a_warning():
    for road in ROADS.values():
        with pytest.warns(DataConversionWarning):
            road(X, Y[:, None])


# -- classes by name -------------------------------------------------------------------


@pytest.mark.parametrize("y", [Y, da.from_array(Y, chunks=30)])
def test_weights_of_unknown_classes_are_an_error_that_lists_them(y):
    data = X if y is Y else da.from_array(X, chunks=(30, D))
    said = r"class_weight has entries for \[7, 'a'\].*its classes are \[-1, 1\]"
    with pytest.raises(ValueError, match=said):
        RobustLinearSVC(class_weight={1: 2.0, 7: 3.0, "a": 1.0}).fit(data, y)
    spare = {-1: 0.1, 1: 0.2, 7: 0.3}
    with pytest.warns(UserWarning, match=r"class_weight has entries for \[7\]"):
        RobustLinearSVC(class_weight=spare).fit(data, y)
    search = RobustLinearSVCCV(Cs=[1.0], class_weight={7: 2.0})
    with pytest.raises(ValueError, match=r"class_weight has entries for \[7\]"):
        search.fit(X, Y)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fold_without_a_class_does_not_fail_a_cross_validation():
    three = np.repeat([0, 1, 2], 20)  # each fold trains on two of them
    folds = KFold(3)
    partial, full = {2: 5.0}, {0: 1.0, 1: 1.0, 2: 5.0}
    for table in (partial, full):
        search = RobustLinearSVCCV(Cs=[1.0], cv=folds, class_weight=table)
        assert np.isfinite(search.fit(X, three).scores_).all()
    model = RobustLinearSVC(class_weight=full, radius=0.1)
    scores = cross_val_score(model, X, three, cv=folds, error_score="raise")
    assert np.isfinite(scores).all()


METHODS = {
    "score": FITTED.score,
    "robust_score": FITTED.robust_score,
    "worst_case": FITTED.worst_case,
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", ["short", "masked", "mixed", "None", "NaN"])
def test_scores_refuse_what_is_no_label(case, method):
    labels, said = NO_LABELS[case]
    with pytest.raises(ValueError, match=said):
        METHODS[method](X, labels)


@pytest.mark.parametrize("method", METHODS)
def test_scores_ask_for_labels_and_for_those_of_the_model(method):
    with pytest.raises(ValueError, match="y is None; give one label per row"):
        METHODS[method](X, None)
    with pytest.raises(ValueError, match=r"y holds text such as '(no|yes)'.*\[-1, 1\]"):
        METHODS[method](X, LABELS["text"][0])
    named = RobustLinearSVC().fit(X, LABELS["text"][0])
    with pytest.raises(ValueError, match=r"y holds numbers such as -?1.*\['no', 'yes'"):
        getattr(named, method)(X, Y)


def test_unknown_labels_of_the_same_kind_count_as_wrong():
    model = RobustLinearSVC().fit(X, LABELS["text"][0])
    stranger = np.where(np.arange(N) < 30, "maybe", LABELS["text"][0])
    assert model.robust_score(X, stranger, 0.0) == model.score(X, stranger) <= 0.5
    mostly = np.where(np.arange(N) < 30, 9, Y)
    assert FITTED.robust_score(X, mostly.astype(object), 0.0) <= 0.5
    assert FITTED.robust_score(X, Y.astype(float)) == FITTED.robust_score(X, Y)
