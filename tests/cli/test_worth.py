"""Did it pay? Paired gains, the sentence that sums them up, and leaks."""

import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict

from commands import as_csv, run, two_classes
from html_tables import tables_of
from wideberth import RobustLinearSVC, robust_scorer
from wideberth.cli import evaluation
from wideberth.cli.advice import judge_worth
from wideberth.cli.describe import find_leaks, separation
from wideberth.cli.evaluation import paired_gain
from wideberth.cli.options import FitOptions, Radii
from wideberth.cli.output import points
from wideberth.cli.prepare import Columns, PreparedRows
from wideberth.cli.result import (
    Evaluation,
    FoldMeans,
    Gain,
    Gains,
    ModelFacts,
    ModelScores,
    NoiseFacts,
)
from wideberth.cli.uncertainty import Uncertainty

RNG = np.random.default_rng(3)
SPLITTER = StratifiedKFold(5, shuffle=True, random_state=0)


def fit(tmp_path, table, *arguments, code=0):
    """Result of a fit as plain data, and what the screen shows."""
    (tmp_path / "data.csv").write_text(table)
    words = ["fit", "data.csv", "--target", "state", *map(str, arguments)]
    told = json.loads(run("", *words, "--json", folder=tmp_path, code=code).stdout)
    return told, {one["code"]: one["text"] for one in told["warnings"]}


def rows_of(X, y):
    """Rows to train on, whose columns have the names a, b, c, …"""
    return PreparedRows(X=X, y=y, columns=Columns(tuple("abcdefgh"[: X.shape[1]])))


# -- gains -----------------------------------------------------------------------------


def test_a_gain_has_the_error_of_a_paired_t_test_over_rows():
    """The intervals of two models that are often wrong together are narrow."""
    own = RNG.random(60) < 0.5
    other = own ^ (RNG.random(60) < 0.15)
    fold = np.arange(60) % 4
    gain = paired_gain(own, other, fold, np.zeros(60, dtype=int))
    test = stats.ttest_rel(own.astype(float), other.astype(float))
    interval = test.confidence_interval(0.95)
    assert (gain.low, gain.high) == pytest.approx((interval.low, interval.high))
    assert gain.mean == pytest.approx(own.mean() - other.mean())
    assert gain.error == pytest.approx(gain.mean / test.statistic)
    each = [own[fold == k].mean() - other[fold == k].mean() for k in range(4)]
    np.testing.assert_allclose(gain.folds, each)


def test_in_balanced_accuracy_every_class_counts_the_same():
    """Of two classes, that is Welch's test of one against the other turned round."""
    group = (np.arange(90) >= 70).astype(int)
    own = RNG.random(90) < 0.7
    other = own ^ (RNG.random(90) < 0.3)
    fold = np.arange(90) % 5
    gain = paired_gain(own, other, fold, group)
    apart = own.astype(float) - other
    welch = stats.ttest_ind(apart[:70], -apart[70:], equal_var=False)
    ends = welch.confidence_interval(0.95)
    assert 2 * gain.low == pytest.approx(ends.low)
    assert 2 * gain.high == pytest.approx(ends.high)
    assert 2 * gain.mean == pytest.approx(apart[:70].mean() + apart[70:].mean())
    assert 2 * gain.error == pytest.approx(2 * gain.mean / welch.statistic)
    each = [
        balanced_accuracy_score(
            group[fold == k], np.where(hit, group, 1 - group)[fold == k]
        )
        for hit in (own, other)
        for k in range(5)
    ]
    np.testing.assert_allclose(gain.folds, np.subtract(each[:5], each[5:]))


@pytest.fixture(scope="module")
def rare():
    """Rows of which one in twelve is sick, by a feature that tells little."""
    rng = np.random.default_rng(11)
    sick = np.arange(240) % 12 == 0
    X = rng.normal(size=(240, 3)) + np.outer(sick, [1.5, 0, 0])
    return X.round(3), np.where(sick, "sick", "well")


