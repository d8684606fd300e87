"""The command line as a road: a line of `COMMANDS` for each kind of file."""

import json
from dataclasses import replace

import numpy as np
import pyarrow.csv
import pyarrow.parquet
from sklearn.datasets import dump_svmlight_file

from commands import here, read_csv
from road_cases import NAMES, NEW, ROWS, SCALES, TOL, Answer
from road_forms import table_of
from wideberth.cli.model import load_model

#: Shapes of noise with a scale for each feature, as the command line calls them.
BY_FEATURE = {"scales": "l2", "tolerances": "linf", "budget": "l1"}


def _command(name, write, *more):
    """`wideberth fit`, then `predict` from the file it wrote."""

    def train(case, folder):
        data, new = folder / name, folder / f"new{name[name.index('.') :]}"
        write(case, data)
        write(_new_rows_first(case), new)
        words = ["fit", data, "--out", folder / "m.wideberth", "--json", "--folds", "0"]
        words += ["--C", case.C, "--tol", TOL, *more, *_noise_options(case, folder)]
        if not name.endswith(".svm"):
            words += ["--target", "class"]
        result = json.loads(_said(words))
        _said(["predict", folder / "m.wideberth", new, "--out", folder / "p.csv"])
        rows = read_csv((folder / "p.csv").read_text())[:NEW]
        model, problems = result["model"], result["training"]["problems"]
        return Answer(
            np.array([*model["coefficients"].values()]).T,
            np.array(model["intercepts"]),
            np.array([problem["gap"] for problem in problems]),
            [_label(case, row["prediction"]) for row in rows],
        )

    return train


def _curved_command(name, write, *more):
    """The same behind a kernel, whose weights are in the model file."""

    def train(case, folder):
        data, new = folder / name, folder / f"new{name[name.index('.') :]}"
        write(case, data)
        write(_new_rows_first(case), new)
        words = ["fit", data, "--out", folder / "m.wideberth", "--json", "--folds", "0"]
        words += ["--kernel", "rbf", f"gamma={GAMMA}", f"landmarks={ROWS}"]
        words += ["--C", case.C, "--tol", TOL, *more, *_noise_options(case, folder)]
        if not name.endswith(".svm"):
            words += ["--target", "class"]
        _said(words)
        _said(["predict", folder / "m.wideberth", new, "--out", folder / "p.csv"])
        rows = read_csv((folder / "p.csv").read_text())[:NEW]
        last = load_model(folder / "m.wideberth").fitted[-1]
        predicted = [_label(case, row["prediction"]) for row in rows]
        return Answer(last.coef_, last.intercept_, last.dual_gap_, predicted)

    return train


def _new_rows_first(case):
    """The case with its new rows in front; the labels beside them do not matter."""
    fresh = replace(case)
    X, numbers, beside = case._drawn
    order = np.r_[ROWS : ROWS + NEW, :ROWS]
    fresh.__dict__["_drawn"] = X[order], numbers, beside
    # Other roads predict the rows as they are, not the middle of their boxes.
    fresh.__dict__["tables"] = tuple(map(np.zeros_like, case.tables))
    return fresh


def _noise_options(case, folder):
    options = ["--radius", case.radius]
    if case.radius == "own":
        options = ["--radius-column", "r"]
    if case.errors is not None:
        options += ["--errors", "auto", case.error_shape, "absent=exact"]
    noise = ["--noise", BY_FEATURE.get(case.noise, case.noise)]
    if case.noise in BY_FEATURE:
        lines = [f"{n},{s}" for n, s in zip(NAMES, SCALES, strict=True)]
        (folder / "s.csv").write_text("\n".join(["name,scale", *lines]))
        noise.append(folder / "s.csv")
    if case.ramp is not None:
        options += ["--ramp", case.ramp]
    priced = ["--norm-penalty", case.norm_penalty] if case.norm_penalty else []
    return [*options, *noise, *priced]


def _said(words):
    """What a command prints; its complaint is raised as it stands."""
    done = here(list(map(str, words)))
    if done.returncode != 0:
        raise ValueError(f"exit code {done.returncode}: {done.stderr}")
    return done.stdout


def _label(case, text):
    """The label that a prediction in a table stands for: 1, 1.0 and true are one."""
    for label in case.labels:
        if text.lower() == str(label).lower():
            return label
        try:
            if float(text) == label:
                return label
        except ValueError:
            pass
    return text


def _csv_text(case, file):
    pyarrow.csv.write_csv(table_of(case), file)


def _parquet(case, file):
    pyarrow.parquet.write_table(table_of(case), file)


def _svm(case, file):
    dump_svmlight_file(case.X, case.y, str(file), zero_based=False)


MEMORY_OPTION = ("--memory", "8GB")
#: γ of the kernel of all roads with a curved boundary.
GAMMA = 0.125
COMMANDS = {
    "command line, CSV": _command("a.csv", _csv_text),
    "command line, Parquet": _command("a.parquet", _parquet),
    "command line, LIBSVM": _command("a.svm", _svm),
    "command line, CSV in pieces": _command("a.csv", _csv_text, *MEMORY_OPTION),
    "command line, Parquet in pieces": _command("a.parquet", _parquet, *MEMORY_OPTION),
    "command line, LIBSVM in pieces": _command("a.svm", _svm, *MEMORY_OPTION),
}
CURVED_COMMANDS = {
    "command line, CSV": _curved_command("a.csv", _csv_text),
    "command line, Parquet": _curved_command("a.parquet", _parquet),
    "command line, LIBSVM": _curved_command("a.svm", _svm),
    "command line, CSV in pieces": _curved_command("a.csv", _csv_text, *MEMORY_OPTION),
}
