"""Arguments: what would be misread is refused in a sentence, on every road alike."""

from importlib import import_module

import array_api_strict
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from arguments import (
    FITTED,
    FRAME,
    IN_MEMORY,
    ROADS,
    START,
    D,
    N,
    X,
    Y,
    masked,
    with_gap,
)
from wideberth import (
    RobustLinearRegressorCV,
    RobustLinearSVC,
    RobustLinearSVCCV,
    critical_radius,
    path,
    solve,
)
from wideberth._screen import screen
from wideberth.data import DataError, open_data
from wideberth.problem import Problem

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
    "vector": (X[:, 0], "X has shape .* two dimensions|Expected 2D array"),
    "cube": (X[:, :, None], "X has shape .* two dimensions|dim 3"),
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
        (da.from_array(X, chunks=(20, D)), "a Dask collection"),
        (dd.from_pandas(FRAME, npartitions=2), "a Dask collection"),
        ([(X, Y)], "chunks of rows"),
        (lambda: iter([(X, Y)]), "chunks of rows"),
        (open_data([(X, Y)]), "open data that is read in chunks"),
    ],
)
def test_data_in_chunks_is_refused_where_it_must_be_in_memory(data, kind, road):
    who = road if road == "RobustLinearSVCCV" else "this function"
    with pytest.raises(ValueError, match=f"X is {kind}; {who} needs .* in memory"):
        ROADS[road](data, Y)


@pytest.mark.parametrize("search", [RobustLinearSVCCV, RobustLinearRegressorCV])
def test_open_data_alone_is_refused_by_searches(search):
    with pytest.raises(ValueError, match=f"{search.__name__} needs the data in memory"):
        search().fit(open_data([(X, Y)]))


def test_the_critical_radius_is_that_of_data_in_memory():
    for data in ("folder", da.from_array(X, chunks=(20, D))):
        with pytest.raises(ValueError, match="needs the data in memory"):
            critical_radius(data, Y)
    with pytest.raises(ValueError, match="y is None"):
        critical_radius(X)
    with pytest.raises(ValueError, match="needs fit_intercept=True"):
        critical_radius(X, Y, fit_intercept=False, intercept_penalty=1.0)


def test_what_comes_beside_open_data_is_refused():
    with pytest.raises(DataError, match="X is open already, so y must have been given"):
        solve(open_data([(X, Y)]), Y, fit_intercept=False)


# -- numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["0.1", np.nan, True, 1 + 0j, None, [0.1], np.inf])
@pytest.mark.parametrize(
    "name", ["C", "tol", "max_iter", "radius", "intercept_penalty"]
)
def test_numbers_that_are_none_are_refused_by_name(name, value):
    options = {name: value}
    if value is None and name == "radius":
        return  # the default
    steers = name in ("max_iter", "intercept_penalty")
    model = RobustLinearSVC(**{"solver_options": options} if steers else options)
    for fit in (
        lambda: solve(X, Y, fit_intercept=True, **options),
        lambda: solve([(X, Y)], fit_intercept=True, **options),
        lambda: model.fit(X, Y),
        lambda: model.fit([(X, Y)]),
    ):
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
    with pytest.raises(ValueError, match=r"class_weight per class=.* is not a number"):
        RobustLinearSVC(class_weight={-1: "0.1", 1: 0.2}).fit(X, Y)
    with pytest.raises(ValueError, match="sample_weight is 0 for every sample"):
        FITTED.robust_score(X, Y, sample_weight=np.zeros(N))


@pytest.mark.parametrize("chunk", [(masked(X), Y), (X, masked(Y)), (X, Y, masked(Y))])
def test_masks_in_chunks_are_refused(chunk):
    with pytest.raises(ValueError, match="is a masked array with 1 masked entries"):
        solve([chunk], fit_intercept=False)


# -- points ----------------------------------------------------------------------------

