"""All roads lead to the same model, within what their certificates allow.

Each road of `roads.py` is walked once for each problem; then every two answers are held
against each other. By strong convexity (theory §4.1) a model whose gap is G is within
√(2G) of the one optimal w, so two of them are within √(2G) + √(2G').
"""

import pickle
import re
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_approximation import Nystroem

from commands import through_file
from road_cases import ROWS, WRONG, Case
from road_forms import CHUNKED, FOREIGN, FORMS, MEMORY
from roads import (
    CASES,
    CURVED_ROADS,
    ESTIMATORS,
    GAMMA,
    NAMES,
    NEW,
    ROADS,
    TOL,
    _classifier,
    machine,
)
from wideberth import RobustLinearRegressor, solve

#: Share of the objective that the rounding of a gap may be, where a road does not say.
ROUNDING = 1e-11
BY_NAME = {case.name: case for case in CASES}


@pytest.fixture(autouse=True)
def roomy(monkeypatch):
    """Do not refuse a limit below what the process holds: it puts a map in chunks."""
    monkeypatch.setattr("wideberth.data.sources.room", lambda memory: 10**9)


def walk(case, roads):
    """The answer of each road; a refusal is its sentence."""
    answers = {}
    for road in roads:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # names that new rows lack
            try:
                answers[road] = road.answer(case, Path(folder))
            except (ValueError, TypeError) as error:
                answers[road] = str(error)
    return answers


def wrong_with(case, road, answer):
    """What is not as the table says: a sentence, or None."""
    expected = road.refusal(case)
    if expected is not None:
        if isinstance(answer, str) and re.search(expected, answer):
            return None
        return f"must refuse with {expected!r}; got {answer}"
    if isinstance(answer, str):
        return f"refuses: {answer}"
    values = objectives(case, answer)
    if not np.all(answer.gaps <= TOL * values + ROUNDING * values):
        return f"its gap {answer.gaps} is not within tol of {values}"
    return None


def objectives(case, answer):
    """Of each binary problem, from its definition."""
    lines = zip(case.positives, answer.w, answer.b, strict=True)
    return np.array([case.objective(k, w, b) for k, w, b in lines])


def sure(case, one, w, b):
    """Rows to predict on which an answer cannot differ in class from (each) w, b."""
    move = np.linalg.norm(one.w - w, axis=-1)[..., None, :]
    slack = np.linalg.norm(case.new, axis=1)[:, None] * move
    slack = slack + np.abs(one.b - b)[..., None, :]
    scores = case.new @ one.w.T + one.b
    if len(case.labels) == 2:
        return np.abs(scores[:, 0]) > slack[..., 0]
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2] > 2 * slack.max(axis=-1)


def differences(case, answers):
    """Sentences about every two answers that differ by more than they may."""
    names = [road.name for road in answers]
    found = [*answers.values()]
    values = np.array([objectives(case, each) for each in found])
    w, b, gaps = (np.array([getattr(a, k) for a in found]) for k in ("w", "b", "gaps"))
    predicted = np.array([each.predicted for each in found], dtype=object)
    excess = values - values.min(axis=0) * (1 + ROUNDING)
    for i in np.flatnonzero(~(excess <= gaps).all(axis=1)):
        yield f"{names[i]}: {excess[i]} above the best, more than its gap {gaps[i]}"
    # How far each w may be from the optimum.
    reach = np.sqrt(2 * (np.maximum(gaps, 0) + ROUNDING * values))
    for i, one in enumerate(found):
        rest = slice(i + 1, None)
        apart, allowed = np.linalg.norm(one.w - w[rest], axis=2), reach[i] + reach[rest]
        for j in np.flatnonzero(~(apart <= allowed).all(axis=1)):
            pair = f"{names[i]} and {names[i + 1 + j]}"
            yield f"{pair}: w {apart[j]} apart, allowed {allowed[j]}"
        same = (predicted[i] == predicted[rest]) | ~sure(case, one, w[rest], b[rest])
        for j in np.flatnonzero(~same.all(axis=1)):
            yield f"{names[i]} and {names[i + 1 + j]}: predictions differ"


def there(case):
    return [road for road in ROADS if road.is_there(case)]


