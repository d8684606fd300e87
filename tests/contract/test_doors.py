"""What the doors of the library say and accept: folds, arguments, models, interrupts."""

import copy
import inspect
import io
import json
import pickle
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from wideberth import (
    Box,
    MeasuredRegressor,
    MeasuredSVC,
    RobustKernelSVC,
    RobustLinearRegressor,
    RobustLinearSVC,
    RobustLinearSVCCV,
    load_model,
    make_robust_pipeline,
    open_data,
)
from wideberth.cli import main

# -- folds that lack a class -----------------------------------------------------------

#: The second fold trains on the first half alone.
HALVES = [(np.arange(0, 16, 2), np.arange(1, 16, 2)), (np.arange(8), np.arange(8, 16))]


def two_halves():
    y = np.repeat(["calm", "wild"], 8)
    X = np.random.default_rng(0).normal(size=(16, 2)) + (y == "wild")[:, None]
    return X, y


@pytest.mark.parametrize(
    "search",
    [
        RobustLinearSVCCV([0.1, 1], cv=HALVES),
        RobustLinearSVCCV((0.1, 1), cv=HALVES, prove=0.1),
        RobustKernelSVC([0.1, 1], cv=HALVES),
        MeasuredSVC(Cs=[0.1, 1], cv=HALVES),
        MeasuredSVC(probability=True, cv=HALVES),
    ],
)
def test_a_fold_without_a_class_is_named_with_cv_and_the_class(search):
    X, y = two_halves()
    with pytest.raises(ValueError, match=r"Fold 2 of 2 in cv .* 'wild'"):
        search.fit(X, y)


def test_probabilities_name_the_fold_that_lacks_one_of_three_classes():
    X, y = two_halves()
    y[:4] = "mild"
    with pytest.raises(ValueError, match=r"Fold 2 of 2 in cv .* 'wild'.*every class"):
        MeasuredSVC(probability=True, cv=HALVES).fit(X, y)


def test_labels_of_a_single_class_are_still_the_fault_of_y():
    X, _ = two_halves()
    with pytest.raises(ValueError, match="Check y"):
        RobustLinearSVCCV([0.1, 1], cv=HALVES).fit(X, np.full(16, "calm"))


# -- arguments by position ---------------------------------------------------------------


def test_methods_with_one_answer_per_row_take_their_arguments_by_position():
    rng = np.random.default_rng(0)
    X, E = rng.normal(size=(60, 2)), np.full((60, 2), 0.1)
    model = MeasuredRegressor().fit(X, X @ [1, -1], X_err=E)
    ends = model.predict_interval(X, E, 0.8)
    np.testing.assert_array_equal(
        ends, model.predict_interval(X, X_err=E, coverage=0.8)
    )
    values, spreads = model.predict(X, E, True)
    assert values.shape == spreads.shape == (60,)
    chunks = open_data(
        [(X[:40], None, None, None, E[:40]), (X[40:], None, None, None, E[40:])]
    )
    np.testing.assert_allclose(model.predict_interval(chunks, None, 0.8), ends)
    with pytest.raises(ValueError, match="return_std"):
        model.predict(chunks, None, True)


# -- models of the command line in Python ------------------------------------------------