BAD_POINTS = [
    ((np.ones(D) + 1j, 0.0, None), "w of init has dtype complex128"),
    ((["1"] * D, 0.0, None), "w of init has dtype <U1"),
    ((np.ones(D), 1j, None), "b of init has dtype complex128"),
    ((np.ones(D), [0.0], None), r"b of init has shape \(1,\)"),
    ((np.ones(D), np.nan, None), "b of init must be a finite"),
    ((np.ones(D), 0.0, np.full(N, np.nan)), "alpha of init must be a finite"),
    ((np.ones(D), 0.0, np.ones(N) + 1j), "alpha of init has dtype complex128"),
    ((np.ones(D), 0.0), "init=.* must be a Solution or a tuple"),
    ("yes", "init='yes' must be a Solution"),
]


@pytest.mark.parametrize(("init", "said"), BAD_POINTS)
def test_a_start_is_checked(init, said):
    with pytest.raises(ValueError, match=said):
        solve(X, Y, init=init, fit_intercept=False)


def test_a_start_from_another_problem_fits_or_is_refused():
    narrow, few = (
        solve(X[:, :2], Y, fit_intercept=False),
        solve(X[:40], Y[:40], fit_intercept=False),
    )
    with pytest.raises(ValueError, match=r"w of init .* \(3,\); received shape \(2,\)"):
        solve(X, Y, init=narrow, fit_intercept=False)
    with pytest.raises(ValueError, match=r"alpha of init .* received shape \(40,\)"):
        solve(X, Y, init=few, fit_intercept=False)
    expected = solve(
        X, Y, C=3.0, noise=[1.0, 2.0, 0.5], radius=0.1, fit_intercept=False
    )
    covariance = np.diag([1.0, 2.0, 3.0]) + 0.5
    for start in (
        solve(X, Y, noise=covariance, radius=0.2, fit_intercept=False),
        solve(X, Y, noise=covariance, radius=50.0, quiet=True, fit_intercept=False),
        solve(array_api_strict.asarray(X), Y, fit_intercept=False),
    ):
        found = solve(
            X,
            Y,
            C=3.0,
            noise=[1.0, 2.0, 0.5],
            radius=0.1,
            init=start,
            fit_intercept=False,
        )
        assert found.primal == pytest.approx(expected.primal, rel=1e-6)


def test_points_of_a_problem_are_checked():
    problem = Problem.from_data(X, Y)
    for alpha, said in (
        (np.full(N, np.nan), "alpha must be a finite"),
        (np.full(N, np.inf), "alpha must be a finite"),
        (np.ones(4), r"alpha must .* received shape \(4,\)"),
        (np.ones(N) + 1j, "alpha has dtype complex128"),
    ):
        for ask in (problem.dual_at, problem.repair):
            with pytest.raises(ValueError, match=said):
                ask(alpha)
    for w, said in (
        (np.ones(D) + 1j, "w has dtype complex128"),
        (np.ones(2), r"w must .* received shape \(2,\)"),
    ):
        with pytest.raises(ValueError, match=said):
            problem.at(w)
        with pytest.raises(ValueError, match=r"^w "):
            screen(X, Y, w, np.zeros(N), C=1.0, radius=0.1)
    with pytest.raises(ValueError, match=r"^b must be a finite"):
        screen(X, Y, *START, C=1.0, radius=0.1, b=np.nan)


# -- one road for one array ------------------------------------------------------------


@pytest.mark.parametrize("times", [1, 2_000])
def test_small_arrays_of_another_library_go_to_numpy_and_large_ones_in_chunks(
    times, monkeypatch
):
    solving, seen = import_module("wideberth._solve"), []
    solve_source = solving.solve_source

    def watched(source, *stated):
        seen.append(source)
        return solve_source(source, *stated)

    monkeypatch.setattr(solving, "solve_source", watched)
    data = array_api_strict.asarray(np.repeat(X, times, axis=0))
    labels = array_api_strict.asarray(np.repeat(Y, times))
    found = solve(data, labels, C=1 / times, fit_intercept=True)
    assert len(seen) == (1 if times > 1 else 0)
    for name in ("alpha", "removed", "saturated"):
        assert type(getattr(found, name)) is type(data)
