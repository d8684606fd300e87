"""Every road from data to a model, in one table; `test_roads.py` walks them all.

A road is a form that the data is given in, a line of `FORMS`, and somebody who trains
on it, a line of `TRAINERS`; the command line has lines of its own. Whatever the road,
the answer is that of the problem, a `Case`. A road that cannot take a case refuses it
in a sentence: `REFUSALS` says which, and what the sentence must name.
"""

import io
import json
import math
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import scipy.sparse as sp
import sklearn
from sklearn.datasets import dump_svmlight_file
from sklearn.preprocessing import StandardScaler

from commands import read_csv
from wideberth import (
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    path,
    solve,
)
from wideberth._arrays import host
from wideberth.cli import main

#: Relative gap that every road is asked for.
TOL = 1e-8
#: Names of the features; the order of the columns is not that of the alphabet.
NAMES = ("mass", "temp", "size", "age")
ROWS, NEW = 90, 40


@dataclass(frozen=True)
class Case:
    """A problem: numbers that every format writes and float32 holds exactly."""

    name: str
    labels: tuple = (-1, 1)
    radius: float | str = 0.0  # "own": one for each row
    noise: str = "l2"  # or "scales", "covariance"
    weighted: bool = False
    intercept: float | None = 0.0  # its penalty; None: there is none
    C: float = 0.5

    @cached_property
    def _drawn(self):
        rng = np.random.default_rng(len(self.labels))
        numbers = rng.integers(0, len(self.labels), ROWS + NEW)
        numbers[: len(self.labels)] = range(len(self.labels))
        X = rng.normal(size=(ROWS + NEW, 4)) * [1.0, 2.0, 0.5, 1.0]
        X[np.arange(len(X)), numbers] += 1.5
        X[rng.random(X.shape) < 0.2] = 0.0
        X[:, 0] += 0.5
        beside = rng.uniform(0.25, 2.0, size=(2, ROWS))
        return _dyadic(X), numbers, _dyadic(beside)

    @property
    def X(self):
        return self._drawn[0][:ROWS]

    @property
    def new(self):
        """Rows to predict."""
        return self._drawn[0][ROWS:]

    @property
    def numbers(self):
        """The class of each row, as a place in `labels`."""
        return self._drawn[1][:ROWS]

    @property
    def y(self):
        return np.array(self.labels)[self.numbers]

    @property
    def weight(self):
        return self._drawn[2][0] if self.weighted else None

    @property
    def radii(self):
        """Radii of the rows, where each has its own."""
        return self._drawn[2][1] / 8 if self.radius == "own" else None

    @property
    def shape(self):
        """What `noise` is given as."""
        scales = np.array([0.5, 1.0, 0.25, 2.0])
        mixed = np.array([[2, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 2]]) / 2
        return {"scales": scales, "covariance": mixed @ mixed.T}.get(
            self.noise, self.noise
        )

    @property
    def penalty(self):
        """What is said about the intercept."""
        return {
            "fit_intercept": self.intercept is not None,
            "intercept_penalty": self.intercept or 0.0,
        }

    @property
    def positives(self):
        """Classes that are one side of a binary problem each."""
        return [1] if len(self.labels) == 2 else range(len(self.labels))

    def objective(self, k, w, b) -> float:
        """The objective of class k against the rest, from its definition."""
        omega = {
            "l2": np.linalg.norm(w),
            "linf": np.abs(w).sum(),
            "scales": np.linalg.norm(self.shape * w) if self.noise == "scales" else 0,
            "covariance": math.sqrt(max(w @ self.shape @ w, 0.0))
            if self.noise == "covariance"
            else 0,
        }[self.noise]
        sign = np.where(self.numbers == k, 1.0, -1.0)
        radii = self.radii if self.radius == "own" else np.full(ROWS, self.radius)
        weight = np.ones(ROWS) if self.weight is None else self.weight
        loss = np.maximum(1 - sign * (self.X @ w + b) + radii * omega, 0)
        terms = [0.5 * w @ w, 0.5 * (self.intercept or 0.0) * b * b]
        return math.fsum([*terms, *(self.C * weight * loss)])