@pytest.mark.parametrize("noise", [(), ("--score-radius", 0.5)])
def test_a_choice_among_balanced_models_is_by_balanced_accuracy(rare, tmp_path, noise):
    X, y = rare
    words = ("--class-weight", "balanced", "--C", "auto", "--radius", 0.4, "--folds", 3)
    result, _ = fit(tmp_path, as_csv(X, y), *words, *noise)
    choice = result["choice"]
    assert choice["measure"] == "balanced accuracy"
    scorer = robust_scorer(0.5 if noise else 0, balanced=True)
    search = GridSearchCV(
        RobustLinearSVC(radius=0.4, class_weight="balanced"),
        {"C": choice["Cs"]},
        scoring=scorer,
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    # The least C leaves the intercept nearly open, and solvers differ there.
    np.testing.assert_allclose(choice["scores"][0][1:], scores[1:], atol=0.02)
    assert scores[choice["Cs"].index(choice["C"])] >= scores.max() - 0.03
    if not noise:
        one = search.best_estimator_
        expected = balanced_accuracy_score(y, one.predict(X))
        assert scorer(one, X, y) == pytest.approx(expected)


def test_c_is_tuned_on_the_other_folds_and_never_on_the_own():
    X, y = two_classes(90, seed=4)
    options = FitOptions(data="", target="")
    fold = evaluation.assign_folds(options, y)
    given = Uncertainty(1.0, "l2", "")
    before = evaluation.tuned_Cs(options, given, rows_of(X, y), fold).Cs
    scores = {}
    for C in before:
        right = cross_val_predict(RobustLinearSVC(C=C), X, y, cv=SPLITTER) == y
        scores[C] = np.array([right[fold == k].mean() for k in range(5)])
    for k, C in enumerate(before):
        elsewhere = {one: own.sum() - own[k] for one, own in scores.items()}
        assert elsewhere[C] == max(elsewhere.values())


def test_a_sample_has_every_class_in_every_fold_and_scales_c(monkeypatch):
    monkeypatch.setattr(evaluation, "_SAMPLED", 60)
    X, y = two_classes(400)
    y[:6] = "rare"
    options = FitOptions(data="", target="", C=(3.0,))
    fold = evaluation.assign_folds(options, y)
    rows = evaluation._sampled(y, fold, 0)
    assert 60 <= len(rows) <= 60 + 15
    cells = {(label, k) for label, k in zip(y[rows], fold[rows], strict=True)}
    assert len(cells) == 15
    asked = options, Uncertainty(0.0, "l2", ""), rows_of(X, y), fold
    tuned = evaluation.tuned_Cs(*asked)
    assert tuned.rows == len(rows)
    seen = []
    real = evaluation.search_grid
    monkeypatch.setattr(
        evaluation,
        "search_grid",
        lambda *words, **more: seen.append(real(*words, **more)) or seen[-1],
    )
    again = evaluation.tuned_Cs(*asked)
    tried = np.concatenate([search.Cs_ for search in seen]) * len(rows) / 400
    assert np.isclose(tried[-1], 3.0)
    assert all(np.isclose(tried, C).any() for C in again.Cs)


# -- the sentence ----------------------------------------------------------------------


MODEL = ModelFacts([], [], [], {}, [], C=1.0, norm_penalty=0.0, ramp=None)
NOISE = NoiseFacts(
    "", None, 0.3, 0.3, 0.3, 0.3, "l2", True, "in the units of the data", {}, False, 1.0
)


def stated(measured, noisy, own=0.9):
    """Whether it paid with these gains over both ordinary SVMs, and their errors."""

    def gain(mean, error):
        return Gain(mean, error, mean - 2.8 * error, mean + 2.8 * error, 0.95, [])

    both = zip(("ordinary", "tuned"), measured, noisy, strict=True)
    gains = {name: Gains(gain(*m), gain(*c)) for name, m, c in both}
    shares = FoldMeans(own, 0.01, [])
    models = {"robust": ModelScores(shares, shares, None, {})}
    found = Evaluation(
        5, 5, False, "accuracy", None, None, majority=0.5, models=models, confusion={},
        gains=gains,
    )  # fmt: skip
    return judge_worth(MODEL, NOISE, found, None)


UP, DOWN, EVEN = (0.05, 0.01), (-0.05, 0.01), (0.01, 0.01)


@pytest.mark.parametrize(
    ("measured", "noisy", "told"),
    [
        (
            (UP, UP),
            (UP, UP),
            "Robustness paid: more accurate, on the data as given and under",
        ),
        (
            (EVEN, EVEN),
            (UP, UP),
            "Robustness paid: more accurate under worst-case noise; no measurable "
            "difference on the data as given.",
        ),
        (
            (EVEN, DOWN),
            (UP, UP),
            "paid: more accurate under worst-case noise, less accurate on the data as",
        ),
        (
            (UP, UP),
            (EVEN, UP),
            "paid: more accurate on the data as given; no measurable difference under",
        ),
        (
            (UP, EVEN),
            (EVEN, UP),
            "did not pay: no measurable difference, on the data as given or under",
        ),
        (
            (EVEN, DOWN),
            (EVEN, UP),
            "did not pay: less accurate on the data as given; no measurable",
        ),
        (
            (EVEN, EVEN),
            (UP, DOWN),
            "did not pay: less accurate under worst-case noise; no measurable",
        ),
    ],
)
def test_it_pays_only_if_it_is_ahead_of_both(measured, noisy, told):
    verdict = stated(measured, noisy).verdict
    assert told in verdict
    assert not re.search(r"\d", verdict)


def test_what_is_no_better_than_guessing_does_not_pay():
    said = stated((UP, UP), (UP, UP), own=0.5)
    assert said.as_measured == said.under_noise == "even"
    assert "no better than always naming one class" in said.verdict


def test_the_verdict_and_its_table_are_the_same_everywhere(tmp_path):
    X, y = two_classes(80)
    result, _ = fit(tmp_path, as_csv(X, y), "--radius", 0.3)
    command = "fit data.csv --target state --radius 0.3 --report r.html"
    shown = run(command, folder=tmp_path).stdout
    verdict = result["worth"]["verdict"]
    assert " ".join(shown.split()).startswith(f"verdict {verdict}")
    page = (tmp_path / "r.html").read_text("utf-8")
    assert f"<strong>{verdict}</strong>" in page
    (table,) = (one for one in tables_of(page) if one.label == "Accuracy")
    for row in table.rows:
        row[0].text = row[0].text.removeprefix("ordinary ")
        told = [one.text.removesuffix(" %") for one in row if one.text != "–"]
        cells = " +".join(map(re.escape, told))
        assert re.search(cells, shown), cells
    assert "radius 0.3 in the units of the data" in " ".join(shown.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "This is an ordinary SVM"),
        (("--C", "auto"), "This is an ordinary SVM"),
        (("--radius", 0.2, "--folds", 0), "Whether robustness paid is not known"),
        (("--ramp",), "Allowing for wrong labels"),
        (("--norm-penalty", 1, "--radius", 0.1), "Robustness and the norm penalty"),
    ],
)
def test_it_speaks_of_what_was_asked_for(tmp_path, arguments, told):
    X, y = two_classes(60)
    result, _ = fit(tmp_path, as_csv(X, y), *arguments, "--report", "r.html")
    assert result["worth"]["verdict"].startswith(told)
    page = (tmp_path / "r.html").read_text("utf-8")
    assert told in page
    assert "Critical radius" in page