@pytest.fixture
def table(tmp_path, monkeypatch):
    """A table with a positive column, a category, a date and limits of detection."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    frame = pd.DataFrame({"size": np.exp(rng.normal(size=80) + y).round(3)})
    frame["mass"] = rng.normal(size=80).round(3) + y
    frame["kit"] = rng.choice(["a", "b"], 80)
    frame["day"] = [f"2024-03-{1 + k % 28:02}" for k in range(80)]
    frame["dose"] = np.where(rng.random(80) < 0.3, "<0.5", "0.75")
    frame["state"] = np.where(y, "sick", "well")
    frame.to_csv("t.csv", index=False)
    return frame


def fit(options, drop):
    command = f"fit t.csv --target state --folds 0 --out m.wideberth --drop {drop}"
    assert main([*command.split(), *options.split()]) == 0
    return load_model("m.wideberth")


@pytest.mark.parametrize(
    ("options", "drop", "named"),
    [
        ("--log size --radius 0", "kit day dose", "--log.*'size'"),
        ("--one-hot kit --radius 0", "day dose", "--one-hot.*'kit'"),
        ("--read dates=day --radius 0", "kit dose", "dates.*'day'"),
        ("--limits", "kit day", "--limits.*'dose'"),
    ],
)
def test_a_model_whose_columns_are_prepared_has_no_pipeline_for_frames(
    table, options, drop, named
):
    model = fit(options, drop)
    assert model.classes.tolist() == ["sick", "well"]
    with pytest.raises(Exception, match=rf"{named}.*wideberth predict"):
        model.pipeline.predict(table[["size", "mass"]])


def test_the_pipeline_of_any_other_model_predicts_like_the_command(table):
    model = fit("--radius 0", "kit day dose")
    assert main(["predict", "m.wideberth", "t.csv", "--out", "p.csv"]) == 0
    said = pd.read_csv("p.csv")["prediction"].to_numpy()
    np.testing.assert_array_equal(model.pipeline.predict(table[["size", "mass"]]), said)


# -- Ctrl-C ------------------------------------------------------------------------------


class Interrupting(io.StringIO):
    """A terminal at which somebody presses Ctrl-C once a line of progress appears."""

    def __init__(self, line):
        super().__init__()
        self.line = line

    def isatty(self):
        return True

    def write(self, text):
        if self.line and self.line in text:
            self.line = None
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


@pytest.mark.parametrize(
    ("line", "folds"),
    [
        ("fold 1 of 5", None),
        ("fold 2 of 5", None),
        ("fold 3 of 5", 2),
        ("fold 5 of 5", 4),
        ("comparing", 5),
    ],
)
def test_what_is_said_after_an_interrupt_is_true(
    table, monkeypatch, capsys, line, folds
):
    for name, value in {"TERM": "xterm", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    terminal = Interrupting(line)
    monkeypatch.setattr(sys, "stderr", terminal)
    command = "fit t.csv --target state --drop kit day dose --radius 0.1"
    code = main([*command.split(), "--out", "m.wideberth", "--report", "r.html"])
    assert code == 130
    page = Path("r.html").read_text(encoding="utf-8")
    said, shown = terminal.getvalue(), capsys.readouterr().out
    for text in (said, page, shown):
        assert "single row" not in text
    assert "interrupted. The model is kept" in said
    if folds is None:
        assert "before two folds were done" in said
        assert "interrupted before two folds were done" in page
        assert "5-fold" not in shown
    else:
        assert f"{folds} of 5 folds" in said
    if folds in (2, 4):
        assert f"interrupted after {folds} of 5 folds" in " ".join(shown.split())
        assert re.search(rf"interrupted after {folds} of 5 folds", page)
    assert main(["predict", "m.wideberth", "t.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["predicted"] == 80


# -- habits from scikit-learn --------------------------------------------------------------

MODELS = [RobustLinearSVC, RobustLinearSVCCV, RobustLinearRegressor, RobustKernelSVC]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ({"dual": False}, "leave it out"),
        ({"loss": "hinge"}, "hinge loss"),
        ({"penalty": "l1"}, "norm_penalty"),
        ({"max_iter": 100}, "solver_options={'max_iter'"),
        ({"random_state": 0}, "solver_options={'random_state'"),
        ({"kernel": "rbf"}, "RBF"),
        ({"alpha": 1.0}, "C"),
        ({"epsilon": 0.1}, "tube"),
    ],
)
def test_an_argument_of_scikit_learn_is_answered_with_what_to_give(
    model, argument, told
):
    (name,) = argument
    with pytest.raises(TypeError, match=rf"{model.__name__}.*'{name}'.*{told}"):
        model(**argument)


@pytest.mark.parametrize("model", MODELS)
def test_signature_clone_and_pickle_know_the_parameters_and_no_others(model):
    known = list(inspect.signature(model).parameters.values())
    kinds = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    assert {one.kind for one in known} <= {*kinds}
    made = model(tol=1e-3)
    assert {*made.get_params()} == {one.name for one in known}
    for back in (clone(made), pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert back.get_params() == made.get_params()
    with pytest.raises(TypeError, match="unexpected keyword"):
        model(nonsense=1)


# -- noise in the units of another table -----------------------------------------------------


def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::3], y[::3]


NOISY = [
    lambda noise: RobustLinearSVC(radius=0.1, noise=noise),
    lambda noise: RobustLinearRegressor(radius=0.1, noise=noise),
    lambda noise: RobustLinearSVCCV([0.1, 1.0], [0.1], noise=noise),
    lambda noise: RobustKernelSVC(radius=0.1, noise=noise),
]


@pytest.mark.parametrize("model", NOISY)
@pytest.mark.parametrize("kind", [np.asarray, Box, lambda s: np.diag(s**2)])
def test_raw_scales_behind_a_plain_scaler_are_warned_of(model, kind):
    X, y = tumours()
    plain = make_pipeline(StandardScaler(), model(kind(X.std(axis=0))))
    with pytest.warns(UserWarning, match="make_robust_pipeline") as said:
        plain.fit(X, y)
    told = [str(one.message) for one in said if "make_robust" in str(one.message)]
    assert len(told) == 1
    assert "column 23" in told[0]  # worst area, of the largest unit


@pytest.mark.parametrize("model", NOISY)
def test_scales_that_a_robust_pipeline_converts_are_not_warned_of(model, recwarn):
    X, y = tumours()
    X = np.column_stack([X, np.full(len(X), 0.1), np.full(len(X), 1e6)])  # constant
    noise = X.std(axis=0)
    noise[-2:] = 5
    make_robust_pipeline(StandardScaler(), model(noise)).fit(X, y)
    assert not any("make_robust" in str(one.message) for one in recwarn)


def test_large_scales_counted_by_a_tiny_radius_are_not_warned_of(recwarn):
    X, y = tumours()
    X = X / X.std(axis=0)
    RobustLinearSVC(radius=1e-4, noise=np.full(X.shape[1], 1000.0)).fit(X, y)
    assert not any("make_robust" in str(one.message) for one in recwarn)
