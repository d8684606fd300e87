"""Labels that may be wrong: which rows the command line tells people to check."""

import json
import math
import re

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from commands import as_csv, read_csv, run
from wideberth import RobustLinearSVC, RobustLinearSVCCV, make_robust_pipeline

LABELS = np.array(["ill", "well"])
#: Rows whose label is wrong, some of them next to rows that lack a value.
WRONG = np.array([3, 10, 41, 42, 77, 110, 119])
#: Rows without some value, and without a label.
HOLES, UNLABELLED = [0, 9, 40, 90], [5, 111]


def table(n=120, wrong=WRONG):
    """Two classes that are apart, but for wrong labels: X and y."""
    rng = np.random.default_rng(5)
    k = np.arange(n) % 2
    X = rng.normal(size=(n, 3)) * [1, 2, 1] + np.outer(k, [5, 6, 0])
    k[wrong] = 1 - k[wrong]
    return X.round(3), LABELS[k]


def bent():
    """The same, wrong labels so far out that they bend what trusts them."""
    X, y = table()
    X[WRONG] = (X.mean(axis=0) + 6 * (X[WRONG] - X.mean(axis=0))).round(3)
    return X, y


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """ugly.csv has gaps and names, whole.csv and bent.csv none; clean.csv is right."""
    folder = tmp_path_factory.mktemp("suspects")
    X, y = table()
    (folder / "whole.csv").write_text(as_csv(X, y))
    (folder / "bent.csv").write_text(as_csv(*bent()))
    (folder / "clean.csv").write_text(as_csv(*table(wrong=[])))
    X[HOLES, [0, 1, 2, 0]] = np.nan
    y = y.astype(object)
    y[UNLABELLED] = "NA"
    names = [f"P{i + 1:03d}" for i in range(len(y))]
    (folder / "ugly.csv").write_text(as_csv(X, y, patient=names).replace("nan", "?"))
    return folder


@pytest.fixture
def fit(folder):
    """What `fit` says as JSON, or as text where `words` are asked for."""

    def fit(data, *more, words=False, code=0):
        asked = ["fit", data, "--target", "state", "--radius", "0.2", *more, "--force"]
        done = run(asked[0], *asked[1:], *([] if words else ["--json"]), folder=folder,
                   code=code)  # fmt: skip
        return done.stdout if words else json.loads(done.stdout)

    return fit


UGLY = ("ugly.csv", "--id", "patient", "--standardize", "--ramp")


def test_suspects_are_those_of_the_library_by_their_rows_in_the_file(fit):
    result = fit(*UGLY, "--folds", "0", "--tol", "1e-6")
    X, y = table()
    kept = np.setdiff1d(np.arange(120), [*HOLES, *UNLABELLED])
    model = make_robust_pipeline(
        StandardScaler(), RobustLinearSVC(radius=0.2, ramp=-1.0, tol=1e-6)
    ).fit(X[kept], y[kept])
    expected = model[-1].suspects_
    found = result["suspects"]["rows"]
    assert result["suspects"]["found"] == len(found) == len(WRONG)
    assert [one["row"] for one in found] == (kept[expected["sample"]] + 1).tolist()
    assert {one["row"] for one in found} == set((WRONG + 1).tolist())
    assert [one["id"] for one in found] == [f"P{one['row']:03d}" for one in found]
    assert [one["given"] for one in found] == expected["label"].tolist()
    assert [one["predicted"] for one in found] == expected["predicted"].tolist()
    for name in ("distance", "noises"):
        assert [one[name] for one in found] == pytest.approx(expected[name], rel=1e-3)
    assert result["model"]["ramp"] == -1.0
    problem = result["training"]["problems"][0]
    assert problem["descent"]["left_out"] == len(WRONG)
    assert problem["descent"]["ending"] == "repeats"


def test_the_terminal_lists_the_first_and_a_file_all(fit, folder):
    said = fit(*UGLY, "--folds", "0", "--suspects", "s.csv", words=True)
    assert "suspects   7 rows look mislabelled; check these first\n" in said
    rows = read_csv((folder / "s.csv").read_text())
    assert [*rows[0]] == ["row", "patient", "given", "predicted", "distance", "noises"]
    shown = re.findall(r"^ {11} *(\d+) +(P\d+) +(\w+) +(\w+)", said, re.MULTILINE)
    told = [(r["row"], r["patient"], r["given"], r["predicted"]) for r in rows]
    assert shown == told[:5]
    assert len(told) == 7
    assert "and 2 more, in s.csv\n" in said
    assert (
        "left out   7 rows; ended because the same rows were left out again\n" in said
    )
    proven = "no other weights that leave the same rows out lower the objective by more"
    assert proven in " ".join(said.split())
    assert "2 more; --suspects FILE lists all" in fit(*UGLY, "--folds", "0", words=True)