def _dyadic(values):
    """Rounded to 64ths: exact in float32 and in six decimals."""
    return np.round(values * 64) / 64


CASES = [
    Case("plain", intercept=None),
    Case("one radius", radius=0.25),
    Case("own radii and weights", radius="own", weighted=True, intercept=2.0),
    Case("own radii", radius="own"),
    Case("scales", radius=0.5, noise="scales"),
    Case("covariance", radius=0.25, noise="covariance", intercept=None),
    Case("box", radius=0.125, noise="linf"),
    Case("labels 0 and 1", labels=(0, 1), radius=0.25),
    Case("labels of text", labels=("no", "yes"), radius="own"),
    Case("labels True and False", labels=(False, True), radius=0.25),
    Case("three classes", labels=("ash", "birch", "oak"), radius=0.125),
    Case("three numbers", labels=(2, 3, 5), radius=0.125, weighted=True),
]


@dataclass(frozen=True)
class Answer:
    """A model and its proof: one row of w for each binary problem."""

    w: np.ndarray
    b: np.ndarray
    gaps: np.ndarray
    predicted: list
    #: The fitted estimator, where there is one to store.
    model: object = None


# -- forms of data ---------------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """Data as it is handed over: what `solve` and `fit` take."""

    X: object
    y: object = None
    weight: object = None
    radius: object = None
    options: dict = field(default_factory=dict)  # for `solve` alone
    #: Turns new rows into what `predict` takes.
    like: Callable = np.asarray

    @property
    def beside(self):
        """Arguments that are there."""
        beside = {"sample_weight": self.weight, "radius": self.radius}
        return {name: value for name, value in beside.items() if value is not None}


def _arrays(X, like=None):
    """Data beside which labels, weights and radii are plain arrays."""

    def give(case, folder):
        made = X(case.X)
        return Given(made, case.y, case.weight, case.radii, like=like or X)

    return give


def _frame(make):
    return _arrays(lambda X: make({n: X[:, j] for j, n in enumerate(NAMES)}))


def _parts(case):
    """Everything that goes together, in pieces of 25 rows."""
    ones = np.ones(ROWS)
    weight = ones if case.weight is None else case.weight
    radii = ones * case.radius if case.radii is None else case.radii
    return [
        tuple(part[i : i + 25] for part in (case.X, case.y, weight, radii))
        for i in range(0, ROWS, 25)
    ]


def _chunks(of=lambda parts: parts, X=lambda X: X):
    def give(case, folder):
        return Given(of([(X(part), *rest) for part, *rest in _parts(case)]))

    return give


def _table(case):
    columns = {name: case.X[:, j] for j, name in enumerate(NAMES)}
    beside = {"class": case.y, "w": case.weight, "r": case.radii}
    return pa.table(columns | {n: v for n, v in beside.items() if v is not None})


def _columns(case):
    """Names of the columns beside the features, where they are in the table."""
    return (
        "class",
        None if case.weight is None else "w",
        None if case.radii is None else "r",
    )


def _named(X):
    return pd.DataFrame(X, columns=list(NAMES))


def _file(name, write):
    def give(case, folder):
        write(_table(case), folder / name)
        return Given(folder / name, *_columns(case), like=_named)

    return give


def _write_arrow(table, file):
    with pa.ipc.new_file(str(file), table.schema) as writer:
        writer.write_table(table, max_chunksize=25)


def _write_folder(table, folder):
    folder.mkdir()
    for k in range(3):
        pa.parquet.write_table(table.slice(30 * k, 30), folder / f"{k}.parquet")


def _npy(case, folder):
    np.save(folder / "X.npy", case.X)
    return Given(folder / "X.npy", case.y, case.weight, case.radii)


def _memory_map(case, folder):
    np.save(folder / "X.npy", case.X)
    mapped = np.load(folder / "X.npy", mmap_mode="r")
    return Given(mapped, case.y, case.weight, case.radii, {"memory": 2000})


def _libsvm(case, folder):
    dump_svmlight_file(case.X, case.y, str(folder / "a.svm"), zero_based=False)
    return Given(folder / "a.svm", None, case.weight, case.radii)


