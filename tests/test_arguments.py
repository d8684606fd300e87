"""Arguments: what would be misread is refused in a sentence, and the rest is one rule.

Every road in memory takes the same data and labels and refuses the same; roads in
chunks take labels of the same kinds.
"""

import array_api_strict
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.exceptions import DataConversionWarning
from sklearn.model_selection import KFold, cross_val_score

from wideberth import (
    NullModelWarning,
    RobustLinearSVC,
    RobustLinearSVCCV,
    critical_radius,
    path,
    solve,
)
from wideberth._arrays import host
from wideberth.problem import Problem
from wideberth.scale import DataError, open_data
from wideberth.screening import screen

N, D = 60, 3
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=N) > 0, 1, -1)
POSITIVE = Y > 0
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
START = np.ones(D), np.zeros(N)
FITTED = RobustLinearSVC().fit(X, Y)

#: Every road that takes data in memory, as a function of X and y.
ROADS = {
    "solve": lambda X, y: solve(X, y),
    "path": lambda X, y: path(X, y, Cs=[1.0]),
    "screen": lambda X, y: screen(X, y, *START, C=1.0, radius=0.1),
    "Problem": lambda X, y: Problem.from_data(X, y),
    "RobustLinearSVC": lambda X, y: RobustLinearSVC().fit(X, y),
    "RobustLinearSVCCV": lambda X, y: RobustLinearSVCCV(Cs=[1.0]).fit(X, y),
}
IN_MEMORY = [name for name in ROADS if name not in ("solve", "RobustLinearSVC")]


def with_gap(values):
    """Nullable, the second value missing."""
    column = pd.Series(values).astype("Int64")
    column[1] = pd.NA
    return column


def masked(values):
    mask = np.zeros(np.shape(values), dtype=bool)
    mask.flat[4] = True
    return np.ma.masked_array(values, mask=mask)


# -- X ---------------------------------------------------------------------------------

MISREAD = {
    "masked": (masked(X), "X is a masked array with 1 masked entries.*filled"),
    "text": (X.astype(str), "X .*<U.*real numbers"),
    "text in objects": (X.astype(str).astype(object), r"X holds '0\.12.*real numbers"),
    "text column": (FRAME.assign(b="1"), "X holds '1'.*column 'b'"),
    "dates": (FRAME.assign(t=pd.Timestamp("2020-01-01")), "X holds .*column 't'.*days"),
    "only dates": (FRAME[["a"]].astype("M8[s]"), r"X .*datetime64\[s\].*days since"),
    "complex": (X + 1j, "X has dtype complex128.*real part"),
    "complex sparse": (sp.csr_array(X + 1j), "X has dtype complex128.*real part"),
    "nullable with a gap": (FRAME.astype("Float64").mask(FRAME > 2), "X .*(NA|NaN)"),
    "sparse with NaN": (sp.csr_array(np.where(X > 2, np.nan, X)), "X contains [nN]a"),
    "ragged": ([[1.0, 2.0]] * (N - 1) + [[1.0]], "X is a list .* differ in length"),
    "vector": (X[:, 0], "X has 1 dimension|Expected 2D array"),
    "cube": (X[:, :, None], "X has 3 dimension|dim 3"),
}


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("case", MISREAD)
def test_data_that_would_be_misread_is_refused_on_every_road(case, road):
    data, said = MISREAD[case]
    with pytest.raises(ValueError, match=said):
        ROADS[road](data, Y)