def test_noise_is_that_which_was_asked_for_whatever_was_chosen(tmp_path):
    X, y = two_classes(80)
    words = ("--radius", 0, "--C", "auto", "--folds", 3)
    result, _ = fit(tmp_path, as_csv(X, y), *words)
    assert result["worth"]["verdict"].startswith("This is an ordinary SVM")
    assert result["evaluation"]["gains"] == {}
    words = ("--radius", "0,0.5", "--score-radius", 0.5, "--folds", 3)
    result, _ = fit(tmp_path, as_csv(X, y), *words, "--report", "r.html")
    assert result["uncertainty"]["asked"] == 0.5
    chosen = result["choice"]["factor"] == 0
    assert ("chose radius 0" in result["worth"]["detail"]) == chosen
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "under the worst noise, radius 0.5" in page
    asked = evaluation.asked_radius
    options = FitOptions(data="", target="", radius=Radii((0.0, 2.0)))
    unit = Uncertainty(1.0, "l2", "", unit_radius=True)
    assert asked(options, unit, Uncertainty(0.0, "l2", "")) == 2
    assert asked(options, unit, Uncertainty(0.7, "l2", "")) == 0.7


# -- leaks -----------------------------------------------------------------------------


def test_separation_is_the_auc_of_the_pair_that_is_hardest():
    y = RNG.integers(0, 2, 300)
    x = np.round(y * 4 + RNG.normal(size=300), 1)
    assert separation(-x, y, 1e-3) == pytest.approx(roc_auc_score(y, x))
    three = RNG.integers(0, 3, 300)
    x = 8.0 * np.array([2, 0, 1])[three] + RNG.normal(size=300)
    assert separation(x, three, 1e-3) > 0.99
    one_apart = np.where(three == 0, 30.0, 0.0) + RNG.normal(size=300)
    assert separation(one_apart, three, 1e-3) == 0


