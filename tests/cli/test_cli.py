"""The command line does what the library does, and says so.

The real executable where a process of its own matters, `run` elsewhere.
"""

import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from commands import EXECUTABLE, as_csv, execute, here, read_csv, run, two_classes
from wideberth import (
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    robust_scorer,
)
from wideberth.cli import errors, main
from wideberth.cli.model import load_model
from wideberth.cli.options import FitOptions, Reading, UsageError, parse

X, Y = two_classes()
unix = pytest.mark.skipif(
    sys.platform == "win32", reason="signals and pipes as Unix has them"
)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with data.csv, and a model and report that `fit` made of it."""
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "data.csv").write_text(as_csv(X, Y))
    (folder / "scales.csv").write_text("name,scale\nsize,1.5\nmass,0.2\ntemp,0.4\n")
    done = execute(
        "fit", "data.csv", "--target", "state", "--standardize", "--noise",
        "scales.csv", "--radius", "1.2", "--C", "0.5", "--out", "model.wideberth",
        "--report", "report.html", "--json", folder=folder,
    )  # fmt: skip
    return folder, json.loads(done.stdout)


@pytest.fixture
def fit(tmp_path, monkeypatch, capsys):
    """Fit in a folder of its own, without starting Python anew; returns the result."""
    monkeypatch.chdir(tmp_path)

    def run_here(command):
        assert main(["fit", *shlex.split(command), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run_here


def weights(result):
    """Weights of the features, one row each."""
    return list(result["model"]["coefficients"].values())


def the_same_in_python():
    return make_robust_pipeline(
        StandardScaler(), RobustLinearSVC(C=0.5, radius=1.2, noise=[0.2, 0.4, 1.5])
    )


def test_fit_trains_what_the_library_trains(fitted):
    _, result = fitted
    model = the_same_in_python().fit(X, Y)
    weights = np.array(list(result["model"]["coefficients"].values())).T
    np.testing.assert_allclose(weights, model._robust_model()[1], rtol=1e-6)
    assert list(result["model"]["coefficients"]) == ["mass", "temp", "size"]
    # In raw units, with the intercept, they score as the model does.
    scores = X @ weights[0] + result["model"]["intercepts"][0]
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-6)


def test_predict_and_certify_give_what_the_model_gives(fitted):
    folder, _ = fitted
    model = load_model(folder / "model.wideberth").pipeline
    rows = read_csv(
        run("predict", "model.wideberth", "data.csv", "--scores", folder=folder).stdout
    )
    assert [row["prediction"] for row in rows] == model.predict(X).tolist()
    np.testing.assert_allclose(
        [float(row["score well"]) for row in rows], model.decision_function(X)
    )
    done = run(
        "certify", "model.wideberth", "data.csv", "--out", "rows.csv", "--curve",
        "curve.csv", "--at", "0,0.5,1.2", "--json", folder=folder,
    )  # fmt: skip
    rows = read_csv((folder / "rows.csv").read_text())
    np.testing.assert_allclose(
        [float(row["certified_radius"]) for row in rows], model.certified_radius(X)
    )
    right = model.predict(X) == Y
    assert [row["correct"] for row in rows] == [str(r).lower() for r in right.tolist()]
    curve = read_csv((folder / "curve.csv").read_text())
    assert [float(point["certified_accuracy"]) for point in curve] == [
        model.robust_score(X, Y, radius) for radius in (0, 0.5, 1.2)
    ]
    summary = json.loads(done.stdout)
    assert summary["accuracy"] == model.score(X, Y)
    assert summary["certified_accuracy"] == model.robust_score(X, Y, 1.2)
    for name in ("rows.csv", "curve.csv"):
        (folder / name).unlink()


def test_columns_are_found_by_name_and_a_missing_one_is_named(fitted):
    folder, _ = fitted
    turned = as_csv(
        X[:5, ::-1], ["?"] * 5, ("size", "temp", "mass"), remark=["a,b"] * 5
    )
    known = run("predict", "model.wideberth", "data.csv", folder=folder).stdout
    found = run("predict model.wideberth -", stdin=turned, folder=folder).stdout
    assert found == "".join(known.splitlines(keepends=True)[:6])
    fewer = as_csv(X[:5, :2], Y, ("mass", "size"))
    done = run("predict", "model.wideberth", "-", stdin=fewer, folder=folder, code=1)
    assert "standard input has no column 'temp'" in done.stderr


def test_rows_that_lack_a_value_get_no_answer_and_are_counted(fitted):
    folder, _ = fitted
    table = "temp,mass,size,who\n1,2,3,ann\n1,,3,bob\n1,2,NA,eve\n"
    done = run(
        "predict", "model.wideberth", "-", "--id", "who", stdin=table, folder=folder
    )
    assert [line.split(",")[0] for line in done.stdout.split()] == [
        "who",
        "ann",
        "bob",
        "eve",
    ]
    assert done.stdout.endswith("bob,\neve,\n")
    assert "2 of 3 rows lack a value and get no answer (rows 2, 3)" in done.stderr


def test_other_formats_come_from_standard_input_too(tmp_path):
    frame = (
        pd.DataFrame(X).set_axis([*"abc"], axis=1).assign(y=np.where(Y == "sick", 1, 2))
    )
    frame.to_parquet(tmp_path / "data.parquet")
    done = run(
        "fit", "-", "--read", "format=parquet", "--target", "y", "--radius", "0.1",
        "--folds", "0", "--json", stdin=(tmp_path / "data.parquet").read_bytes(),
    )  # fmt: skip
    result = json.loads(done.stdout)
    model = RobustLinearSVC(radius=0.1).fit(X, Y == "well")
    assert list(result["data"]["classes"]) == ["1", "2"]
    np.testing.assert_allclose(
        list(result["model"]["coefficients"].values()), model.coef_.T, rtol=1e-6
    )


def test_c_and_radius_are_chosen_as_the_library_chooses(tmp_path, fit):
    (tmp_path / "data.csv").write_text(as_csv(X, Y))
    result = fit(
        "data.csv --target state --standardize --C auto --folds 3 "
        "--radius 0,0.3std --score-radius 0.3 --report r.html"
    )
    search = RobustLinearSVCCV(
        Cs=12, radii=[0, 0.3], scoring=robust_scorer(0.3),
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(StandardScaler().fit_transform(X), Y)  # fmt: skip
    assert result["choice"]["C"] == pytest.approx(search.C_)
    assert result["choice"]["factor"] == search.radius_
    assert result["choice"]["score"] == pytest.approx(search.best_score_)
    assert result["model"]["C"] == result["choice"]["C"]
    assert result["uncertainty"]["largest"] == search.radius_
    assert "The choice of C" in (tmp_path / "r.html").read_text()


def test_what_is_proven_of_a_choice_is_what_the_library_proves(tmp_path, fit):
    (tmp_path / "data.csv").write_text(as_csv(X, Y))
    words = "data.csv --target state --standardize --folds 3 --radius 0.1std"
    result = fit(f"{words} --prove 0.02 --C 0.01,10 --report r.html")
    search = RobustLinearSVCCV(
        (0.01, 10.0), [0.1], cv=StratifiedKFold(3, shuffle=True, random_state=0),
        prove=0.02, scoring=robust_scorer(0.0),
    ).fit(StandardScaler().fit_transform(X), Y)  # fmt: skip
    proof, expected = result["choice"]["proof"], search.choice_
    assert (proof["low"], proof["high"], proof["within"]) == (0.01, 10.0, 0.02)
    assert proof["error"] == pytest.approx(1 - result["choice"]["score"])
    assert proof["lower_bound"] == pytest.approx(expected.lower_bound)
    assert result["choice"]["C"] == pytest.approx(expected.C)
    assert proof["proven"]
    assert proof["lower_bound"] >= proof["error"] - 0.02
    # No C of a grid in between has a smaller error than the bound.
    grid = RobustLinearSVCCV(
        np.geomspace(0.01, 10, 40), [0.1],
        cv=StratifiedKFold(3, shuffle=True, random_state=0),
    ).fit(StandardScaler().fit_transform(X), Y)  # fmt: skip
    assert 1 - grid.best_score_ >= proof["lower_bound"]
    page = (tmp_path / "r.html").read_text()
    assert "No C from 0.01 to 10 has an accuracy above" in page


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("--C 1,2,3", "a range of C"),
        ("--C 2.0,1.0", "a range of C"),
        ("--ramp", "--prove and --ramp cannot be combined"),
        ("--folds 0", "--folds 0"),
        ("--radius 0.0,1", "one value of --radius"),
        ("--memory 1GB", "needs the whole table"),
        ("--model measured", "cannot use --prove"),
    ],
)
def test_what_no_proof_is_about_is_refused(capsys, more, said):
    with pytest.raises(SystemExit):
        parse(f"fit t.csv --target y --prove 0.01 {more}".split())
    assert said in " ".join(capsys.readouterr().err.split())


def test_options_are_few_and_their_help_fits_on_two_screens():
    words = "fit t.csv --drop a b --drop c --read na=p dates=d --ramp -2,-1"
    found = parse(words.split())
    read = Reading(missing=frozenset("p"), dates=("d",))
    assert found == FitOptions(
        data="t.csv", drop=("a", "b", "c"), read=read, ramp=(-2.0, -1.0)
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.data = "u.csv"
    with pytest.raises(UsageError, match="is named by both --target and --drop"):
        FitOptions(data="t.csv", target="y", drop=("y",))
    options = [one for one in dataclasses.fields(FitOptions) if "group" in one.metadata]
    assert len(options) <= 36
    assert len(run("fit --help").stdout.splitlines()) <= 100


def test_radii_may_count_standard_deviations(tmp_path, fit):
    (tmp_path / "data.csv").write_text(as_csv(X, Y))
    model = RobustLinearSVC(radius=0.3, noise=X.std(axis=0)).fit(X, Y)
    found = weights(fit("data.csv --target state --folds 0 --radius 0.3std"))
    np.testing.assert_allclose(found, model.coef_.T, rtol=1e-5)


def test_nothing_is_overwritten_unless_forced(fitted):
    folder, _ = fitted
    before = (folder / "model.wideberth").read_bytes()
    command = "fit data.csv --target state --folds 0 --out"
    done = run(f"{command} model.wideberth", folder=folder, code=1)
    told = "wideberth: model.wideberth is there already; --force overwrites it.\n"
    assert done.stderr == told
    assert (folder / "model.wideberth").read_bytes() == before
    copy = folder / "copy.wideberth"
    copy.write_bytes(before)
    run(f"{command} copy.wideberth --force", folder=folder)
    assert copy.read_bytes() != before
    copy.unlink()


def test_a_device_is_written_to_and_stays_one(fitted):
    folder, _ = fitted
    run(f"predict model.wideberth data.csv --out {os.devnull} --force", folder=folder)
    assert not os.path.isfile(os.devnull)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk_is_said_in_one_sentence(fitted):
    folder, _ = fitted
    done = run(
        "predict model.wideberth data.csv --out /dev/full", folder=folder, code=1
    )
    assert done.stderr == "wideberth: /dev/full cannot be written: the disk is full.\n"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*EXECUTABLE, "predict", "model.wideberth", "data.csv"], cwd=folder, stdout=full,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert done.returncode == 1
    assert (
        done.stderr
        == "wideberth: standard output cannot be written: the disk is full.\n"
    )


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "wide.csv", "d.parquet"])
def test_every_file_is_closed(tmp_path, name):
    """Python would say otherwise, and Windows keep such files."""
    X, y = two_classes()
    frame = pd.DataFrame(X, columns=["mass", "temp", "size"]).assign(state=y)
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_csv(tmp_path / "d.csv.gz", index=False)
    frame.to_csv(tmp_path / "wide.csv", index=False, encoding="utf-16")
    frame.to_parquet(tmp_path / "d.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("always", ResourceWarning)
        for words in (
            f"fit {name} --target state --folds 0 --out m.wideberth --report r.html",
            f"predict m.wideberth {name} --out p.csv",
            f"certify m.wideberth {name} --out c.csv",
            f"fit {name} --target state --memory 4GB",
            f"fit {name} --target nothing",
        ):
            packed = name.endswith("gz") and "--memory" in words  # refused
            code = int(words.endswith("nothing") or packed)
            assert "unclosed" not in run(words, folder=tmp_path, code=code).stderr


def test_warnings_may_be_errors(tmp_path):
    (tmp_path / "d.csv").write_text(as_csv(*two_classes()))
    words = "fit d.csv --target state --folds 2 --radius 0.1 --report r.html"
    command = [sys.executable, "-W", "error", "-m", "wideberth", *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["fit", "data.csv"], 2, "no target; name the column to predict with --target COL."),
        (["fit", "data.csv", "--target", "state", "--report", "r.pdf"], 2, "--report r.pdf: the output is an HTML page, so its name must end in .html or .htm"),
        (["fit", "data.csv", "--target", "state", "--out", "m.pkl"], 2, "the output is a model file, so its name must end in .wideberth"),
        (["fit", "data.csv", "--target", "state", "--suspects", "s.xlsx"], 2, "the output is a CSV"),
        (["certify", "m", "data.csv", "--curve", "c.png"], 2, "--curve c.png: the output is a CSV, so its name must end in .csv or .txt"),
        (["fit", "none.csv", "--target", "y"], 1, "none.csv: there is no such file."),
        (["fit", "data.csv", "--target", "sex"], 1, "data.csv has no column 'sex'"),
        (["fit", "data.csv", "--target", "mass", "--drop", "state", "--task", "classify"], 1, "it must hold a class"),
        (["fit", "data.csv", "--target", "state", "--radius", "-1"], 2, "'-1' must be a number ≥ 0"),
        (["fit", "data.csv", "--target", "state", "--out", "no/m.wideberth"], 1, "there is no folder"),
        (["fit", "data.csv", "--target", "state", "--noise", "l1", "--replicates", "mass"], 2, "both set the shape"),
        (["fit", "data.csv", "--target", "state", "--norm-penalty", "-1"], 2, "'-1' must be a number ≥ 0"),
        (["fit", "data.csv", "--target", "state", "--norm-penalty", "0,1"], 2, "may be one number with a decimal comma or two"),
        (["fit", "data.csv", "--target", "state", "--errors", "auto", "--norm-penalty", "1"], 2, "write --errors auto box"),
        (["fit", "data.csv", "--target", "state", "--errors", "auto", "--model", "measured", "--norm-penalty", "1"], 2, "write --errors auto box"),
        (["fit", "data.csv", "--target", "state", "--one-hot", "state"], 2, "named by both --target and --one-hot"),
        (["fit", "data.csv", "--target", "state", "--radius", "0.1,0.2std"], 2, "mixes units"),
        (["fit", "data.csv", "--target", "state", "--read", "header=no"], 1, "has no column 'state'; its columns are '1'"),
        (["fit", "data.csv", "--target", "1", "--read", "header=no"], 1, "Leave that out"),
        (["fit", "data.csv", "--target", "state", "--read", "encodign=x"], 2, "argument --read: 'encodign=x' is not known; did you mean encoding? Give KEY=VALUE"),
        (["fit", "data.csv", "--target", "state", "--score-radius", "1"], 2, "how to choose among several values"),
        (["fit", "data.csv", "--target", "state", "--radius", "1", "--radius-column", "mass"], 2, "must be several factors"),
        (["predict", "data.csv", "data.csv"], 1, "data.csv is not a model file"),
    ],
)  # fmt: skip
def test_errors_are_one_sentence(
    fitted, monkeypatch, capsys, arguments, code, sentence
):
    monkeypatch.chdir(fitted[0])
    try:
        ended = main(arguments)
    except SystemExit as end:
        ended = end.code
    assert ended == code
    out, told = capsys.readouterr()
    assert sentence in told.splitlines()[-1]
    assert out == ""
    if code == 1:
        assert told.count("\n") == 1


def test_what_is_not_installed_is_named_at_once(fitted, monkeypatch, capsys):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    data = str(fitted[0] / "data.csv")
    out = ["--report", str(fitted[0] / "new")]
    assert main(["fit", data, "--target", "state", *out]) == 1
    said = "needs matplotlib: pip install 'wideberth[cli]'."
    assert said in capsys.readouterr().err


def test_debug_shows_where_an_error_arose(fitted):
    done = here(["fit", "none.csv", "--target", "y", "--debug"], folder=fitted[0])
    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_a_model_that_ignores_the_features_is_written_but_says_so(tmp_path):
    (tmp_path / "data.csv").write_text(as_csv(X, Y))
    done = run(
        "fit", "data.csv", "--target", "state", "--radius", "50", "--folds", "0",
        "--out", "model.wideberth", folder=tmp_path, code=3,
    )  # fmt: skip
    assert "ignores the features" in done.stderr
    assert (tmp_path / "model.wideberth").exists()


@unix
def test_interrupted_while_it_loads_it_ends_with_130_too(tmp_path):
    """Python itself needs some 50 ms before it can be polite."""
    process = subprocess.Popen(
        [*EXECUTABLE, "fit", "-", "--target", "y"], stdin=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONVERBOSE": "1"},
    )  # fmt: skip
    said = ""
    while "import 'numpy" not in said:
        said = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert "wideberth: interrupted." in said
    assert "Traceback" not in said


@pytest.mark.parametrize("stage", ["reading", "training", "cross-validating"])
def test_interrupted_it_ends_with_130_and_leaves_a_model_or_nothing(tmp_path, stage):
    """What is trained is kept, once there is only its accuracy to find out."""
    X, y = two_classes(50_000)
    (tmp_path / "data.csv").write_text(as_csv(X, y))
    arguments = [
        "data.csv",
        "--target",
        "state",
        "--out",
        "m.wideberth",
        "--report",
        "r.html",
    ]
    terminal, end = pytest.importorskip("pty").openpty()
    process = subprocess.Popen(
        [*EXECUTABLE, "fit", *arguments, "--radius", "0.1", "--folds", "20"],
        cwd=tmp_path, stderr=end, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(end)
    said = ""
    while stage not in said:
        said += os.read(terminal, 1000).decode()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    said += os.read(terminal, 10_000).decode()
    os.close(terminal)
    assert "wideberth: interrupted." in said
    assert "Traceback" not in said
    left = {"m.wideberth", "r.html"} if stage == "cross-validating" else set()
    assert set(os.listdir(tmp_path)) == {"data.csv", *left}


@unix
def test_a_reader_who_has_had_enough_is_no_error(fitted):
    table = "mass,temp,size\n" + "1,2,3\n" * 60_000
    process = subprocess.Popen(
        [*EXECUTABLE, "predict", "model.wideberth", "-"], cwd=fitted[0],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.close()
    _, said = process.communicate(table.encode(), timeout=60)
    assert said == b""
    assert process.returncode == 141


def test_progress_is_shown_on_a_terminal_only(fitted):
    folder, _ = fitted
    arguments = [*EXECUTABLE, "fit", "data.csv", "--target", "state", "--radius", "0.1"]
    terminal, end = pytest.importorskip("pty").openpty()
    subprocess.run(
        arguments, cwd=folder, stderr=end, stdout=subprocess.PIPE, check=True
    )
    os.close(end)
    assert "cross-validating" in os.read(terminal, 10_000).decode()
    os.close(terminal)
    done = run(*arguments[len(EXECUTABLE) :], folder=folder)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("verdict    Robustness ")
    assert any("state: 2 classes from 3 features, 90 of 90" in one for one in lines)


def test_the_model_can_go_to_standard_output(fitted):
    folder, _ = fitted
    done = execute(
        "fit - --target state --folds 0 --out -", stdin=as_csv(X, Y).encode()
    )
    (folder / "piped.wideberth").write_bytes(done.stdout)
    assert load_model(folder / "piped.wideberth").target == "state"


# -- few features ----------------------------------------------------------------------


@pytest.fixture
def tolerances(tmp_path):
    """A folder, that of `fit`, with data.csv and tolerances of its features."""
    (tmp_path / "data.csv").write_text(as_csv(X, Y))
    (tmp_path / "tol.csv").write_text("name,scale\nsize,1.5\nmass,0.2\ntemp,0.4\n")
    return tmp_path


def test_features_without_a_weight_are_told(fit, tolerances, capsys):
    given = "fit data.csv --target state --noise linf --radius 0std --norm-penalty 9"
    assert main([*given.split(), "--folds", "0", "--report", "r.html"]) == 0
    assert "2 of 3 have a weight" in capsys.readouterr().out
    page = (tolerances / "r.html").read_text()
    assert "2 of 3 features have a weight. Without one:" in page
    assert main([*given.split()[:-1], "1e6", "--folds", "0"]) == 3
    assert "Choose a smaller --norm-penalty or radius" in capsys.readouterr().err


def test_the_demo_is_a_fit_that_can_be_typed(tmp_path):
    said = run("demo", folder=tmp_path).stdout.splitlines()
    typed = said[0].removeprefix("command    ")
    folder = tmp_path / "wideberth-demo"
    files = {"galaxies.csv", "model.wideberth", "report.html"}
    assert {file.name for file in folder.iterdir()} == files
    page = (folder / "report.html").read_text("utf-8")
    assert f"<pre>{typed}</pre>" in re.sub("</?code>", "", page)
    assert said[-1].split() == ["report", "wideberth-demo/report.html"]
    again = run(f"{typed.removeprefix('wideberth ')} --force", folder=tmp_path)
    assert again.stdout.splitlines() == said[1:]
    assert "is there already" in run("demo", folder=tmp_path, code=1).stderr


@pytest.mark.parametrize("command", ["fit", "predict", "certify", "demo", "reproduce"])
def test_help_tells_what_a_command_is_for(command):
    assert run(command, "--help").stdout.startswith(f"usage: wideberth {command}")


@pytest.mark.parametrize(
    "words", ["--standardize --radius 0.1", "--radius 0.1", "--model measured"]
)
def test_a_loaded_model_takes_frames_by_the_names_of_their_columns(tmp_path, words):
    X, y = two_classes()
    (tmp_path / "d.csv").write_text(as_csv(X, y))
    run(
        f"fit d.csv --target state --folds 0 --out m.wideberth {words}", folder=tmp_path
    )
    model = load_model(tmp_path / "m.wideberth").pipeline
    frame = pd.DataFrame(X, columns=["mass", "temp", "size"])
    told = read_csv(run("predict m.wideberth d.csv", folder=tmp_path).stdout)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(frame).tolist() == [row["prediction"] for row in told]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"mass": "weight"}))
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame[["size", "temp", "mass"]])