@pytest.mark.parametrize("case", ["masked", "text", "dates", "complex", "ragged"])
@pytest.mark.parametrize("method", ["predict", "decision_function", "certified_radius"])
def test_predictions_refuse_what_fit_refuses(method, case):
    data, said = MISREAD[case]
    with pytest.raises(ValueError, match=said):
        getattr(FITTED, method)(data)


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(object),
        lambda X: pd.DataFrame(X).astype("Float64"),
        lambda X: pl.DataFrame(X),
        lambda X: np.ma.masked_array(X, mask=False),
        lambda X: X.tolist(),
        array_api_strict.asarray,
    ],
)
def test_numbers_are_taken_in_whatever_they_come(change, road):
    def weights(found):
        for name in ("w", "coefs", "lower", "coef_"):
            if hasattr(found, name):
                return np.ravel(getattr(found, name))
        return found.rows.X.ravel()

    found, expected = ROADS[road](change(X), Y), ROADS[road](X, Y)
    np.testing.assert_allclose(weights(found), weights(expected), atol=1e-9)


@pytest.mark.parametrize("road", IN_MEMORY)
@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("folder", "the path 'folder'"),
        (da.from_array(X, chunks=(20, D)), "a Dask collection.*compute"),
        (dd.from_pandas(FRAME, npartitions=2), "a Dask collection.*compute"),
        ([(X, Y)], "chunks of rows"),
        (lambda: iter([(X, Y)]), "chunks of rows"),
        (open_data([(X, Y)]), "open data that is read in chunks"),
    ],
)
def test_data_in_chunks_is_refused_where_it_must_be_in_memory(data, kind, road):
    who = road if road == "RobustLinearSVCCV" else "this function"
    with pytest.raises(ValueError, match=rf"(?s)X is {kind}.*{who}|X is {kind}"):
        ROADS[road](data, Y)


def test_the_critical_radius_is_that_of_a_problem():
    for data in ("folder", X, da.from_array(X, chunks=(20, D))):
        with pytest.raises(TypeError, match=r"takes a Problem, which Problem\.from_da"):
            critical_radius(data)


def test_what_comes_beside_open_data_is_refused():
    with pytest.raises(DataError, match="X is open already, so y must have been given"):
        solve(open_data([(X, Y)]), Y)


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
    expected = solve(X, Y, radius=0.1)
    found = solve(X, labels, radius=0.1)
    np.testing.assert_array_equal(found.w, expected.w)
    assert found.classes.tolist() == list(classes)
    assert path(X, labels, Cs=[1.0]).classes.tolist() == list(classes)
    problem = Problem.from_data(X, labels)
    np.testing.assert_array_equal(problem.y, Y)
    assert problem.classes.tolist() == list(classes)
    decided = screen(X, labels, expected.w, expected.alpha, C=1.0, radius=0.1)
    again = screen(X, Y, expected.w, expected.alpha, C=1.0, radius=0.1)
    np.testing.assert_array_equal(decided.removed, again.removed)
    model = RobustLinearSVC().fit(X, labels)
    assert model.classes_.tolist() == list(classes)
    assert model.score(X, labels) > 0.8


def as_chunks(labels, _):
    return ([(X[:25], labels[:25]), (X[25:], labels[25:])],)


def as_npy(labels, folder):
    np.save(folder / "X.npy", X)
    if labels.dtype.kind == "O":
        return folder / "X.npy", labels
    np.save(folder / "y.npy", labels)
    return folder / "X.npy", folder / "y.npy"


def as_parquet(labels, folder):
    columns = dict(zip("abc", X.T, strict=True)) | {"label": labels.tolist()}
    pq.write_table(pa.table(columns), folder / "data.parquet")
    return folder / "data.parquet", "label"


def as_dask(labels, _):
    return da.from_array(X, chunks=(25, D)), da.from_array(labels, chunks=25)


def as_array(labels, _):
    moved = array_api_strict.asarray
    numbers = labels.dtype.kind in "biuf"
    return moved(X), moved(labels) if numbers else labels


def as_large_array(labels, _):
    """Large enough to be solved where it lies: each row many times, at weight 1/k."""
    moved, times = array_api_strict.asarray, 2_000
    labels = np.repeat(labels, times)
    numbers = labels.dtype.kind in "biuf"
    return moved(np.repeat(X, times, axis=0)), moved(labels) if numbers else labels


CHUNKED = [as_chunks, as_npy, as_parquet, as_dask, as_array, as_large_array]


