"""`--model measured` on the command line: errors and gaps in, verdicts and worth out."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from commands import read_csv
from wideberth import MeasuredSVC
from wideberth.cli import main
from wideberth.cli.model import load_model

NAMES = ["stellar mass", "temp", "size"]
RNG = np.random.default_rng(5)
N = 120
KIND = RNG.integers(0, 3, N)
TRUE = (
    RNG.normal(size=(N, 1)) + 0.4 * RNG.normal(size=(N, 3)) + np.c_[KIND, -KIND, KIND]
)
E = RNG.uniform(0.05, 0.9, TRUE.shape).round(3)
X = (TRUE + E * RNG.normal(size=TRUE.shape)).round(4)
X[RNG.random(X.shape) < 0.1] = np.nan
LABELS = np.array(["dwarf", "giant", "nova"])[KIND]
TWO = KIND < 2


def table(rows=TWO):
    """Values with their errors, and the class."""
    frame = pd.DataFrame(X, columns=NAMES)
    for j, name in enumerate(NAMES):
        frame[f"{name}_err"] = np.where(np.isnan(X[:, j]), np.nan, E[:, j])
    return frame.assign(kind=LABELS)[rows]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with data.csv; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    table().to_csv("data.csv", index=False)

    def run(command, code=0):
        assert main(shlex.split(command)) == code
        return capsys.readouterr()

    return run


FIT = "fit data.csv --target kind --model measured --force --out m.wideberth --json"
ERRORS = "--errors suffix:_err"


def in_python(rows=TWO, **settings):
    """What the command line should train."""
    model = MeasuredSVC(random_state=0, **settings)
    return model.fit(X[rows], LABELS[rows], X_err=np.nan_to_num(E[rows]))


@pytest.mark.filterwarnings("ignore:giant against the rest")  # it lies in between
@pytest.mark.parametrize("rows", [TWO, TWO | True], ids=["two classes", "three"])
def test_one_answer_with_the_library(cli, rows):
    """Classes, chances and what to measure again are those of `MeasuredSVC.verdict`."""
    table(rows).to_csv("data.csv", index=False)
    result = json.loads(cli(f"{FIT} {ERRORS} --folds 0 --radius 0.2").out)
    expected = in_python(rows, radius=0.2).verdict(X[rows], np.nan_to_num(E[rows]))
    found = read_csv(cli("predict m.wideberth data.csv").out)
    assert [row["prediction"] for row in found] == expected.label.tolist()
    assert [row["runner_up"] for row in found] == expected.runner_up.tolist()
    for name in ("margin", "spread", "chance", "share"):
        numbers = [float(row[name]) for row in found]
        np.testing.assert_allclose(numbers, getattr(expected, name), atol=1e-6)
    certain = [row["verdict"] == "certain" for row in found]
    assert certain == expected.certain.tolist()
    again = [NAMES.index(row["remeasure"]) for row in found]
    assert again == expected.remeasure.tolist()
    said = result["verdicts"]
    assert said["certain"] == expected.certain.sum()
    assert said["certain"] + said["doubtful"] == rows.sum()
    chances = [one["chance"] for one in said["most_doubtful"]]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] == pytest.approx(expected.chance.max())


def test_worth_and_report(cli):
    """The gain is over ignoring the errors, fold by fold, and the page tells it."""
    result = json.loads(cli(f"{FIT} {ERRORS} --folds 3 --report r.html").out)
    found = result["evaluation"]
    own, plain = (found["models"][n]["as_measured"] for n in ("measured", "ordinary"))
    differences = np.subtract(own["folds"], plain["folds"])
    np.testing.assert_allclose(
        found["gains"]["ordinary"]["as_measured"]["folds"], differences
    )
    assert found["gains"]["tuned"]["under_noise"] is None
    verdicts = found["verdicts"]
    kinds = [verdicts[kind] for kind in ("certain", "doubtful")]
    assert sum(one["rows"] for one in kinds) == TWO.sum()
    right = sum(one["rows"] * (one["accuracy"] or 0) for one in kinds)
    folds = np.array(own["folds"])
    assert folds.min() <= right / TWO.sum() <= folds.max()
    page = Path("r.html").read_text("utf-8")
    for heading in ("The most doubtful rows", "What to measure again"):
        assert heading in page
    assert result["worth"]["verdict"].startswith("Modelling the errors")
    assert "<strong>Modelling the errors" in page
    told = cli(f"fit data.csv --target kind --model measured {ERRORS} --folds 2").out
    assert told.startswith("verdict    Modelling the errors ")
    assert re.search(
        r"verdicts +\d+ rows certain, \d+ doubtful at 95 % confidence", told
    )


def test_a_population_that_does_not_fit_is_told_with_the_names_of_its_columns(cli):
    frame = table()
    far = np.where(np.arange(len(frame)) % 10 == 0, 40.0, 1.0)
    frame["temp"] = frame["temp"] * far
    frame.to_csv("far.csv", index=False)
    how = f"fit far.csv --target kind --model measured {ERRORS} --folds 0"
    said = r"does not fit these measurements: [^.]* in column temp"
    assert re.search(said, " ".join(cli(f"{how} --report r.html").err.split()))
    assert re.search(said, Path("r.html").read_text(encoding="utf-8"))
    plain = cli(f"fit data.csv --target kind --model measured {ERRORS} --folds 0").err
    assert "does not fit" not in plain


def test_certify_says_how_right_the_certain_are(cli):
    """Beside the true class; a lower confidence makes more rows certain."""
    cli(f"{FIT} {ERRORS} --folds 0")
    summary = json.loads(cli("certify m.wideberth data.csv --json").out)
    rows = summary["predictions"]
    right = np.array([row["correct"] for row in rows])
    sure = np.array([row["verdict"] == "certain" for row in rows])
    assert summary["certain"] == sure.sum()
    assert summary["accuracy"] == pytest.approx(right.mean())
    assert summary["accuracy_of_certain"] == pytest.approx(right[sure].mean())
    more = json.loads(cli("certify m.wideberth data.csv --confidence 0.6 --json").out)
    assert more["certain"] == sum(row["chance"] <= 0.4 for row in rows)
    assert more["certain"] > summary["certain"]
    assert "--confidence" in cli("certify m.wideberth data.csv --at 1", code=1).err
    told = cli("certify m.wideberth data.csv --out c.csv").out
    assert f"{sure.sum()} of {TWO.sum()} rows are certain" in told


def test_new_tables_need_their_own_errors(cli):
    """A value without an error gets no answer."""
    cli(f"{FIT} {ERRORS} --folds 0")
    pd.DataFrame(X[TWO], columns=NAMES).to_csv("bare.csv", index=False)
    assert "stellar mass_err" in cli("predict m.wideberth bare.csv", code=1).err
    there = cli("predict m.wideberth data.csv").out
    other = table().rename(columns={f"{name}_err": f"{name}_sd" for name in NAMES})
    other.to_csv("other.csv", index=False)
    assert cli("predict m.wideberth other.csv --errors suffix:_sd").out == there
    frame = table()
    k = int(np.flatnonzero(frame["temp"].notna())[0])
    frame.iloc[k, frame.columns.get_loc("temp_err")] = np.nan
    frame.to_csv("holes.csv", index=False)
    answer = cli("predict m.wideberth holes.csv --scores")
    assert "1 of" in answer.err
    assert "lacks an error and gets no answer" in answer.err
    rows = read_csv(answer.out)
    assert [bool(row["verdict"]) for row in rows].count(False) == 1
    assert not rows[k]["prediction"]


def test_gaps_alone_and_lopsided_errors(cli):
    """Without --errors only gaps are uncertain; two errors count as their mean."""
    words = f"--drop {' '.join(map(repr, marked()))} --report r.html"
    result = json.loads(cli(f"{FIT} {words}").out)
    assert result["uncertainty"]["errors"] is None
    assert "Modelling the gaps" in Path("r.html").read_text("utf-8")
    model = MeasuredSVC(random_state=0).fit(X[TWO], LABELS[TWO])
    found = read_csv(cli("predict m.wideberth data.csv").out)
    np.testing.assert_allclose(
        [float(row["chance"]) for row in found], model.verdict(X[TWO]).chance, atol=1e-6
    )
    frame = table().drop(columns=marked())
    for j, name in enumerate(NAMES):
        frame[f"{name}_lo"] = -0.5 * E[TWO, j]
        frame[f"{name}_hi"] = 1.5 * E[TWO, j]
    frame.to_csv("data.csv", index=False)
    cli(f"{FIT} --errors suffix:_lo,_hi --folds 0")
    found = read_csv(cli("predict m.wideberth data.csv").out)
    expected = in_python().verdict(X[TWO], np.nan_to_num(E[TWO])).chance
    np.testing.assert_allclose(
        [float(row["chance"]) for row in found], expected, atol=1e-6
    )


def marked():
    """The error columns."""
    return [f"{name}_err" for name in NAMES]


def test_choice_of_c_and_radius(cli):
    """C is chosen, and the radius among those given."""
    words = "--C auto --radius 0,1.0 --folds 2 --report r.html"
    result = json.loads(cli(f"{FIT} {ERRORS} {words}").out)
    choice = result["choice"]
    scores = np.array(choice["scores"])
    assert scores.shape == (2, len(choice["Cs"]))
    assert choice["factor"] in (0, 1)
    assert choice["score"] == scores.max()
    chosen = scores[choice["factors"].index(choice["factor"])]
    assert chosen[choice["Cs"].index(choice["C"])] == scores.max()
    assert load_model("m.wideberth").radius == choice["factor"]
    assert "chosen from 0, 1" in result["uncertainty"]["story"]
    assert "Accuracy over C" in Path("r.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("fit data.csv --target kind --model measured --memory 1GB", "--memory"),
        ("fit data.csv --target kind --model measured --noise linf", "--noise"),
        ("fit data.csv --target kind --model measured --tol 0.1", "--tol"),
        (f"fit data.csv --target kind --model measured {ERRORS} box", "--errors … box"),
    ],
)
def test_what_is_refused(cli, command, told, capsys):
    """In one sentence, before anything is read."""
    with pytest.raises(SystemExit, match="2"):
        main(shlex.split(command))
    assert told in capsys.readouterr().err


def test_other_models_give_no_verdicts(cli):
    """They say so where a confidence is asked for; sparse data has no gaps."""
    cli(
        f"fit data.csv --target kind {ERRORS} --folds 0 --out o.wideberth --missing drop"
    )
    told = cli("predict o.wideberth data.csv --confidence 0.9", code=1).err
    assert "--model measured" in told
    with open("s.libsvm", "w") as file:
        file.write("1 1:2 2:1\n2 1:1\n" * 9)
    assert "sparse" in cli("fit s.libsvm --model measured", code=1).err


def test_missing_categories_are_gaps_and_rare_values_are_named(cli):
    """No category is not the category none; a fold must hold some value of all."""
    site = np.where(np.arange(TWO.sum()) % 3, "north", "south")
    table().assign(site=site).to_csv("data.csv", index=False)
    cli(f"{FIT} {ERRORS} --one-hot site --folds 0")
    site[7] = ""
    table().assign(site=site).to_csv("new.csv", index=False)
    there, gone = (
        read_csv(cli(f"predict m.wideberth {file}").out)[7]
        for file in ("data.csv", "new.csv")
    )
    change = abs(float(there["margin"]) - float(gone["margin"]))
    assert change < 3 * float(gone["spread"])
    assert float(gone["spread"]) >= float(there["spread"])
    few = np.where(np.arange(TWO.sum()) == 3, 1.5, np.nan)
    table().assign(few=few).to_csv("data.csv", index=False)
    told = cli(f"{FIT} {ERRORS} --folds 2", code=1).err
    assert "column 'few' has so few values" in told
    assert "--folds 0" in told