def _dask_array(case, folder):
    def split(part):
        if part is None:
            return None
        return da.from_array(part, chunks=(25, *part.shape[1:]))

    return Given(*map(split, (case.X, case.y, case.weight, case.radii)))


def _dask_frame(case, folder):
    frame = dd.from_pandas(_table(case).to_pandas(), npartitions=3)
    beside = [None if name is None else frame[name] for name in _columns(case)]
    return Given(frame[list(NAMES)], *beside, like=_named)


def _foreign(library):
    def give(case, folder):
        xp = import_module(library)
        beside = (case.y, case.weight, case.radii)
        numbers = [
            part if part is None or part.dtype.kind in "OU" else xp.asarray(part)
            for part in beside
        ]
        return Given(xp.asarray(case.X), *numbers, like=xp.asarray)

    return give


#: Forms that are one array in memory, or become one.
MEMORY = {
    "array": _arrays(np.array),
    "Fortran order": _arrays(np.asfortranarray),
    "float32": _arrays(lambda X: X.astype(np.float32)),
    "CSR": _arrays(sp.csr_array),
    "CSR matrix of float32": _arrays(lambda X: sp.csr_matrix(X.astype(np.float32))),
    "pandas": _frame(pd.DataFrame),
    "polars": _frame(pl.DataFrame),
}
#: Forms that are read in chunks.
CHUNKED = {
    "chunks": _chunks(),
    "chunks from a function": _chunks(lambda parts: lambda: iter(parts)),
    "chunks of float32": _chunks(X=lambda X: X.astype(np.float32)),
    "chunks of CSR": _chunks(X=sp.csr_array),
    ".npy": _npy,
    "CSV": _file("a.csv", pyarrow.csv.write_csv),
    "Parquet": _file("a.parquet", pyarrow.parquet.write_table),
    "folder of Parquet": _file("parts", _write_folder),
    "Feather": _file("a.feather", pyarrow.feather.write_feather),
    "Arrow": _file("a.arrow", _write_arrow),
    "LIBSVM": _libsvm,
    "Dask array": _dask_array,
    "Dask frame": _dask_frame,
}
#: Arrays of other libraries.
FOREIGN = {
    name: _foreign(name) for name in ("array_api_strict", "torch") if find_spec(name)
}
FORMS = MEMORY | CHUNKED | {"memory map": _memory_map} | FOREIGN


# -- those who train -------------------------------------------------------------------


def _solve(solver):
    def train(case, given):
        found = solve(
            given.X, given.y, C=case.C, noise=case.shape, solver=solver, tol=TOL,
            random_state=0, **_radius(case, given) | given.options, **case.penalty,
        )  # fmt: skip
        certificate = found.certificate
        return _of_line(case, found.w, found.b, certificate.gap + certificate.rounding)

    return train


def _path(case, given):
    found = path(
        given.X, given.y, Cs=[case.C], noise=case.shape, tol=TOL, random_state=0,
        radii=[1.0 if case.radius == "own" else case.radius], **given.beside,
        **case.penalty,
    )  # fmt: skip
    return _of_line(case, found.coefs[0, 0], found.intercepts[0, 0], found.gaps[0, 0])


def _radius(case, given):
    return {"radius": 0.0 if case.radius == "own" else case.radius} | given.beside


def _of_line(case, w, b, gap):
    """The answer of those who return w and b and do not predict themselves."""
    places = (case.new @ w + b > 0).astype(int)
    predicted = [case.labels[place] for place in places]
    return Answer(w[None], np.array([b]), np.array([gap]), predicted)


def _classifier(case, **more):
    radius = 0.0 if case.radius == "own" else case.radius
    options = {"noise": case.shape, "tol": TOL, "random_state": 0}
    return RobustLinearSVC(C=case.C, radius=radius, **options | case.penalty | more)


def _estimator(case, given, model=None):
    model = (model or _classifier(case)).fit(given.X, given.y, **given.beside)
    return _of_model(model, model, given.like(case.new))