@pytest.mark.parametrize("case", ["0 and 1", "truth values", "text", "objects"])
@pytest.mark.parametrize("source", CHUNKED)
def test_two_classes_of_any_kind_on_every_other_road(source, case, tmp_path):
    labels, classes = LABELS[case]
    expected = solve(X, Y, radius=0.1, tol=1e-9)
    C = 1 / 2_000 if source is as_large_array else 1.0
    found = solve(*source(np.asarray(labels), tmp_path), C=C, radius=0.1, tol=1e-9)
    np.testing.assert_allclose(found.w, expected.w, atol=1e-3)
    assert found.primal == pytest.approx(expected.primal, rel=1e-8)
    assert found.classes.tolist() == list(classes)


def test_labels_that_come_sorted_are_read_to_the_second_class():
    order = np.argsort(POSITIVE, kind="stable")
    rows, labels = X[order], POSITIVE[order]
    chunks = [(rows[k : k + 5], labels[k : k + 5]) for k in range(0, N, 5)]
    found = solve(chunks)
    assert found.classes.tolist() == [False, True]
    assert found.primal == pytest.approx(solve(X, Y).primal, rel=1e-6)


@pytest.mark.parametrize("road", ["solve", "path", "screen", "Problem"])
def test_more_than_two_classes_are_the_estimators(road):
    with pytest.raises(ValueError, match=r"3 classes \(0, 1, 2\).*RobustLinearSVC"):
        ROADS[road](X, np.arange(N) % 3)


def test_a_third_class_in_a_later_chunk_is_noticed():
    first, second = LABELS["text"][0], np.full(N, "maybe")
    said = "chunk 1: row 0 has the label maybe; solve needs exactly two.*'no' and 'yes'"
    with pytest.raises(DataError, match=said):
        solve([(X, first), (X, second)])
    with pytest.raises(DataError, match=r"row 0 has no label \(nan\)"):
        solve([(X, Y.astype(float)), (X, np.full(N, np.nan))])


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
    with pytest.raises(ValueError, match=r"radius has entries for \[7\]"):
        RobustLinearSVC(radius={1: 0.1, 7: 0.2}).fit(data, y)
    spare = {-1: 0.1, 1: 0.2, 7: 0.3}
    for name in ("class_weight", "radius"):
        with pytest.warns(UserWarning, match=rf"{name} has entries for \[7\]"):
            RobustLinearSVC(**{name: spare}).fit(data, y)
    search = RobustLinearSVCCV(Cs=[1.0], class_weight={7: 2.0})
    with pytest.raises(ValueError, match=r"class_weight has entries for \[7\]"):
        search.fit(X, Y)
    with pytest.raises(ValueError, match=r"radius has entries for \[7\]"):
        RobustLinearSVCCV(Cs=[1.0]).fit(X, Y, radius={1: 0.1, 7: 0.2})


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fold_without_a_class_does_not_fail_a_cross_validation():
    three = np.repeat([0, 1, 2], 20)  # each fold trains on two of them
    folds = KFold(3)
    partial, full = {2: 5.0}, {0: 1.0, 1: 1.0, 2: 5.0}
    for table in (partial, full):
        search = RobustLinearSVCCV(Cs=[1.0], cv=folds, class_weight=table)
        assert np.isfinite(search.fit(X, three).scores_).all()
    model = RobustLinearSVC(class_weight=full, radius=dict.fromkeys(range(3), 0.1))
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


# -- numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0.1", np.nan, True, 1 + 0j, None, [0.1], np.inf])
@pytest.mark.parametrize(
    "name", ["C", "tol", "max_iter", "radius", "intercept_penalty", "scoring_radius"]
)
def test_numbers_that_are_none_are_refused_by_name(name, value):
    options = {name: value}
    if name == "scoring_radius":
        if value is None:
            return
        fits = [lambda: RobustLinearSVCCV(Cs=[1.0], **options).fit(X, Y)]
    else:
        fits = [
            lambda: solve(X, Y, fit_intercept=True, **options),
            lambda: solve([(X, Y)], fit_intercept=True, **options),
            lambda: RobustLinearSVC(**options).fit(X, Y),
            lambda: RobustLinearSVC(**options).fit([(X, Y)]),
        ]
    for fit in fits:
        with pytest.raises(ValueError, match=name):
            fit()