def test_chance_is_no_leak():
    """The p value is that of Mann and Whitney, ties included."""
    y = np.repeat([0, 1], 6)
    assert separation(y + 0.1 * np.arange(12), y, 1e-3) == 0
    x = y + 0.0  # a copy
    test = stats.mannwhitneyu(
        x[y == 1], x[y == 0], method="asymptotic", use_continuity=False
    )
    assert separation(x, y, 1.001 * test.pvalue) == 1
    assert separation(x, y, 0.999 * test.pvalue) == 0


def test_leaking_columns_are_named_and_others_are_not(tmp_path):
    X, y = two_classes(200)
    code = (y == "sick").astype(int)
    later = np.where(code == 1, "", RNG.normal(size=200).round(2))
    table = as_csv(
        X, y, outcome=1 - code, seen=code * 9 + RNG.normal(size=200).round(2)
    )
    _, said = fit(tmp_path, table, "--radius", 0.1, "--folds", 0)
    assert said["leak"].startswith(
        "'outcome' and 'seen' alone separate the classes (AUC 1; 1 is perfect)."
    )
    assert "mass" not in said["leak"]
    assert "separable" not in said  # the leak says why
    words = ("--missing", "median", "--folds", 0)
    _, said = fit(tmp_path, as_csv(X, y, later=later), *words)
    assert "Missing values in 'later' alone separate the classes (AUC" in said["leak"]
    assert "leak" not in fit(tmp_path, as_csv(X, y), "--folds", 0)[1]


def test_sparse_and_large_tables_have_the_same_leaks(monkeypatch):
    y = RNG.integers(0, 2, 400)
    X = np.c_[y * 1.0, RNG.random((400, 3)) < 0.1, 1.0 - y]
    dense = find_leaks(rows_of(X, y), 0)
    assert [one.feature for one in dense] == ["a", "e"]
    assert find_leaks(rows_of(sp.csr_array(X), y), 0) == dense
    monkeypatch.setattr("wideberth.cli.describe._ROWS", 100)
    assert find_leaks(rows_of(X, y), 0) == dense


# -- advice ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mean", "error", "told"),
    [
        (-0.0083, 0.00042, "−0.830 ± 0.042"),
        (0.084, 0.0213, "+8.4 ± 2.1"),
        (0.2, 0.117, "+20 ± 12"),
        (-0.0001, 0.02, "+0.0 ± 2.0"),
        (0.0, 0.0, "none"),
        (0.0012, 0.000996, "+0.12 ± 0.10"),
    ],
)
def test_an_error_has_two_significant_digits(mean, error, told):
    assert points(Gain(mean, error, 0, 0, 0.95, [])) == told