@pytest.mark.parametrize("name", BY_NAME)
def test_every_pair_of_roads_leads_to_the_same_model(name, monkeypatch):
    case = BY_NAME[name]
    if case.distinct < ROWS:  # so few are worth looking for
        monkeypatch.setattr("wideberth.problem.merge.FEW_ROWS", 0)
    answers = walk(case, there(case))
    wrong = {road.name: wrong_with(case, road, each) for road, each in answers.items()}
    assert {name: why for name, why in wrong.items() if why} == {}
    found = {road: each for road, each in answers.items() if not isinstance(each, str)}
    assert len(found) > 10
    assert list(differences(case, found)) == []
    # Decided by the data, not by doubt.
    one, other = list(found.values())[:2]
    assert sure(case, one, other.w, other.b).sum() > 0.9 * NEW


def test_roads_that_keep_rows_suspect_those_whose_label_is_wrong():
    case = BY_NAME["wrong labels"]
    roads = [r for r in there(case) if r.form in MEMORY and r.trainer in ESTIMATORS]
    answers = walk(case, [road for road in roads if not road.refusal(case)])
    assert len(answers) > 10
    for road, answer in answers.items():
        fitted = answer.model[-1] if road.trainer == "pipeline" else answer.model
        found = fitted.suspects_
        assert sorted(found["sample"].tolist()) == list(range(ROWS))[WRONG]
        assert np.array_equal(found["label"], case.y[found["sample"]])
        assert np.all(found["predicted"] != found["label"])


#: What a fitted model says of rows, one by one.
ANSWERS = ("predict", "decision_function", "certified_radius")


@pytest.mark.parametrize(
    "name",
    [
        "own radii and weights",
        "covariance",
        "three classes",
        "three numbers",
        "errors",
        "lopsided tolerances",
    ],
)
def test_models_answer_alike_whatever_form_the_rows_come_in(name, tmp_path):
    case = BY_NAME[name]
    own = {} if case.radii is None else {"radius": case.radii}
    tables = (
        dict(zip(("X_err",), (case.tables[0],), strict=False)) if case.tables else {}
    )
    if len(case.tables) == 2:
        tables["X_err"] = case.tables
    walked = 0
    for form, give in CHUNKED.items():
        if form == "LIBSVM" and (case.tables or isinstance(case.labels[0], str)):
            continue
        if form.startswith("Dask") and len(case.tables) == 2:
            continue
        folder = tmp_path / form.replace(" ", "")
        folder.mkdir()
        given = give(case, folder)
        X = given.like(case.X)
        beside = {"sample_weight": case.weight}
        model = _classifier(case, tol=1e-4).fit(X, case.y, **beside, **own, **tables)
        errors = {} if given.errors is None else {"X_err": given.errors}
        for method in ANSWERS:
            found = np.asarray(getattr(model, method)(given.X, **errors))
            expected = getattr(model, method)(X, **tables)
            assert found.dtype == expected.dtype, (form, method)
            if method == "predict":
                assert found.tolist() == expected.tolist(), form
            else:
                np.testing.assert_allclose(found, expected, 1e-9, err_msg=form)
        parts = list(model.stream(given.X, *ANSWERS, **errors))
        assert sum(len(part["predict"]) for part in parts) == ROWS
        if given.y is None and "chunks" in form:
            beside, own_here = {"sample_weight": _weights(case)}, {}
        else:
            own_here = {} if given.radius is None else {"radius": given.radius}
        weight = {} if given.weight is None else {"sample_weight": given.weight}
        score = model.score(given.X, given.y, **weight, **errors)
        assert score == pytest.approx(model.score(X, case.y, **beside, **tables)), form
        robust = model.robust_score(given.X, given.y, **own_here, **weight, **errors)
        known = model.robust_score(X, case.y, **own, **beside, **tables)
        assert robust == pytest.approx(known), form
        walked += 1
    assert walked >= 10


def _weights(case):
    return np.ones(ROWS) if case.weight is None else case.weight