@pytest.mark.parametrize("value", ["no", None, 2, np.nan, [True]])
def test_whether_there_is_an_intercept_is_yes_or_no(value):
    for fit in (
        lambda: solve(X, Y, fit_intercept=value),
        lambda: RobustLinearSVC(fit_intercept=value).fit(X, Y),
        lambda: path(X, Y, Cs=[1.0], fit_intercept=value),
    ):
        with pytest.raises(ValueError, match=r"fit_intercept=.* must be True or False"):
            fit()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.full(N, "0.1"), "{name}=.* is not a number"),
        (masked(np.ones(N)), "{name} is a masked array"),
        (np.ones(N) + 1j, "{name}=.* is not a number"),
        (np.ones(7), r"{name} has shape \(7,\)"),
        (-np.ones(N), "{name} is -1.0 at row 0"),
        (np.full(N, np.nan), "{name} is nan at row 0"),
        (with_gap(np.ones(N, dtype=int)), "{name} is nan at row 1|{name} holds <NA>"),
    ],
)
@pytest.mark.parametrize("name", ["sample_weight", "radius"])
def test_numbers_per_sample_are_checked_on_every_road(name, values, said):
    given = {name: values}
    for fit in (
        lambda: solve(X, Y, **given),
        lambda: path(X, Y, Cs=[1.0], **given),
        lambda: RobustLinearSVC().fit(X, Y, **given),
        lambda: RobustLinearSVCCV(Cs=[1.0]).fit(X, Y, **given),
        lambda: FITTED.robust_score(X, Y, **given),
    ):
        with pytest.raises(ValueError, match=said.format(name=name)):
            fit()


def test_grids_and_tables_of_text_are_refused():
    for options in ({"radii": ["0.1"]}, {"Cs": ["1"]}, {"Cs": 3.0}, {"Cs": True}):
        said = rf"{next(iter(options))}.*"
        with pytest.raises(ValueError, match=said):
            RobustLinearSVCCV(**{"Cs": [1.0]} | options).fit(X, Y)
        with pytest.raises(ValueError, match=said):
            path(X, Y, **options)
    for name in ("radius", "class_weight"):
        with pytest.raises(ValueError, match=f"{name} per class=.* is not a number"):
            RobustLinearSVC(**{name: {-1: "0.1", 1: 0.2}}).fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight is 0 for every sample"):
        FITTED.robust_score(X, Y, sample_weight=np.zeros(N))


@pytest.mark.parametrize("chunk", [(masked(X), Y), (X, masked(Y)), (X, Y, masked(Y))])
def test_masks_in_chunks_are_refused(chunk):
    with pytest.raises(ValueError, match="is a masked array with 1 masked entries"):
        solve([chunk])


# -- points ----------------------------------------------------------------------------

BAD_POINTS = [
    ((np.ones(D) + 1j, 0.0, None), "w of init has dtype complex128"),
    ((["1"] * D, 0.0, None), "w of init has dtype <U1"),
    ((np.ones(D), 1j, None), "b of init has dtype complex128"),
    ((np.ones(D), [0.0], None), r"b of init has shape \(1,\)"),
    ((np.ones(D), np.nan, None), "b of init must be a finite"),
    ((np.ones(D), 0.0, np.full(N, np.nan)), "alpha of init must be a finite"),
    ((np.ones(D), 0.0, np.ones(N) + 1j), "alpha of init has dtype complex128"),
    ((np.ones(D), 0.0), "init is a tuple; it must be a Solution or a tuple"),
    ("yes", "init is a str; it must be a Solution"),
]


