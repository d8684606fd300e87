"""Error bars on the command line: read, used, kept by the model, or asked for."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from commands import read_csv, two_classes
from wideberth import RobustLinearSVC, make_robust_pipeline
from wideberth.cli import main
from wideberth.cli.model import load_model
from wideberth.cli.uncertainty import ErrorColumns

X, Y = two_classes(120, seed=3)
E = np.random.default_rng(4).uniform(0.1, 0.8, X.shape).round(3) * [1, 2, 10]
NAMES = ["mass", "temp", "size"]
VALUES = pd.DataFrame(X, columns=NAMES)


def table(down=None, **columns):
    """Values with their errors, lopsided ones where `down` is a sign, and the class."""
    frame = VALUES.copy()
    for j, name in enumerate(NAMES):
        if down is None:
            frame[f"{name}_err"] = E[:, j]
        else:
            frame[f"{name}_error_min"] = down * E[:, j]
            frame[f"{name}_error_max"] = 2 * E[:, j]
    return frame.assign(**columns, state=Y)


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Run a command in a folder with data.csv; returns what it printed."""
    monkeypatch.chdir(tmp_path)
    table().to_csv("data.csv", index=False)

    def run(command, code=0):
        assert main(shlex.split(command)) == code
        return capsys.readouterr()

    return run


def in_python(errors, shape="ellipsoid"):
    """What the command line should train."""
    model = RobustLinearSVC(
        radius=1.0, error_shape=shape, solver_options={"random_state": 0}
    )
    model = make_robust_pipeline(StandardScaler(), model)
    return model.fit(X, Y, robustlinearsvc__X_err=errors)


FIT = "fit data.csv --target state --standardize --force --out m.wideberth --json"


@pytest.mark.parametrize("how", ["suffix:_err", "auto"])
def test_one_answer_with_the_library(cli, how):
    """Weights and certified radii are those of X_err, wherever the errors are."""
    result = json.loads(cli(f"{FIT} --errors {how} --folds 2 --report r.html").out)
    model = in_python(E)
    found = np.ravel(list(result["model"]["coefficients"].values()))
    np.testing.assert_allclose(found, np.ravel(model._robust_model()[1]), rtol=0.02)
    assert result["uncertainty"]["unit"] == "in standard errors"
    middle = pytest.approx(np.median(E[:, 0]))
    assert result["uncertainty"]["errors"]["mass"] == middle
    rows = read_csv(cli("certify m.wideberth data.csv").out)
    reach = [float(row["certified_radius"]) for row in rows]
    np.testing.assert_allclose(
        reach, model.certified_radius(X, E), rtol=0.05, atol=0.01
    )
    assert len(read_csv(cli("predict m.wideberth data.csv").out)) == len(X)
    page = Path("r.html").read_text("utf-8")
    assert "error as share of std" in page


@pytest.mark.parametrize("sign", [1, -1])
def test_lopsided_boxes(cli, sign):
    """Lower errors may be negative numbers; scores are those of the values."""
    table(down=sign).to_csv("data.csv", index=False)
    refused = cli(f"{FIT} --errors auto", code=1).err
    assert "--errors auto box" in refused
    cli(f"{FIT} --errors auto box --folds 0", code=0)
    model = in_python((E, 2 * E), "box")
    rows = read_csv(cli("predict m.wideberth data.csv --scores").out)
    scores = [float(row["score well"]) for row in rows]
    expected = model.decision_function(X)
    np.testing.assert_allclose(scores, expected, rtol=0.05, atol=0.05)
    rows = read_csv(cli("certify m.wideberth data.csv").out)
    radii = np.array([float(row["certified_radius"]) for row in rows])
    fitted = load_model("m.wideberth").pipeline
    np.testing.assert_allclose(radii, fitted.certified_radius(X, (E, 2 * E)), rtol=1e-4)
    label, rng = fitted.predict(X), np.random.default_rng(0)
    for _ in range(100):  # each value within its own tolerances times the radius
        move = np.where(rng.random(X.shape) < 0.5, -E, 2 * E)
        assert np.all(fitted.predict(X + 0.999 * radii[:, None] * move) == label)
    worst = fitted.worst_case(X, label, 1.001 * radii, X_err=(E, 2 * E))
    assert np.all(fitted.predict(X + worst) != label)
    VALUES.to_csv("bare.csv", index=False)
    assert cli("predict m.wideberth bare.csv").out
    assert "mass_error_min" in cli("certify m.wideberth bare.csv", code=1).err


