"""Tables of a laboratory: text, dates, weights, and mistakes people make with them."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
import scipy.sparse as sp

import wideberth
from commands import read_csv, run
from wideberth import RobustLinearSVC
from wideberth.cli import evaluation
from wideberth.cli.model import load_model
from wideberth.data.columnar import day_number
from wideberth.errors import from_limits

N = 150
SITES = ["Rome", "Paris", "Oslo", "Bonn", "Brno", "Cork", "Graz"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with lab.csv, and in it what the columns of that are."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(7)
    sick = rng.integers(0, 2, N)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, N)
    table = {
        "mass": (rng.normal(size=N) + sick).round(3),
        "temp": (20 * rng.normal(size=N) + 300 - 5 * sick).round(3),
        "site": np.array(SITES)[rng.integers(0, 7, N)],
        "kit": np.array(list("abcdef"))[(rng.integers(0, 5, N) + sick) % 6],
        "day": day.astype(str),
        "w": rng.integers(1, 4, N),
        "state": np.where(sick, "sick", "well"),
    }
    write("lab.csv", table)
    return table


def write(name, table):
    made = pyarrow.table({key: list(values) for key, values in table.items()})
    if name.endswith(".csv"):
        pyarrow.csv.write_csv(made, name)
    else:
        pyarrow.parquet.write_table(made, name)


def fit(command, code=0):
    """What `fit --json` prints."""
    done = run(f"fit {command} --target state --json --folds 0", code=code)
    return json.loads(done.stdout) if code in (0, 130) else done.stderr


def weights(result):
    return {k: v[0] for k, v in result["model"]["coefficients"].items()}


# -- text --------------------------------------------------------------------------------


def oracle(table, scale):
    """Names and weights that `solve` finds with one column for each category."""
    names, columns = ["mass", "temp"], [table["mass"], table["temp"]]
    deviation = [column.std() if scale else 1.0 for column in columns]
    columns = [x / s for x, s in zip(columns, deviation, strict=True)]
    for name in ("site", "kit"):
        for level in sorted(set(table[name])):
            names.append(f"{name}={level}")
            columns.append(np.where(table[name] == level, 1.0, 0.0))
            deviation.append(1.0)
    noise = np.array([1.0, 1.0, *[0.0] * (len(names) - 2)]) / deviation
    found = wideberth.solve(
        np.column_stack(columns), np.where(table["state"] == "well", 1, -1), C=1.0,
        radius=0.1, noise=noise, sample_weight=table["w"], tol=1e-9,
    )  # fmt: skip
    return dict(zip(names, found.w / deviation, strict=True))


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("name", ["lab.csv", "lab.parquet"])
def test_text_becomes_categories_without_noise(folder, name, scale):
    """Weights are those of a column of 0 and 1 for each, in raw units."""
    write(name, folder)
    how = "--one-hot auto --weight-column w --drop day --radius 0.1 --tol 1e-8"
    result = fit(f"{name} {how}{' --standardize' * scale}")
    expected = oracle(folder, scale)
    assert list(weights(result)) == list(expected)
    assert weights(result) == pytest.approx(expected, abs=1e-4)
    assert result["request"]["one_hot"] == ["site", "kit"]
    told = {advice["code"] for advice in result["warnings"]}
    assert "isotropic" not in told  # categories are exact, and mass and temp alike


def test_categories_stay_sparse_in_every_fit(folder, monkeypatch):
    seen, real = [], RobustLinearSVC._fit

    def spy(model, X, *more):
        seen.append((sp.issparse(X), X.shape[1]))
        return real(model, X, *more)

    monkeypatch.setattr(RobustLinearSVC, "_fit", spy)
    folder["mass"] = [None if k % 9 == 0 else m for k, m in enumerate(folder["mass"])]
    write("lab.csv", folder)
    command = "fit lab.csv --target state --one-hot auto --read dates=day --standardize"
    run(f"{command} --missing median --radius 0.1 --folds 2 --json")
    assert len(seen) >= 3
    assert set(seen) == {(True, 3 + 1 + 7 + 6)}


@pytest.mark.parametrize(
    "more", ["--drop day w site kit", "--drop day w --one-hot site kit"]
)
def test_a_column_without_values_in_a_fold_has_no_weight_there(folder, more):
    folder["rare"] = [1.5, *[None] * (N - 1)]
    write("lab.csv", folder)
    command = "fit lab.csv --target state --missing median"
    done = run(f"{command} --json --folds 3 {more}")
    assert json.loads(done.stdout)["evaluation"]["folds"] == 3
    assert "observed" not in done.stderr


def test_new_categories_are_named_and_count_as_none(folder):
    command = "lab.csv --one-hot site,kit --drop day w --radius 0.1 --out m.wideberth"
    fit(command)
    folder["site"] = np.where(folder["site"] == "Oslo", "Bergen", folder["site"])
    write("new.csv", folder)
    done = run("predict m.wideberth new.csv --scores")
    count = int((folder["site"] == "Bergen").sum())
    assert f"new.csv: column 'site' holds 'Bergen' in {count} rows" in done.stderr
    model = load_model("m.wideberth")
    encoded = np.array(
        [*weights(fit("lab.csv --one-hot site kit --drop day w --radius 0.1")).values()]
    )
    row = next(k for k, site in enumerate(folder["site"]) if site == "Bergen")
    features = np.zeros(len(model.columns.features))
    features[:2] = folder["mass"][row], folder["temp"][row]
    features[model.columns.features.index(f"kit={folder['kit'][row]}")] = 1
    score = float(read_csv(done.stdout)[row]["score well"])
    origin = model.fitted.decision_function(np.zeros((1, len(features))))[0]
    assert score == pytest.approx(features @ encoded + origin, abs=1e-3)


def test_a_category_may_be_missing(folder):
    """It is one of its own, and costs no row."""
    lacking = np.arange(N) % 3 == 0
    folder["site"] = np.where(lacking, "?", folder["site"])
    write("lab.csv", folder)
    command = "lab.csv --one-hot site,kit --drop day w --radius 0.1 --out m.wideberth"
    result = fit(command)
    assert result["data"]["rows_used"] == N
    assert result["data"]["missing_values"] == {"site": int(lacking.sum())}
    assert "site=missing" in weights(result)
    done = run("predict m.wideberth lab.csv")
    assert all(row["prediction"] for row in read_csv(done.stdout))
    told = fit("lab.csv --one-hot site,kit --drop day w --missing error", code=1)
    assert "row 1 (line 2), column 'site' has no value" in told


def test_all_columns_of_text_are_named_at_once(folder):
    for name in ("lab.csv", "lab.parquet"):
        write(name, folder)
        told = fit(name, code=1)
        assert "columns 'site', 'kit' and 'day' hold text" in told
        assert "--drop site kit day" in told
        assert "--one-hot auto" in told
    assert "--read dates=day" in fit("lab.csv", code=1)


# -- dates -------------------------------------------------------------------------------


def test_dates_are_days(folder):
    assert day_number("1970-01-02") == 1
    assert day_number("31.01.1970") == 30
    assert day_number("1970/01/02 12:00") == 1.5
    assert day_number("1970-01-02T00:00+01:00") == pytest.approx(1 - 1 / 24)
    assert day_number("01/02/2024") is None
    days = folder["day"].astype("datetime64[D]").astype(int)
    write("days.csv", folder | {"day": days})
    for name in ("lab.csv", "lab.parquet"):
        write(name, folder | {"day": days.astype("datetime64[D]").tolist()})
        how = "--drop site kit w --standardize --radius 0.1 --out m.wideberth --force"
        dated = fit(f"{name} --read dates=day {how}")
        assert weights(dated) == pytest.approx(weights(fit(f"days.csv {how}")))
        fit(f"{name} --read dates=day {how}")
        assert run(f"predict m.wideberth {name}").stdout.count("\n") == N + 1


def test_what_is_no_date_is_shown(folder):
    told = fit("lab.csv --one-hot kit --read dates=site,day --drop w", code=1)
    first = folder["site"][0]
    assert f"lab.csv, row 1 (line 2), column 'site': '{first}' is not a date" in told


# -- weights -----------------------------------------------------------------------------


@pytest.mark.parametrize(("weight", "what"), [("-1", "is -1"), ("", "has no value")])
def test_weights_are_checked(folder, weight, what):
    write("lab.csv", folder | {"w": [*map(str, folder["w"][:-1]), weight]})
    told = fit("lab.csv --drop site kit day --weight-column w", code=1)
    assert f"row {N} (line {N + 1}), column 'w' {what}; a weight must be" in told


# -- mistakes people make ----------------------------------------------------------------

MISTAKES = {
    "fit lab.csv --target stat --one-hot auto": "did you mean 'state'? Its columns are",
    "fit lab.csv --target state --drop Day w": "did you mean 'day'?",
    "fit lab.cvs --target state": "lab.cvs: there is no such file; did you mean 'lab.csv'?",
    "fit tol.csv --target state": "tol.csv: there is no such file.",
    "fit lab.csv --target state --standardise": "did you mean --standardize?",
    "fit lab.csv --target state --radus 0.1": "there is no option --radus; did you mean",
    "fit lab.csv --target state --radius 0,1": "write 0.1, or 0.0,1.",
    "fit lab.csv --target state --radius 0.1,std": "has std without a number; write, for",
    "fit lab.csv --target state --noise lin": "'lin' is neither a shape nor a file; did you mean linf?",
    "fti lab.csv --target state": "did you mean 'fit'?",
    "fit lab.csv --target state --noise few.csv --one-hot auto --read dates=day":
        "wideberth: few.csv has no scale for",
    "fit bad.csv --target state --errors auto":
        "wideberth: bad.csv: some values have no usable error: 'mass_err': 75",
    "fit twice.csv --target state --errors auto":
        "'mass_err' may be the error of any column called 'mass'; give these columns",
}  # fmt: skip


@pytest.mark.parametrize("command", MISTAKES)
def test_mistakes_are_answered_with_what_was_meant(folder, command):
    with open("few.csv", "w") as file:
        file.write("name,scale\nmass,1\n")
    with open("twice.csv", "w") as file:
        file.write("mass,mass_err,mass,state\n1,1,1,a\n2,1,2,b\n")
    bad = {"mass_err": [-1.0, 1.0] * (N // 2)}
    write("bad.csv", {name: folder[name] for name in ("mass", "state")} | bad)
    code = 2 if re.search("fti|noise lin|radus|radius 0|standardise", command) else 1
    assert MISTAKES[command] in run(command, code=code).stderr


def test_certify_names_classes_that_it_does_not_know(folder):
    fit("lab.csv --drop site kit day w --out m.wideberth")
    write("new.csv", folder | {"state": np.char.replace(folder["state"], "ll", "l")})
    told = run("certify m.wideberth new.csv --out rows.csv").stderr
    assert "a class that the model does not know, 'wel'; did you mean 'well'?" in told


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        ("--help", "numpy"),
        ("fit none.csv --target y", "numpy"),
        ("fit lab.csv --radus 1", "numpy"),
        ("predict none.wideberth lab.csv", "numpy"),
        ("fit lab.csv --target stat", "sklearn"),
        ("fit lab.csv --target state", "sklearn"),
    ],
)
def test_mistakes_do_not_wait_for_libraries(folder, words, absent):
    script = (
        "import sys\nfrom wideberth.cli import main\n"
        f"try: main({shlex.split(words)!r})\nexcept SystemExit: pass\n"
        f"assert {absent!r} not in sys.modules, {absent!r}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


# -- choosing, waiting, giving up --------------------------------------------------------


@pytest.mark.parametrize(("calls", "folds"), [(2, None), (9, 3)])
def test_an_interrupt_keeps_the_model_and_the_folds_done(
    folder, monkeypatch, calls, folds
):
    left, real = [calls], evaluation.fit_model

    def interrupted(*arguments, **steering):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return real(*arguments, **steering)

    monkeypatch.setattr(evaluation, "fit_model", interrupted)
    command = "fit lab.csv --target state --drop site kit day w --radius 0.1 --json"
    done = run(f"{command} --out m.wideberth --report r.html", code=130)
    assert "interrupted. The model is kept" in done.stderr
    found = json.loads(done.stdout)["evaluation"]
    assert (found and len(found["models"]["robust"]["as_measured"]["folds"])) == folds
    assert run("predict m.wideberth lab.csv").stdout.count("\n") == N + 1
    assert "<html" in Path("r.html").read_text()


# -- logarithms, limits of detection, rows that lack values ------------------------------


def positive(**more):
    """A table of positive values with errors, and its frame."""
    rng = np.random.default_rng(5)
    y = np.arange(80) % 2
    frame = pd.DataFrame(np.exp(rng.normal(size=(80, 2)) + y[:, None]).round(3))
    frame.columns = ["a", "b"]
    frame = frame.assign(a_err=(0.1 * frame["a"]).round(4), b_err=0.05, y=y, **more)
    frame.to_csv("p.csv", index=False)
    return frame


@pytest.mark.parametrize("box", [False, True])
def test_logarithms_carry_errors_along(folder, box):
    frame = positive()
    words = f"p.csv --target y --log a --errors auto {'box' if box else ''} --tol 1e-8"
    result = json.loads(run(f"fit {words} --folds 0 --json --out l.wideberth").stdout)
    x, e = frame[["a", "b"]].to_numpy(), frame[["a_err", "b_err"]].to_numpy()
    X = np.column_stack([np.log(x[:, 0]), x[:, 1]])
    lower, upper = e.copy(), e.copy()
    lower[:, 0] = upper[:, 0] = e[:, 0] / x[:, 0]
    if box:
        lower[:, 0] = -np.log1p(-e[:, 0] / x[:, 0])
        upper[:, 0] = np.log1p(e[:, 0] / x[:, 0])
    model = RobustLinearSVC(error_shape="box" if box else "ellipsoid", tol=1e-8)
    model.fit(X, frame["y"], X_err=(lower, upper) if box else lower)
    assert list(weights(result).values()) == pytest.approx(model.coef_[0], rel=1e-3)
    rows = read_csv(run("certify l.wideberth p.csv").stdout)
    radii = [float(row["certified_radius"]) for row in rows]
    E = (lower, upper) if box else lower
    assert radii == pytest.approx(model.certified_radius(X, E), rel=1e-2)


def test_values_without_a_logarithm_are_named(folder):
    positive()
    run("fit p.csv --target y --log a --errors auto --folds 0 --out l.wideberth")
    frame = pd.read_csv("p.csv")
    frame.loc[[2, 5], "a"] = [0, -1]
    frame.to_csv("p.csv", index=False)
    told = run("fit p.csv --target y --log a --errors auto", code=1).stderr
    assert (
        "2 values in column 'a' are ≤ 0 and have no logarithm (row 3 (line 4)" in told
    )
    told = run("predict l.wideberth p.csv").stderr
    assert "2 of 80 rows lack a logarithm and get no answer (rows 3, 6)" in told


@pytest.mark.parametrize("errors", [False, True])
def test_limits_of_detection_are_intervals(folder, errors):
    """They need no error of their own beside those of other cells."""
    frame = positive()
    low, high = frame["a"] < 0.8, (frame["a"] > 6) & (not errors)
    assert low.any()
    texts = frame["a"].astype(str).mask(low, "<0.8").mask(high, ">6")
    E = frame[["a_err", "b_err"]] if errors else None
    frame = frame.assign(a_err=frame["a_err"].mask(low))
    kept = frame if errors else frame.drop(columns=["a_err", "b_err"])
    kept.assign(a=texts).to_csv("p.csv", index=False)
    assert "--limits" in run("fit p.csv --target y", code=1).stderr
    words = "--limits --errors auto" if errors else "--limits a"
    fit_it = f"fit p.csv --target y {words} --folds 0 --json --tol 1e-8"
    result = json.loads(run(f"{fit_it} --out l.wideberth").stdout)
    X, E = from_limits(
        frame[["a", "b"]],
        E,
        censored=np.column_stack([low | high, np.zeros(80, bool)]),
        low=np.column_stack([np.where(high, 6, 0), np.zeros(80)]),
        high=np.column_stack([np.where(high, 12, 0.8), np.ones(80)]),
    )
    model = RobustLinearSVC(tol=1e-8).fit(X, frame["y"], X_err=E)
    assert list(weights(result).values()) == pytest.approx(model.coef_[0], rel=1e-3)
    if not errors:
        rows = read_csv(run("certify l.wideberth p.csv").stdout)
        radii = [float(row["certified_radius"]) for row in rows]
        assert radii == pytest.approx(model.certified_radius(X, E), rel=1e-2)


def test_more_than_a_tenth_of_the_rows_is_not_left_out_in_silence(folder):
    frame = positive(site=["x", "?"] * 40)
    frame.loc[:8, "a"] = np.nan
    frame.to_csv("p.csv", index=False)
    told = run("fit p.csv --target y --one-hot site", code=1).stderr
    assert "9 of 80 rows lack values and would be left out: 'a' in 9." in told
    assert "--model measured" in told
    told = run("fit p.csv --target y --drop site --ramp", code=1).stderr
    assert "--model" not in told
    run("fit p.csv --target y --one-hot site --missing drop --folds 0")
    told = run("fit p.csv --target y", code=1).stderr  # all that it needs, at once
    assert "'site' holds text" in told
    assert "9 of 80 rows lack numbers as well; add --missing median" in told