def test_without_noise_distances_have_no_radius_to_count_in(folder):
    asked = "fit whole.csv --target state --ramp --folds 0 --force"
    said = run(asked, "--suspects", "s.csv", folder=folder)
    assert "distance\n" in said.stdout
    assert "ordinary linear SVM" not in said.stderr
    rows = read_csv((folder / "s.csv").read_text())
    assert all(float(row["noises"]) == math.inf for row in rows)
    result = json.loads(run(asked, "--json", folder=folder).stdout)
    assert result["suspects"]["rows"][0]["noises"] is None


def test_no_suspects_are_plainly_none(fit, folder):
    asked = ("clean.csv", "--ramp", "--folds", "0")
    said = fit(*asked, "--suspects", "s.csv", words=True)
    assert "suspects   none: no row looks mislabelled\n" in said
    assert "left out   0 rows" in said
    assert read_csv((folder / "s.csv").read_text()) == []
    assert fit(*asked, "--report", "r.html")["suspects"]["rows"] == []
    assert "None: no row looks mislabelled." in (folder / "r.html").read_text()


def test_the_ramp_is_chosen_as_the_library_chooses(fit):
    X, y = bent()
    result = fit("bent.csv", "--C", "auto", "--ramp", "-50,-0.5", "--folds", "3")
    search = RobustLinearSVCCV(
        12, [0.2], ramps=[-50.0, -0.5], tol=1e-4, solver_options={"random_state": 0},
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(X, y)  # fmt: skip
    choice = result["choice"]
    assert choice["ramps"] == [-50, -0.5]
    assert choice["C"] == pytest.approx(search.C_)
    assert choice["ramp"] == result["model"]["ramp"] == search.ramp_ == -0.5
    means = search.scores_.mean(axis=-1)[1]
    assert np.ravel(choice["scores"]) == pytest.approx(means.ravel())


def test_a_class_that_the_model_gives_up_is_pointed_out(folder):
    X, _ = table(60, wrong=[])
    rare = np.isin(np.arange(60), [4, 20, 36])
    X[rare] += np.random.default_rng(0).normal(size=(3, 3))
    y = np.where(rare, "rare", np.where(np.arange(60) % 2, "well", "ill"))
    (folder / "rare.csv").write_text(as_csv(X, y))
    # A constant classifier has the rare class at the margin −1, clearly below −0.5.
    asked = "fit rare.csv --target state --ramp --C 0.1 --folds 0 --json"
    result = json.loads(run(asked, "--ramp", "-0.5", folder=folder).stdout)
    codes = {advice["code"]: advice["text"] for advice in result["warnings"]}
    assert "3 of 3 rows of the class rare" in codes["class-disbelieved"]


def test_a_model_without_features_says_why(fit):
    asked = ("whole.csv", "--ramp", "--C", "1e-6", "--radius", "9")
    result = fit(*asked, "--folds", "0", code=3)
    codes = {advice["code"]: advice["text"] for advice in result["warnings"]}
    assert "noise, or rows left out, hide what separates" in codes["null-model"]
    assert "Choose a smaller --ramp or radius." in codes["null-model"]
    assert result["suspects"]["found"] == 0


# -- what is asked for wrongly ---------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("fit t.csv --suspects s.csv", "--suspects lists labels that look wrong"),
        ("fit t.csv --ramp --ramp 1", "'1' must be a number ≤ 0"),
        ("fit t.csv --ramp --ramp nan", "'nan' must be a number ≤ 0"),
        ("fit t.csv --ramp --suspects -", "--suspects must name a file"),
        (
            "fit t.csv --ramp --model measured",
            "takes every label as right; leave out --ramp",
        ),
        (
            "fit t.csv --ramp -1 --model measured",
            "takes every label as right; leave out --ramp",
        ),
        ("fit t.csv --id a --drop a", "is named by both --id and --drop"),
        ("fit t.csv --ramp --memory 1GB", "--ramp needs the whole table"),
    ],
)
def test_what_contradicts_itself_is_refused_in_a_sentence(command, said):
    assert said in run(command, "--target", "y", code=2).stderr