def _by_name(case, given):
    """Noise scales by name, in another order than the columns."""
    scales = pd.Series(case.shape, index=list(NAMES)).sort_index()
    return _estimator(case, given, _classifier(case, noise=scales))


def _pipeline(case, given):
    identity = StandardScaler(with_mean=False, with_std=False)
    model = make_robust_pipeline(identity, _classifier(case))
    beside = {f"robustlinearsvc__{name}": v for name, v in given.beside.items()}
    model.fit(given.X, given.y, **beside)
    return _of_model(model, model[-1], given.like(case.new))


def _search(case, given):
    radii = [1.0 if case.radius == "own" else case.radius]
    model = RobustLinearSVCCV(
        [case.C], radii, noise=case.shape, cv=2, tol=TOL, random_state=0,
        **case.penalty,
    )  # fmt: skip
    model.fit(given.X, given.y, **given.beside)
    return _of_model(model, model, given.like(case.new))


def _of_model(model, fitted, new):
    parts = (fitted.coef_, fitted.intercept_, fitted.dual_gap_)
    predicted = model.predict(new)
    predicted = predicted if isinstance(predicted, np.ndarray) else host(predicted)
    return Answer(*map(host, parts), predicted.tolist(), model)


TRAINERS = {
    "solve": _solve("auto"),
    "solve by newton": _solve("newton"),
    "solve by coordinate": _solve("coordinate"),
    "solve by conic": _solve("conic"),
    "path": _path,
    "estimator": _estimator,
    "estimator, noise by name": _by_name,
    "pipeline": _pipeline,
    "search": _search,
}


# -- the command line ------------------------------------------------------------------


def _command(name, write, *more):
    """`wideberth fit`, then `predict` from the file it wrote."""

    def train(case, folder):
        data, new = folder / name, folder / f"new{name[name.index('.') :]}"
        write(case, data)
        write(_new_rows_first(case), new)
        words = ["fit", data, "--out", folder / "m.skops", "--json", "--folds", "0"]
        words += ["--C", case.C, "--tol", TOL, *more, *_noise_options(case, folder)]
        if not name.endswith(".svm"):
            words += ["--target", "class"]
        result = json.loads(_said(words))
        _said(["predict", folder / "m.skops", new, "--out", folder / "p.csv"])
        rows = read_csv((folder / "p.csv").read_text())[:NEW]
        model, problems = result["model"], result["training"]["problems"]
        return Answer(
            np.array([*model["coefficients"].values()]).T,
            np.array(model["intercepts"]),
            np.array([problem["gap"] for problem in problems]),
            [_label(case, row["prediction"]) for row in rows],
        )

    return train


def _new_rows_first(case):
    """The case with its new rows in front; the labels beside them do not matter."""
    fresh = replace(case)
    X, numbers, beside = case._drawn
    order = np.r_[ROWS : ROWS + NEW, :ROWS]
    fresh.__dict__["_drawn"] = X[order], numbers, beside
    return fresh


def _noise_options(case, folder):
    if case.radius == "own":
        return ["--radius-column", "r"]
    options = ["--radius", case.radius]
    if case.noise == "scales":
        lines = [f"{n},{s}" for n, s in zip(NAMES, case.shape, strict=True)]
        (folder / "s.csv").write_text("\n".join(["name,scale", *lines]))
        options += ["--noise-scales", folder / "s.csv"]
    elif case.noise != "l2":
        options += ["--noise", case.noise]
    return options


def _said(words):
    """What a command prints; its complaint is raised as it stands."""
    said, complaint = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(said), redirect_stderr(complaint):
        try:
            code = main(list(map(str, words)))
        except SystemExit as end:
            code = end.code
    if code != 0:
        raise ValueError(f"exit code {code}: {complaint.getvalue()}")
    said.flush()
    return said.buffer.getvalue().decode("utf-8")


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
    pyarrow.csv.write_csv(_table(case), file)


def _parquet(case, file):
    pyarrow.parquet.write_table(_table(case), file)


def _svm(case, file):
    dump_svmlight_file(case.X, case.y, str(file), zero_based=False)