def test_values_without_an_error(cli):
    """They are refused by name, filled by a rule, and left without an answer."""
    frame = table()
    frame.loc[4, "temp_err"] = np.nan
    bad = frame.copy()
    bad.loc[[6, 7], "mass_err"] = -1
    bad.loc[8, "mass_err"] = 0
    bad.to_csv("bad.csv", index=False)
    told = cli("fit bad.csv --target state --errors auto", code=1).err
    assert "'temp_err': 1 absent (row 5 (line 6))" in told
    assert "'mass_err': 2 negative and 1 zero (row 7 (line 8), row 8 (line 9), " in told
    assert "absent=exact" in told
    command = "fit bad.csv --target state --folds 0 --json --errors auto absent=drop"
    assert json.loads(cli(command).out)["data"]["rows_dropped"] == 4
    frame.to_csv("holes.csv", index=False)
    command = "fit holes.csv --target state --folds 0 --json --errors auto"
    for rule in ("exact", "median", "share:0.05"):
        out = cli(f"{command} absent={rule} --out {rule[:3]}.wideberth").out
        assert json.loads(out)["uncertainty"]["errors_filled_in"] == 1
    one = frame.iloc[[4, 5]]
    one.to_csv("one.csv", index=False)
    rows = read_csv(cli("certify med.wideberth one.csv").out)
    assert all(row["certified_radius"] for row in rows)  # the median of training
    cli(f"{FIT} --errors auto --folds 0")
    answer = cli("certify m.wideberth one.csv")
    assert [bool(row["certified_radius"]) for row in read_csv(answer.out)] == [0, 1]
    assert "1 of 2 rows lacks an error" in answer.err


@pytest.mark.parametrize("rows", [[8], slice(None)], ids=["one", "all"])
def test_an_error_of_zero_is_one_only_where_values_are_said_to_be_exact(cli, rows):
    frame = table()
    frame.loc[rows, "mass_err"] = 0
    frame.to_csv("zero.csv", index=False)
    cli(f"{FIT} --errors auto --folds 0")
    told = cli("certify m.wideberth zero.csv", code=int(rows != [8])).err
    n = len(frame.loc[rows])
    lack = "lacks" if n == 1 else "lack"
    assert f"{n} of {len(frame)} rows {lack} an error" in told
    found = []
    for memory in ("", "--memory 8GB"):
        command = f"fit zero.csv --target state --folds 0 --json {memory} --errors auto"
        assert "absent=exact" in cli(command, code=1).err
        found.append(json.loads(cli(f"{command} absent=exact").out)["model"])
    weights = [list(model["coefficients"].values()) for model in found]
    np.testing.assert_allclose(*weights, rtol=1e-3, atol=1e-4)


def test_columns_that_look_like_errors_are_remarked_upon(cli):
    """They become features where nothing is said, but not in silence."""
    told = cli("fit data.csv --target state --folds 0").err
    assert (
        "'mass_err' looks like the error of 'mass' (and 2 more such pairs), and is"
        in told
    )
    assert "--errors auto" in told
    told = cli("fit data.csv --target state --folds 0 --errors auto").err
    assert "looks like" not in told


def test_a_radius_is_chosen_among_multiples_of_the_errors(cli):
    chosen = json.loads(cli(f"{FIT} --errors auto --radius 0.5,1 --folds 2").out)
    assert chosen["uncertainty"]["factor"] in (0.5, 1.0)


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ("--errors suffix:_sd", 1, "matches no column"),
        (
            "--errors few.csv",
            1,
            "names no columns. Errors must be in columns of the same",
        ),
        ("--errors auto absent=0.05", 2, "share:0.05"),
        ("--errors auto bocks", 2, "'bocks' is not known; after the first word"),
        ("--errors auto --noise linf", 2, "both set the shape"),
        ("--errors auto --radius 1std", 2, "both set the shape"),
        ("--errors auto absent=median --memory 8GB", 2, "--memory"),
    ],
)
def test_what_is_refused(cli, options, code, told, capsys):
    """One sentence says why."""
    command = ["fit", "data.csv", "--target", "state", *shlex.split(options)]
    if code == 2:
        with pytest.raises(SystemExit, match="2"):
            main(command)
    else:
        assert main(command) == code
    assert told in capsys.readouterr().err


def test_a_model_file_with_other_errors_is_none(cli):
    """What fit does not write is not read."""
    cli(f"{FIT} --errors auto --folds 0")
    model = load_model("m.wideberth")
    good = asdict(model.errors)
    assert ErrorColumns.read(good, model.columns) == model.errors
    for wrong in (
        {"columns": {"other": ["x"]}},
        {"columns": {"mass": ["x", "y"]}},
        {"columns": {"mass": [3]}},
        {"shape": "ball"},
        {"missing": "often"},
        {"medians": {"mass": -1.0}},
    ):
        with pytest.raises(ValueError, match="described"):
            ErrorColumns.read(good | wrong, model.columns)


def test_a_line_of_units_is_named_as_such(cli):
    """Text in the first row only, above numbers, is no text column."""
    lines = table().to_csv(index=False).splitlines()
    lines.insert(1, ",".join(["Msun", "Msun", "K", "K", "", "", ""]))
    with open("units.csv", "w") as file:
        file.write("\n".join(lines))
    told = cli("fit units.csv --target state --errors auto", code=1).err
    assert "line 2 holds text ('Msun') above the numbers of 'mass'" in told
    assert "delete that line" in told
    assert "--one-hot" not in told