@pytest.mark.parametrize(
    "name", ["own radii and a norm penalty", "three classes", "box of tolerances"]
)
def test_a_stored_model_predicts_what_the_model_predicts(name):
    case = BY_NAME[name]
    roads = [road for road in there(case) if road.form in ("array", "Parquet", "CSR")]
    answers = walk(case, roads)
    models = [each.model for each in answers.values() if getattr(each, "model", None)]
    assert len(models) >= 5
    for model in models:
        frame = hasattr(model, "feature_names_in_")
        new = pd.DataFrame(case.new, columns=NAMES) if frame else case.new
        expected = model.predict(new).tolist()
        winner = getattr(model, "best_estimator_", model)
        for back in (pickle.loads(pickle.dumps(model)), through_file(winner)):
            assert back.predict(new).tolist() == expected
            assert np.array_equal(
                back.certified_radius(new), model.certified_radius(new)
            )


# -- the table itself ------------------------------------------------------------------


@pytest.fixture(scope="module")
def some():
    """A few answers to one case, right as they are."""
    case = BY_NAME["one radius"]
    names = ("array → solve", "CSR → estimator", "chunks → solve")
    answers = walk(case, [road for road in ROADS if road.name in names])
    assert list(differences(case, answers)) == []
    return case, answers


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda a: replace(a, w=a.w + 2e-3), "apart"),
        (lambda a: replace(a, b=a.b + 0.01), "above the best"),
        (lambda a: replace(a, predicted=a.predicted[::-1]), "predictions differ"),
        (lambda a: replace(a, predicted=[str(p) for p in a.predicted]), "predictions"),
        (lambda a: replace(a, w=np.full_like(a.w, np.nan)), "above the best"),
    ],
)
def test_a_road_that_leads_elsewhere_is_noticed(change, said, some):
    case, answers = some
    road = next(iter(answers))
    wrong = answers | {road: change(answers[road])}
    assert any(said in sentence for sentence in differences(case, wrong))


def test_a_gap_beyond_the_tolerance_and_a_missing_refusal_are_noticed(some):
    case, answers = some
    road, answer = next(iter(answers.items()))
    assert wrong_with(case, road, answer) is None
    assert "gap" in wrong_with(case, road, replace(answer, gaps=answer.gaps + 1))
    assert "refuses" in wrong_with(case, road, "no")
    box = BY_NAME["box of tolerances"]
    wide = next(r for r in ROADS if r.name == "array → solve by coordinate")
    assert "must refuse" in wrong_with(box, wide, answer)
    assert "must refuse" in wrong_with(box, wide, "no")


# -- numbers to predict ----------------------------------------------------------------


class Numbers(Case):
    """A case whose y are numbers."""

    @property
    def y(self):
        return np.round(8 * (self.X @ [1.0, -0.5, 2.0, 0.25]) + 8 * self.numbers) / 8


NUMBERS = [
    Numbers("median"),
    Numbers("median, radius", radius=0.25, weighted=True),
    Numbers("median, boxes", radius=0.25, noise="tolerances"),
    Numbers("median, own radii, no intercept", radius="own", intercept=None),
    Numbers("median, error bars", radius=0.5, errors="ellipsoid"),
    Numbers("median, tolerances", radius=0.5, errors="box", intercept=1.0),
    Numbers("median, equal rows", radius=0.25, distinct=30),
]
#: What a form may be refused with: it has no place for errors, or for those alone.
KEPT = re.compile("in memory|no place for")


@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: case.name)
def test_every_form_gives_the_same_line(case):
    """Through `solve` and `RobustLinearRegressor`, or a refusal in a sentence."""
    found, stated = {}, {"C": case.C, **case.penalty, "error_shape": case.error_shape}
    stated |= {"loss": "quantile", "tol": TOL}
    if not case.tables:
        stated["noise"] = case.shape
    if case.radius != "own":
        stated["radius"] = case.radius
    refused = {}
    for name, form in FORMS.items():
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            given = form(case, Path(folder))
            try:
                one = solve(given.X, given.y, **stated | given.beside, **given.options)
                model = _regressor(case).fit(given.X, given.y, **given.beside)
            except (ValueError, TypeError) as error:
                refused[name] = str(error)
                continue
        found[name] = one, model
    assert all(map(KEPT.search, refused.values())), refused
    assert refused.keys() <= ({"LIBSVM", *FOREIGN} if case.tables else set())
    first, (best, trained) = next(iter(found.items()))
    assert len(found) >= len(MEMORY)
    for name, (one, model) in found.items():
        near = 2 * np.sqrt(2 * (one.gap + best.gap) + 1e-12)
        assert np.linalg.norm(one.w - best.w) <= near, (first, name)
        np.testing.assert_allclose(model.coef_, trained.coef_, atol=1e-3, err_msg=name)
        assert model.intercept_ == pytest.approx(trained.intercept_, abs=1e-2), name