MEMORY_OPTION = ("--memory", "1GB")
COMMANDS = {
    "command line, CSV": _command("a.csv", _csv_text),
    "command line, Parquet": _command("a.parquet", _parquet),
    "command line, LIBSVM": _command("a.svm", _svm),
    "command line, CSV in pieces": _command("a.csv", _csv_text, *MEMORY_OPTION),
    "command line, Parquet in pieces": _command("a.parquet", _parquet, *MEMORY_OPTION),
    "command line, LIBSVM in pieces": _command("a.svm", _svm, *MEMORY_OPTION),
}


# -- the table of roads ----------------------------------------------------------------


@dataclass(frozen=True)
class Road:
    """A form of data and who trains on it."""

    form: str
    trainer: str

    @property
    def name(self):
        return f"{self.form} → {self.trainer}"

    def answer(self, case: Case, folder: Path) -> Answer:
        """Walk it; files go into an empty folder."""
        if self.trainer in COMMANDS:
            return COMMANDS[self.trainer](case, folder)
        elsewhere = self.form in FOREIGN and self.trainer == "estimator"
        with sklearn.config_context(array_api_dispatch=elsewhere):
            return TRAINERS[self.trainer](case, FORMS[self.form](case, folder))

    def is_there(self, case: Case) -> bool:
        """Whether the case can be put in this form, and said to this trainer."""
        numbers = all(isinstance(label, int) for label in case.labels)
        if "LIBSVM" in self.name and not numbers:
            return False  # the format holds numbers
        if self.trainer == "estimator, noise by name":
            return case.noise == "scales" and self.form in ("pandas", "polars")
        if self.trainer not in COMMANDS:
            return True
        if case.intercept != 0 or case.weighted or case.noise == "covariance":
            return False  # no option says so
        # Columns of LIBSVM text have no names of their own.
        return "LIBSVM" not in self.trainer or (
            case.radius != "own" and case.noise != "scales"
        )

    def refusal(self, case: Case) -> str | None:
        """What the sentence must name, one reason or another, where it is refused."""
        reasons = [said for holds, said in REFUSALS if holds(self, case)]
        return "|".join(reasons) or None


ESTIMATORS = ("estimator", "estimator, noise by name", "pipeline", "search")
ROADS = [Road(form, trainer) for form in FORMS for trainer in TRAINERS]
ROADS += [Road("file", trainer) for trainer in COMMANDS]

_IN_CHUNKS = {*CHUNKED, "memory map"}
_ONE_LINE = [name for name in TRAINERS if name not in ESTIMATORS]

#: Which roads refuse which cases, and what the sentence must name.
REFUSALS: list[tuple[Callable[[Road, Case], bool], str]] = [
    # What is read in chunks is solved by Newton's method, one problem at a time.
    (lambda r, c: r.form in _IN_CHUNKS and r.trainer == "solve by coordinate", "in memory"),
    (lambda r, c: r.form in _IN_CHUNKS and r.trainer == "solve by conic", "in memory"),
    (lambda r, c: r.form in CHUNKED and r.trainer in ("path", "pipeline", "search"), "in memory"),
    (lambda r, c: r.form in FOREIGN and r.trainer == "pipeline", "in memory"),
    (lambda r, c: r.form in _IN_CHUNKS and r.trainer.startswith("solve") and c.noise == "linf", "in memory"),
    (lambda r, c: r.form in CHUNKED and r.trainer == "estimator" and c.noise == "linf", "in memory"),
    # Three classes are for the estimators.
    (lambda r, c: r.trainer in _ONE_LINE and len(c.labels) > 2, "RobustLinearSVC"),
    # Solvers that are for some shapes of noise.
    (lambda r, c: r.trainer == "solve by newton" and c.noise == "linf", "needs smooth noise"),
    (lambda r, c: r.trainer == "solve by coordinate" and c.noise != "l2", "solver='newton'|solver='conic'"),
    # The command line in pieces.
    (lambda r, c: "in pieces" in r.trainer and c.noise in ("scales", "linf"), "needs the whole table"),
]  # fmt: skip