@pytest.mark.parametrize(("init", "said"), BAD_POINTS)
def test_a_start_is_checked(init, said):
    with pytest.raises(ValueError, match=said):
        solve(X, Y, init=init)


def test_a_start_from_another_problem_fits_or_is_refused():
    narrow, few = solve(X[:, :2], Y), solve(X[:40], Y[:40])
    with pytest.raises(ValueError, match=r"w of init .* \(3,\); received shape \(2,\)"):
        solve(X, Y, init=narrow)
    with pytest.raises(ValueError, match=r"alpha of init .* received shape \(40,\)"):
        solve(X, Y, init=few)
    expected = solve(X, Y, C=3.0, noise=[1.0, 2.0, 0.5], radius=0.1)
    covariance = np.diag([1.0, 2.0, 3.0]) + 0.5
    for start in (
        solve(X, Y, noise=covariance, radius=0.2),
        solve(X, Y, noise=covariance, radius=50.0, quiet=True),
        solve(array_api_strict.asarray(X), Y),
    ):
        found = solve(X, Y, C=3.0, noise=[1.0, 2.0, 0.5], radius=0.1, init=start)
        assert found.primal == pytest.approx(expected.primal, rel=1e-6)


def test_points_of_a_problem_are_checked():
    problem = Problem.from_data(X, Y)
    for alpha, said in (
        (np.full(N, np.nan), "alpha must be a finite"),
        (np.full(N, np.inf), "alpha must be a finite"),
        (np.ones(4), r"alpha has shape \(4,\)"),
        (np.ones(N) + 1j, "alpha has dtype complex128"),
    ):
        for ask in (problem.dual_at, problem.repair):
            with pytest.raises(ValueError, match=said):
                ask(alpha)
    for w, said in (
        (np.ones(D) + 1j, "w has dtype complex128"),
        (np.ones(2), r"w has shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=said):
            problem.at(w)
        with pytest.raises(ValueError, match=r"^w "):
            screen(X, Y, w, np.zeros(N), C=1.0, radius=0.1)
    with pytest.raises(ValueError, match=r"^b must be a finite"):
        screen(X, Y, *START, C=1.0, radius=0.1, intercept=0.0, b=np.nan)


# -- one road for one array ------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2_000])
def test_an_array_of_another_library_goes_one_road(times, monkeypatch):
    """Small ones to NumPy, large ones in chunks, whoever asks."""
    from wideberth.scale import solving

    seen = []

    def watched(source, **options):
        seen.append(source)
        return solve_source(source, **options)

    solve_source = solving.solve_source
    monkeypatch.setattr(solving, "solve_source", watched)
    monkeypatch.setattr("wideberth.scale.fitting.solve_source", watched)
    data = array_api_strict.asarray(np.repeat(X, times, axis=0))
    labels = array_api_strict.asarray(np.repeat(Y, times))
    found = solve(data, labels, C=1 / times, fit_intercept=True)
    by_solve, seen[:] = len(seen), []
    with config_context(array_api_dispatch=True):
        model = RobustLinearSVC(C=1 / times, tol=1e-6).fit(data, labels)
    assert by_solve == len(seen) == (1 if times > 1 else 0)
    np.testing.assert_allclose(host(model.coef_)[0], found.w, atol=1e-3)
    for name in ("alpha", "removed", "saturated"):
        assert type(getattr(found, name)) is type(data)


def test_warnings_of_a_small_array_come_once():
    with pytest.warns(NullModelWarning) as said:
        solve(array_api_strict.asarray(X), Y, radius=50.0)
    assert [note.filename for note in said] == [__file__]


def test_dask_arrays_are_read_in_chunks_by_the_estimator_too():
    data, labels = da.from_array(X, chunks=(25, D)), da.from_array(Y, chunks=25)
    model = RobustLinearSVC().fit(data, labels)
    assert not hasattr(model, "support_")  # which takes all rows at once
    np.testing.assert_allclose(model.coef_, FITTED.coef_, atol=1e-2)
