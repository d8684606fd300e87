"""Numbers on the command line: what is taken for them, and that all roads agree."""

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from commands import here, read_csv, run
from html_tables import tables_of
from recomputed import CHECKS as OF_CLASSES
from recomputed import Noise, bar, count, none, number, share, text, with_error
from wideberth import (
    MeasuredRegressor,
    RobustLinearRegressor,
    RobustLinearRegressorCV,
    make_robust_pipeline,
)
from wideberth.cli.model import load_model
from wideberth.cli.output import estimate

NAMES = ["mass", "temp", "size"]
SCALES = np.array([1.0, 2.0, 10.0])


def measurements(n=90, seed=0):
    """Rows, numbers that go with them, and errors of both."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(n, 3)) @ [[1, 0.4, 0], [0, 1, 0], [0, 0, 1]]
    y = 2 * true[:, 0] - true[:, 1] + 0.3 * rng.standard_t(3, n) + 7
    E = rng.uniform(0.2, 0.8, true.shape).round(3) * SCALES
    X = (true * SCALES + E * rng.normal(size=E.shape)).round(3)
    e = rng.uniform(0.1, 0.3, n).round(3)
    return X, (y + e * rng.normal(size=n)).round(3), E, e


def table(X, y, E=None, e=None, target="flux", **columns):
    """A frame with columns of errors beside the values, where there are any."""
    frame = pd.DataFrame(X, columns=NAMES).assign(**columns)
    if E is not None:
        for j, name in enumerate(NAMES):
            frame[f"{name}_err"] = np.where(np.isnan(X[:, j]), np.nan, E[:, j])
    frame[target] = y
    return frame if e is None else frame.assign(**{f"{target}_err": e})


def told(folder, frame, words, *more):
    """The JSON of a fit to a frame."""
    frame.to_csv(folder / "data.csv", index=False)
    command = f"fit data.csv --target flux {words} --json --force --out m.wideberth"
    return json.loads(run(command, *more, folder=folder).stdout)


def answers(folder, frame, *words):
    """What `predict` writes of a frame."""
    frame.to_csv(folder / "new.csv", index=False)
    out = run("predict m.wideberth new.csv", *words, folder=folder)
    return pd.read_csv(io.StringIO(out.stdout)), out.stderr


# -- what is taken for numbers ---------------------------------------------------------

RNG = np.random.default_rng(1)
FRACTIONS = RNG.normal(size=60).round(3)
WHOLE = RNG.integers(0, 1000, 60)


@pytest.mark.parametrize(
    ("y", "words", "task", "said"),
    [
        (FRACTIONS, "", "regress", r"numbers: flux holds \d+ different numbers"),
        (WHOLE, "", "regress", "whole numbers; if they are classes: --task classify"),
        (WHOLE % 25, "--task classify --folds 0", "classify", None),
        (WHOLE % 7, "", "classify", "only 7 different whole numbers; to predict the"),
        (WHOLE % 7, "--task regress", "regress", "numbers: --task says so"),
        (WHOLE % 2, "", "classify", None),
        ((WHOLE % 3) / 2, "", "classify", "only 3 different numbers; to predict"),
        (FRACTIONS[:9], "", "regress", "9 different numbers"),
        (np.where(WHOLE % 2, "ill", "well"), "", "classify", None),
    ],
)
def test_what_the_target_is_is_told_and_why(tmp_path, y, words, task, said):
    X = np.random.default_rng(2).normal(size=(len(y), 3))
    found = told(tmp_path, table(X, y), words)
    assert found["data"]["task"] == task
    assert (found["data"]["numbers"] is None) == (task == "classify")
    assert (found["data"]["classes"] == {}) == (task == "regress")
    shown = run(f"fit data.csv --target flux {words}", folder=tmp_path).stdout
    (line,) = re.findall(r"^task +(.*(?:\n {11}.*)*)", shown, re.M) or [""]
    assert re.search(said or "^$", " ".join(line.split()))


@pytest.mark.parametrize(
    ("y", "words", "code", "sentence"),
    [
        (np.arange(60), "", 1, "only numbers the rows"),
        ([f"p{k}" for k in range(60)], "", 1, "a class or a number, not an identifier"),
        (
            [f"{k},{k + 100}" for k in range(1, 61)],
            *("", 1, "holds '1,101', whose comma may be a decimal comma"),
        ),
        (["n.d.", *FRACTIONS[1:]], "", 1, "add --read na=n.d. if that means a missing"),
        (
            ["a", "b"] * 30,
            "--task regress",
            1,
            "holds text, 'a' and 'b', and no number",
        ),
        ([5.0] * 60, "--task regress", 1, "holds a single number"),
        (FRACTIONS, "--ramp", 2, "--ramp is for classes, and the target holds numbers"),
        (FRACTIONS, "--class-weight balanced", 2, "--class-weight is for classes"),
        (FRACTIONS, "--C auto --score-radius 1", 2, "--score-radius is for classes"),
        (WHOLE % 2, "--quantile 0.9", 2, "--quantile is for numbers"),
        (FRACTIONS, "--quantile 1", 2, "must be a number between 0 and 1"),
        (FRACTIONS, "--model measured --radius 1", 2, "cannot use --radius"),
        (FRACTIONS, "--model measured --C 2", 2, "cannot use --C"),
        (FRACTIONS, "--model measured --quantile 0.9", 2, "cannot use --quantile"),
    ],
)
def test_what_is_no_regression_is_refused_in_a_sentence(
    tmp_path, y, words, code, sentence
):
    X = np.random.default_rng(2).normal(size=(len(y), 3))
    table(X, y).to_csv(tmp_path / "data.csv", index=False)
    command = f"fit data.csv --target flux {words}"
    assert sentence in run(command, folder=tmp_path, code=code).stderr.splitlines()[-1]


# -- one table, one answer -------------------------------------------------------------


def _decimal_commas(frame, folder):
    frame.to_csv(folder / "t.csv", sep=";", decimal=",", index=False)
    return "t.csv"


def _parquet(frame, folder):
    frame.to_parquet(folder / "t.parquet")
    return "t.parquet"


def _sparse_text(frame, folder):
    rows = [
        " ".join([str(y), *(f"{j}:{v}" for j, v in enumerate(x, 1))])
        for *x, y in frame[[*NAMES, "flux"]].to_numpy().tolist()
    ]
    (folder / "t.svm").write_text("\n".join(rows))
    return "t.svm"


@pytest.mark.parametrize("road", ["", "--memory 8GB"])
@pytest.mark.parametrize("write", [_decimal_commas, _parquet, _sparse_text])
def test_every_file_and_road_gives_what_python_gives(tmp_path, write, road):
    X, y, *_ = measurements()
    name = write(table(X, y), tmp_path)
    target = "" if name == "t.svm" else "--target flux"
    words = f"{target} --radius 0.3 --quantile 0.7 --C 0.5 --tol 1e-9 --folds 0"
    command = f"fit {name} {words} {road} --json --out m.wideberth"
    found = json.loads(run(command, folder=tmp_path).stdout)
    model = RobustLinearRegressor(0.7, 0.5, 0.3, tol=1e-9).fit(X, y)
    weights = [own for (own,) in found["model"]["coefficients"].values()]
    np.testing.assert_allclose(weights, model.coef_, atol=1e-4)
    assert found["model"]["line"]["scale"] == pytest.approx(model.target_scale_)
    r = y - model.predict(X)
    loss = np.maximum(0.7 * r, -0.3 * r).mean()
    assert found["training"]["as_measured"] == pytest.approx(loss, rel=1e-4)
    worst = [y - end for end in model.prediction_range(X).T]
    worst = np.max([np.maximum(0.7 * r, -0.3 * r) for r in worst], axis=0).mean()
    assert found["training"]["under_noise"] == pytest.approx(worst, rel=1e-4)
    rows = run(f"predict m.wideberth {name}", folder=tmp_path).stdout
    rows = pd.DataFrame(read_csv(rows)).astype(float)
    ends = np.column_stack((model.predict(X), model.prediction_range(X)))
    given = rows[["prediction", "low", "high"]]
    np.testing.assert_allclose(given, ends, atol=1e-3)


def test_numbers_that_outgrow_what_is_kept_are_read_as_such(tmp_path, monkeypatch):
    for module in ("prepare", "uncertainty"):
        monkeypatch.setattr(f"wideberth.cli.{module}.MANY_LABELS", 30)
    X, y, *_ = measurements()
    both = [told(tmp_path, table(X, y), w) for w in ("--memory 8GB", "--folds 0")]
    assert both[0]["data"] | {"row_counters": []} == both[1]["data"]
    assert "more than 30 different numbers" in both[0]["data"]["task_story"]


def test_the_choice_is_that_of_the_search(tmp_path):
    X, y, *_ = measurements()
    words = "--C 0.01,1.0 --radius 0,0.5 --quantile 0.3 --folds 3"
    choice = told(tmp_path, table(X, y), words)["choice"]
    search = RobustLinearRegressorCV(
        0.3, [0.01, 1.0], [0, 0.5], cv=KFold(3, shuffle=True, random_state=0)
    ).fit(X, y)
    assert (choice["C"], choice["factor"]) == (search.C_, search.radius_)
    assert choice["score"] == pytest.approx(-search.best_score_)
    assert choice["measure"] == "mean pinball loss"
    np.testing.assert_allclose(choice["scores"], -search.scores_.mean(axis=-1))


# -- predictions -----------------------------------------------------------------------


def test_ranges_are_within_the_errors_of_the_row_itself(tmp_path):
    X, y, E, _ = measurements()
    told(tmp_path, table(X, y, E), "--errors suffix:_err --radius 0.5 --folds 0")
    model = load_model(tmp_path / "m.wideberth").pipeline
    new = table(X[:9], y[:9], 3 * E[:9])
    new.loc[4, "temp"] = np.nan
    rows, said = answers(tmp_path, new)
    assert "1 of 9 rows lacks a value" in said
    ends = model.prediction_range(pd.DataFrame(X[:9], columns=NAMES), X_err=3 * E[:9])
    sound = np.arange(9) != 4
    np.testing.assert_allclose(rows.loc[sound, ["low", "high"]], ends[sound])
    assert rows.loc[4, ["prediction", "low", "high"]].isna().all()
    rows, said = answers(tmp_path, new.drop(columns="mass_err"))
    assert list(rows) == ["row", "prediction"]
    assert "so the predictions have no range" in said


def test_ranges_are_within_the_radius_of_the_row(tmp_path):
    X, y, *_ = measurements()
    sigma = np.linspace(0.1, 1, len(y)).round(3)
    told(tmp_path, table(X, y, sigma=sigma), "--radius-column sigma --folds 0")
    model = load_model(tmp_path / "m.wideberth").pipeline
    rows, _ = answers(tmp_path, table(X, y, sigma=sigma[::-1]))
    frame = pd.DataFrame(X, columns=NAMES)
    ends = model.prediction_range(frame, radius=sigma[::-1])
    np.testing.assert_allclose(rows[["low", "high"]], ends)
    rows, _ = answers(tmp_path, table(X, y))
    assert list(rows) == ["row", "prediction"]


def test_intervals_and_what_to_measure_again_are_those_of_the_line(tmp_path):
    X, y, E, e = measurements(120)
    X[::7, 1] = np.nan
    words = "--errors suffix:_err --model measured --folds 0"
    told(tmp_path, table(X, y, E, e), words)
    E = np.where(np.isnan(X), 0, E)
    line = MeasuredRegressor().fit(X, y, X_err=E, y_err=e)
    rows, _ = answers(tmp_path, table(X, y, E), "--coverage", "0.8")
    values, spreads = line.predict(X, X_err=E, return_std=True)
    ends = line.predict_interval(X, X_err=E, coverage=0.8)
    found = rows[["prediction", "spread", "low", "high"]]
    np.testing.assert_allclose(found, np.column_stack((values, spreads, ends)))
    cell, part = line.remeasure(X, X_err=E)
    assert rows["remeasure"].tolist() == [NAMES[j] for j in cell]
    np.testing.assert_allclose(rows["share"], part)


def test_few_rows_give_predictions_and_the_coverage_that_they_can_hold(tmp_path):
    X, y, *_ = measurements(5)
    told(tmp_path, table(X[:, :3], y), "--model measured --folds 0 --drop temp size")
    rows, said = answers(tmp_path, table(X, y))
    assert rows["prediction"].notna().all()
    assert rows[["low", "high"]].isna().all(axis=None)
    told_as = run("predict m.wideberth new.csv --json", folder=tmp_path).stdout
    assert {row["low"] for row in json.loads(told_as)["predictions"]} == {None}
    most = re.search(r"give --coverage of at most ([\d.]+)\.", said)[1]
    rows, said = answers(tmp_path, table(X, y), "--coverage", most)
    assert (rows["low"] <= rows["high"]).all()


def test_errors_of_the_target_follow_the_rule(tmp_path):
    X, y, E, e = measurements(120)
    frame = table(X, y, E, e)
    frame.loc[5, "flux_err"] = np.nan
    frame.to_csv(tmp_path / "data.csv", index=False)
    command = "fit data.csv --target flux --model measured --errors suffix:_err"
    refused = run(command, folder=tmp_path, code=1).stderr
    assert "the target has no usable error in 1 row (first: row 6 (line 7)" in refused
    kept = np.arange(120) != 5
    for rule, given, rows in (
        ("exact", np.where(kept, e, 0), slice(None)),
        ("share:0.5", np.where(kept, e, 0.5 * np.abs(y)), slice(None)),
        ("median", np.where(kept, e, np.median(e[kept])), slice(None)),
        ("drop", e, kept),
    ):
        words = f"--model measured --folds 0 --errors suffix:_err absent={rule}"
        slopes = told(tmp_path, frame, words)["model"]["line"]["slopes"]
        line = MeasuredRegressor(cv=None)
        line.fit(X[rows], y[rows], X_err=E[rows], y_err=given[rows])
        values = [slopes[name]["value"] for name in NAMES]
        np.testing.assert_allclose(values, line.coef_)
    frame.assign(flux_err=np.nan).to_csv(tmp_path / "data.csv", index=False)
    for rule in ("median", "drop"):
        refused = run(f"{command} absent={rule}", folder=tmp_path, code=1).stderr
        assert "no number in column 'flux' has a usable error" in refused


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (
            lambda X, y, E, e: (X, y + np.tan(1.55 * np.sin(1e4 * y)), E, e),
            "heavy-tails",
        ),
        (lambda X, y, E, e: (X, y, E, 30 * e), "target-errors-too-large"),
        (lambda X, y, E, e: (X, y, 6 * E, e), "errors-too-large"),
        (lambda X, y, E, e: (X + 1e4 * (X.max() == X), y, E, e), "far-values"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_measurements_that_a_line_is_not_for_are_named(tmp_path, spoil, code):
    X, y, E, e = spoil(*measurements(300))
    words = "--model measured --folds 0 --errors suffix:_err"
    table(X, y, E, e).to_csv(tmp_path / "data.csv", index=False)
    command = f"fit data.csv --target flux {words} --json"
    done = here(command.split(), folder=tmp_path)
    assert done.returncode in (0, 3)
    result = json.loads(done.stdout)
    assert code in [advice["code"] for advice in result["warnings"]]


def test_a_copy_of_the_target_is_named(tmp_path):
    X, y, *_ = measurements()
    result = told(tmp_path, table(X, y, inches=-y / 2.54), "--folds 0")
    (leak,) = result["data"]["leaks"]
    assert (leak["feature"], leak["rank_correlation"]) == ("inches", pytest.approx(-1))
    assert "leak" in [advice["code"] for advice in result["warnings"]]


def test_noise_that_hides_everything_ends_with_3(tmp_path):
    X, y, *_ = measurements()
    table(X, y).to_csv(tmp_path / "data.csv", index=False)
    command = "fit data.csv --target flux --folds 0 --radius"
    (one,) = told(tmp_path, table(X, y), "--folds 0")["training"]["problems"]
    low, high = one["critical_radius"]
    assert (
        "ignores the features" not in run(command, 0.98 * low, folder=tmp_path).stderr
    )
    done = run(command, 1.02 * high, folder=tmp_path, code=3)
    assert "noise of this size hides what predicts the number" in done.stderr


@pytest.mark.parametrize(
    ("words", "command", "sentence"),
    [
        ("", "predict m.wideberth data.csv --scores", "--scores is for classes"),
        ("", "predict m.wideberth data.csv --coverage 0.5", "--coverage is for interv"),
        ("", "certify m.wideberth data.csv", "wideberth predict writes how far noise"),
        (
            "--model measured",
            "certify m.wideberth data.csv",
            "writes an interval about",
        ),
    ],
)
def test_questions_about_classes_lead_on(tmp_path, words, command, sentence):
    X, y, *_ = measurements()
    told(tmp_path, table(X, y), f"{words} --folds 0")
    assert sentence in run(command, folder=tmp_path, code=1).stderr


# -- the report, cell by cell ----------------------------------------------------------


class Fit:
    """A fit of numbers, told once more by the public estimators.

    `robust(rows, **plain)` is the model of some rows, or a plain one.
    """

    names, scales = NAMES, False

    def __init__(self, X, y, words, quantile=0.5, radius=0.0, steps=(), **given):
        self.X, self.y, self.words, self.quantile = X, y, words, quantile
        self.radius, self.steps, self.given = radius, steps, given
        self.errors, self.target_errors = given.get("E"), given.get("e")
        self.measured = "measured" in words
        self.frame = table(X, y, self.errors, self.target_errors)
        self.splits = list(KFold(4, shuffle=True, random_state=0).split(X))

    def losses(self, residuals):
        unit = 2 if self.quantile == 0.5 else 1
        above, below = unit * self.quantile, unit * (1 - self.quantile)
        return np.where(residuals > 0, above * residuals, -below * residuals)

    def train(self, rows, C=1.0, plain=False):
        X, y, own = self.X[rows], self.y[rows], {}
        if self.measured and not plain:
            e = self.target_errors
            e = None if e is None else e[rows]
            return MeasuredRegressor().fit(X, y, X_err=self.errors[rows], y_err=e)
        if self.measured:
            medians = np.nanmedian(X, axis=0)
            X = np.where(np.isnan(X), medians, X)
        radius = 0.0 if plain else self.radius
        last = RobustLinearRegressor(self.quantile, C, radius)
        if self.errors is not None and not plain:
            last.error_shape = "box"
            own = {"robustlinearregressor__X_err": self.errors[rows]}
        steps = (StandardScaler(),) if self.measured else self.steps
        model = make_robust_pipeline(*(type(s)() for s in steps), last).fit(X, y, **own)
        model.medians = medians if self.measured else None
        return model

    def said(self, model, rows):
        """Predictions, and how far noise of the radius moves them at most."""
        X = self.X[rows]
        if isinstance(model, MeasuredRegressor):
            return model.predict(X, X_err=self.errors[rows]), 0.0
        if self.measured:
            X = np.where(np.isnan(X), model.medians, X)
            return model.predict(X), 0.0
        E = np.ones(3) if self.errors is None else self.errors[rows]
        shape = "l2" if self.errors is None else "linf"
        w = model[-1].coef_ @ model.linear_map_
        return model.predict(X), self.radius * Noise(E, shape).size(w)

    def contest(self, result):
        """Predictions and moves of all models, by what they are called."""
        n = len(self.y)
        calls = ["this model"]
        rivals = result["evaluation"]["tuned"] is not None
        calls += ["plain regression, same C", "plain regression, C tuned"] * rivals
        found = {name: (np.empty(n), np.zeros(n)) for name in [*calls, "a constant"]}
        self.sizes, self.models = np.empty((n, 4)), []
        for k, (train, test) in enumerate(self.splits):
            models = [self.train(train)]
            self.models += models
            if rivals:
                tuned = result["evaluation"]["tuned"]["Cs"][k]
                models += [self.train(train, C, True) for C in (1.0, tuned)]
            for name, model in zip(calls, models, strict=True):
                found[name][0][test], found[name][1][test] = self.said(model, test)
            ranked = np.sort(self.y[train])
            place = int(np.ceil(self.quantile * len(train) - 1e-9)) - 1
            found["a constant"][0][test] = ranked[place]
        return found


def _compare(case, result, table):
    held = case.contest(result)
    kinds = ["as measured"] + ["under"] * bool(case.radius)
    scores = {}
    for name, (values, moves) in held.items():
        ends = [case.losses(case.y - values - sign * moves) for sign in (-1, 1)]
        plain = case.losses(case.y - values)
        scores[name] = [plain, np.maximum(*ends)][: len(kinds)]
    assert [row[0].text for row in table.rows] == list(held)
    for row, (name, own) in zip(table.rows, scores.items(), strict=True):
        cells = iter(row[1:])
        for kind, each in enumerate(own):
            means = np.array([each[test].mean() for _, test in case.splits])
            with_error(next(cells), means.mean(), means.std(ddof=1), 1e-4, 1)
            apart = scores["this model"][kind] - each
            cell = next(cells)
            if name == "this model":
                none(cell)
            else:
                error = apart.std(ddof=1) / np.sqrt(len(apart))
                with_error(cell, apart.mean(), error, 1e-4, 1)


def _coverage(case, result, table):
    values, _ = case.contest(result)["this model"]
    if case.measured:
        stated = [0.5, 0.8, 0.9, 0.95]
        held = np.empty((4, len(case.y)), dtype=bool)
        order = np.empty(len(case.y))
        for line, (_, test) in zip(case.models, case.splits, strict=True):
            asked = case.X[test], case.errors[test]
            _, spread = line.predict(*asked, return_std=True)
            wider = np.hypot(spread, case.target_errors[test]) / spread
            for k, share_ in enumerate(stated):
                ends = line.predict_interval(*asked, coverage=share_)
                size = wider * (ends[:, 1] - ends[:, 0]) / 2
                held[k, test] = abs(case.y - values)[test] <= size
                order[test] = size if k == 0 else order[test]
    else:
        stated, held, order = [case.quantile], [case.y <= values], values
    tests = np.concatenate([test for _, test in case.splits])
    thirds = np.array_split(tests[np.argsort(order[tests], kind="stable")], 3)
    for row, one, hit in zip(table.rows, stated, held, strict=True):
        share(row[0], one)
        with_error(row[1], hit.mean(), np.sqrt(hit.var() / len(hit)))
        for cell, third in zip(row[2:], thirds, strict=True):
            share(cell, hit[third].mean())


def _slopes(case, result, table):
    line = case.train(slice(None))
    plain = MeasuredRegressor(cv=None).fit(case.X, case.y)
    for j, row in enumerate(table.rows):
        text(row[0], NAMES[j])
        with_error(row[1], line.coef_[j], line.coef_std_[j], 1e-4, 1)
        with_error(row[2], plain.coef_[j], plain.coef_std_[j], 1e-4, 1)
        apart = abs(line.coef_[j] - plain.coef_[j]) / line.coef_std_[j]
        assert float(row[3].value) == pytest.approx(apart)
        assert row[3].text == f"{apart:.1f}"


def _again(case, result, table):
    cell, part = case.train(slice(None)).remeasure(case.X, X_err=case.errors)
    names = np.array([NAMES[j] for j in cell])
    assert sum(int(row[1].value) for row in table.rows) == len(names)
    for row in table.rows:
        own = names == row[0].text
        count(row[1], own.sum())
        count(row[2], np.isnan(case.X[own, NAMES.index(row[0].text)]).sum())
        share(row[3], part[own].mean())


def _line(model):
    """Weights of a model in the units of the data."""
    if isinstance(model, MeasuredRegressor):
        return model.coef_
    return model[-1].coef_ @ model.linear_map_


def _weights(case, result, table):
    w, spread = _line(case.train(slice(None))), np.nanstd(case.X, axis=0)
    without = _line(case.train(slice(None), plain=True)) if case.radius else None
    order = np.argsort(-abs(w * spread))
    for row, j in zip(table.rows, order, strict=True):
        text(row[0], NAMES[j])
        number(row[1], w[j], 1e-4)
        number(row[2], w[j] * spread[j], 1e-4)
        bar(row[3], float(row[2].value), float(table.rows[0][2].value))
        if without is not None:
            number(row[4], without[j], 1e-4)


def _scales(case, result, table):
    OF_CLASSES[table.label](case, table)


def _certificate(case, result, table):
    (row,) = table.rows
    last = case.train(slice(None))[-1]
    text(row[0], "flux")
    assert float(row[1].value) == pytest.approx(last.objective_, rel=1e-6)
    assert float(row[2].value) <= 1e-4
    text(row[3], result["training"]["problems"][0]["iterations"])


CHECKS = {
    "Mean absolute error": _compare,
    "Mean pinball loss": _compare,
    "Coverage": _coverage,
    "Slopes": _slopes,
    "What to measure again": _again,
    "Weights": _weights,
    "Scales of the features": _scales,
    "Certificates": _certificate,
}


def ordinary():
    X, y, *_ = measurements()
    return Fit(X, y, "")


def standardized():
    X, y, *_ = measurements()
    words = "--standardize --radius 0.3"
    return Fit(X, y, words, radius=0.3, steps=(StandardScaler(),))


def tolerances():
    X, y, E, _ = measurements()
    words = "--errors suffix:_err box --radius 0.2 --quantile 0.8"
    return Fit(X, y, words, quantile=0.8, radius=0.2, E=E)


def true_values():
    X, y, E, e = measurements(150)
    X[np.random.default_rng(3).random(X.shape) < 0.1] = np.nan
    E = np.where(np.isnan(X), 0, E)
    return Fit(X, y, "--model measured --errors suffix:_err", E=E, e=e)


MEASURED = {"Slopes", "What to measure again", "Mean absolute error"}
CASES = {
    ordinary: {"Mean absolute error", "Certificates"},
    standardized: {"Mean absolute error", "Certificates"},
    tolerances: {"Mean pinball loss", "Certificates"},
    true_values: MEASURED,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", CASES, ids=lambda made: made.__name__)
def test_every_table_of_numbers_is_what_the_data_says(made, tmp_path):
    case = made()
    words = f"{case.words} --folds 4 --report r.html"
    result = told(tmp_path, case.frame, words)
    page = (tmp_path / "r.html").read_text("utf-8")
    tables = {one.label: one for one in tables_of(page)}
    everywhere = {"Coverage", "Weights", "Scales of the features"}
    assert set(tables) == everywhere | CASES[made]
    for label, one in tables.items():
        assert one.rows, label
        CHECKS[label](case, result, one)
    drawn = result["evaluation"]["residuals"]
    place = np.array(drawn["rows"]) - 1
    values, _ = case.contest(result)["this model"]
    np.testing.assert_allclose(drawn["predictions"], values[place], rtol=1e-4)
    np.testing.assert_allclose(
        drawn["residuals"], (case.y - values)[place], atol=1e-4 * np.ptp(case.y)
    )


def test_the_verdict_names_the_slope_that_errors_flatten(tmp_path):
    X, y, E, e = measurements(300)
    frame = table(X, y, E, e)
    words = "--model measured --errors suffix:_err --folds 3 --report r.html"
    result = told(tmp_path, frame, words)
    slopes = result["model"]["line"]["slopes"]
    apart = {
        name: abs(own["value"] - own["ignoring_errors"]) / own["error"]
        for name, own in slopes.items()
    }
    first = max(apart, key=apart.get)
    one = slopes[first]
    plain = estimate(one["ignoring_errors"], one["ignoring_error"])
    own = estimate(one["value"], one["error"])
    said = f"If errors were ignored, the slope of '{first}' would be {plain} instead of {own}."
    assert said in result["worth"]["detail"]
    shown = run(f"fit data.csv --target flux {words} --force", folder=tmp_path).stdout
    assert " ".join(said.split()) in " ".join(shown.split())
    assert said in (tmp_path / "r.html").read_text("utf-8").replace("&#39;", "'")