def _regressor(case):
    own = {} if case.radius == "own" else {"radius": case.radius}
    options = {"intercept_penalty": case.intercept} if case.intercept else None
    return RobustLinearRegressor(
        C=case.C,
        noise="l2" if case.tables else case.shape,
        error_shape=case.error_shape,
        fit_intercept=case.intercept is not None,
        tol=TOL,
        solver_options=options,
        **own,
    )


# -- curved boundaries -----------------------------------------------------------------

#: Those that can be said to a kernel machine, with noise that it withstands.
CURVED = [
    case if case.radius == "own" else replace(case, radius=case.radius / 4)
    for case in CASES
    if case.ramp is None and case.intercept is not None and not case.norm_penalty
][::2]  # linear models walk all of them


@pytest.mark.parametrize("case", CURVED, ids=lambda case: case.name)
def test_every_road_leads_to_the_same_curve(case):
    """On the features of one kernel step, of which every answer is a linear model."""
    answers = walk(case, [road for road in CURVED_ROADS if road.is_there(case)])
    step = kernel_features(case)
    Z = step.transform(case.X)
    found = {}
    for road, answer in answers.items():
        if (expected := road.refusal(case)) is not None:
            assert isinstance(answer, str), road.name
            assert re.search(expected, answer), (road.name, answer)
            continue
        assert not isinstance(answer, str), (road.name, answer)
        lines = zip(case.positives, answer.w, answer.b, strict=True)
        worth = [case.curved_objective(k, w, b, Z, GAMMA) for k, w, b in lines]
        found[road.name] = answer, np.array(worth)
    assert len(found) >= 10
    least = np.min([worth for _, worth in found.values()], axis=0)
    new = step.transform(case.new)
    first, _ = next(iter(found.values()))
    for name, (answer, worth) in found.items():
        assert np.all(answer.gaps <= TOL * worth), name
        assert np.all(worth - least <= answer.gaps + ROUNDING * worth), name
        scores, known = (new @ one.w.T + one.b for one in (answer, first))
        np.testing.assert_allclose(scores, known, atol=1e-3, err_msg=name)
        clear = np.abs(known[:, 0]) > 2e-3
        if len(case.labels) > 2:
            ordered = np.sort(known, axis=1)
            clear = ordered[:, -1] - ordered[:, -2] > 4e-3
        same = np.array(answer.predicted) == np.array(first.predicted)
        assert np.all(same[clear]), name
    assert np.mean(clear) > 0.9


def kernel_features(case):
    """The kernel step on every row that differs and has a weight."""
    landmarks = np.unique(case.X, axis=0)
    m = len(landmarks)
    return Nystroem(gamma=GAMMA, n_components=m, random_state=0).fit(landmarks)


@pytest.mark.parametrize("name", ["own radii and weights", "errors", "three classes"])
def test_kernel_machines_answer_alike_whatever_form_the_rows_come_in(name, tmp_path):
    case = BY_NAME[name]
    own = {} if case.radii is None else {"radius": case.radii}
    tables = {"X_err": case.tables[0]} if case.tables else {}
    walked = 0
    for form, give in (MEMORY | CHUNKED).items():
        if form == "LIBSVM" and (case.tables or isinstance(case.labels[0], str)):
            continue
        folder = tmp_path / form.replace(" ", "")
        folder.mkdir()
        given = give(case, folder)
        X = given.like(case.X)
        X = X.toarray() if hasattr(X, "toarray") else X
        model = machine(case).fit(X, case.y, **own, **tables)
        errors = {} if given.errors is None else {"X_err": given.errors}
        if "CSR" in form or form == "LIBSVM":
            with pytest.raises((TypeError, ValueError), match="dense"):
                model.predict(given.X)
            continue
        for method in ANSWERS:
            found = np.asarray(getattr(model, method)(given.X, **errors))
            expected = np.asarray(getattr(model, method)(X, **tables))
            if method == "predict":
                assert found.tolist() == expected.tolist(), form
            else:
                np.testing.assert_allclose(found, expected, 1e-9, err_msg=form)
        walked += 1
    assert walked >= 10
