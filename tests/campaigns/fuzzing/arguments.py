"""Arguments: of `solve`, `path`, the estimators and the command line.

Numbers here stay within 1e±12: what lies beyond is the numerical torture's.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from random import Random

import numpy as np
import scipy.sparse as sp

from commands import as_csv, two_classes
from fuzzing import Violation, target
from fuzzing.texts import csv_content, libsvm_content
from fuzzing.workshop import PLACE, check_solution
from wideberth import (
    RobustLinearSVC,
    RobustLinearSVCCV,
    make_robust_pipeline,
    path,
    robust_scorer,
    solve,
)

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(12, 3)) + np.repeat([[0.7], [-0.7]], 6, axis=0)
_Y = np.repeat([1, -1], 6)


class _Strange:
    """An object that is nothing in particular."""

    def __repr__(self):
        return "strange"


#: Where a number is asked for.
_NUMBERS = (
    1, 1.0, 0.5, 2, 1e-3, 100, 0, -1, -0.0, 1e-12, 1e12, np.inf, -np.inf, np.nan, True,
    None, "1", "x", b"1", 1j, [], [1.0], (1,), {}, np.float32(0.5), np.int8(1), np.array(0.5),
    np.array([0.5]), 2**100, -(2**100), object, _Strange(), np.ma.masked, np.datetime64("2020"),
)  # fmt: skip


def _vector(rng: Random, n: int = 12):
    """Something for one number per row."""
    good = np.linspace(0.01, 0.3, n)
    return rng.choice(
        (
            None, good, good.tolist(), good.astype("f4"), good.astype("f2"), good[:-1], good[:, None],
            -good, good * np.nan, good * np.inf, good.astype(str), good.astype(object), good > 0.1,
            np.array([None] * n), np.zeros(n), sp.csr_array(good[None]), iter(good), {1: 0.1},
            {1: 0.1, -1: 0.2}, {1: None, -1: "x"}, "balanced", good * 1j, np.full(n, 1e12), [[1, 2], 3],
            np.ma.masked_array(good, good > 0.1), memoryview(good), range(n), np.full(n, 1e-12),
            *_NUMBERS,
        )
    )  # fmt: skip


def _matrix(rng: Random):
    if rng.random() < 0.6:
        return _X
    holes = _X.copy()
    holes[3, 1] = rng.choice((np.nan, np.inf, -np.inf))
    return rng.choice(
        (
            _X.astype("f4"), _X.astype("f2"), _X.astype("g"), _X.astype(">f8"), _X.tolist(), sp.csr_array(_X),
            sp.coo_matrix(_X), sp.csc_array(_X), sp.dok_array(_X), sp.bsr_array(_X), holes,
            sp.csr_array(holes), _X[:, 0], _X[None], _X[:0], _X[:, :0], _X.astype(str), _X.astype(object),
            _X * 1j, _X > 0, np.zeros((12, 3)), _X * 1e12, _X * 1e-12, _X[::-1, ::-1], np.asfortranarray(_X),
            np.ma.masked_array(_X, _X > 1), np.matrix(_X), None, 5, "nowhere.csv", "", {}, [], [[]], [[1], [1, 2]],
            _X.view("V8"), np.array(_X, dtype=[("a", "f8")]), memoryview(_X), _Strange(), object,
        )
    )  # fmt: skip


def _labels(rng: Random):
    if rng.random() < 0.6:
        return _Y
    return rng.choice(
        (
            _Y.tolist(), _Y.astype("f8"), _Y.astype("i1"), _Y > 0, np.where(_Y > 0, "p", "q"), _Y * 2, _Y * 0 + 1,
            _Y[:-1], _Y[:, None], np.where(_Y > 0, 0, 1), _Y.astype(object), _Y * 1.5, _Y * np.nan, None, 1, "y",
            np.repeat([0, 1, 2], 4), np.arange(12), np.array([None] * 12), np.array([1, "a"] * 6, dtype=object),
            np.zeros(12, "M8[s]"), sp.csr_array(_Y[None]), _Y.astype("u8"), _Y * 1j, [1] * 11 + ["x"], {}, _Strange(),
            np.array([b"p", b"q"] * 6), np.repeat([0.1, 0.2], 6), np.repeat([2**63, 1], 6).astype("u8"),
        )
    )  # fmt: skip


def _noise(rng: Random):
    return rng.choice(
        (
            *["l2"] * 6, np.ones(3), [1, 2, 0], np.zeros(3), np.eye(3), -np.eye(3), np.ones((3, 3)), np.ones(4),
            np.ones((2, 3)), np.full(3, np.nan), np.full(3, 1e12), -np.ones(3), "L2", "", None, 1, {}, ["l2"],
            np.full((3, 3), np.inf), np.ones(3, "f4"), np.array("l2"), "covariance", np.ones(0), _Strange(),
        )
    )  # fmt: skip


def _some(rng: Random, makers: dict, most: int = 3) -> dict:
    """A few arguments, each from its own pool or from that of all numbers."""
    names = rng.sample(list(makers), rng.randint(0, most))
    return {
        name: makers[name](rng) if rng.random() < 0.8 else rng.choice(_NUMBERS)
        for name in names
    }


def _pick(*values):
    return lambda rng: rng.choice(values)


_SOLVER = {
    "C": _pick(*_NUMBERS),
    "noise": _noise,
    "fit_intercept": _pick(True, False, 0, 1, None, "yes", 2, []),
    "intercept_penalty": _pick(*_NUMBERS),
    "solver": _pick("auto", "newton", "coordinate", "newton", "Newton", "", None, 1, ["newton"]),
    "screening": _pick("ellipsoid", "midpoint", "gap", None, "ball", "", 1, False, []),
    "tol": _pick(1e-2, 1e-4, 1e-9, 1e-15, 1e-300, *_NUMBERS),
    "max_iter": _pick(1, 2, 5, 100, np.int64(3), 0, -1, 1.5, None, "1", True, 10**9),
    "random_state": _pick(0, 1, None, -1, 2**32, 2**70, "a", 1.5, np.random.default_rng(0),
                          np.random.RandomState(0), np.random, [1, 2]),
}  # fmt: skip
_SOLVE = _SOLVER | {
    "radius": _vector,
    "sample_weight": _vector,
    "init": _pick(None, (np.zeros(3), 0.0, None), (np.ones(3), 1, np.ones(12)), (1, 2), "x", (np.ones(2), 0, None),
                  (np.full(3, np.nan), 0, None), (np.ones(3), 0, -np.ones(12)), 5, (np.ones(3), "b", None),
                  (np.zeros(3), 0, np.full(12, np.inf)), (np.zeros(3), np.nan, None), [np.zeros(3), 0, None]),
    "callback": _pick(None, lambda entry: None, lambda entry: True, 5, "x"),
    "quiet": _pick(True, False, None, "x"),
    "memory": _pick(None, "1GB", "x", 0, -1, 1e9),
    "max_seconds": _pick(None, 1, 1e-9, 0, -1, "x", np.nan, np.inf),
}  # fmt: skip
_GRIDS = {
    "Cs": _pick(3, 1, [0.1, 1], [1, 0.1], 0, -1, [], [0], [np.nan], [np.inf], "3", None, 2.5, True, [[1]], [1, 1],
                ["a"], np.array([1, 10]), {}, (1e-12, 1e12), 10**15, [True]),
    "radii": _pick((0.0,), [0, 0.1], [0.1, 0], [], None, [-1], [np.nan], "x", 0.1, [[0.1]], [1e12], {}, ["a"]),
}  # fmt: skip
#: `path` has no such arguments.
_PATH = {k: v for k, v in _SOLVE.items() if k not in ("C", "init", "memory")} | _GRIDS
_FIT = {"sample_weight": _vector, "radius": _vector}
_MODEL = _SOLVER | {
    "radius": _vector,
    "class_weight": _pick(
        None,
        "balanced",
        {1: 2.0, -1: 1.0},
        {1: 0},
        {1: -1, -1: 1},
        {},
        "x",
        1,
        {"p": 1},
        [1],
    ),
    "n_jobs": _pick(None, 1, 1, 0, 1.5, "x"),
    "verbose": _pick(0, 0, False, None),
    "max_seconds": _pick(None, 1, 1e-9, 0, -1, "x", np.nan),
}
_SEARCH = {
    k: v for k, v in _MODEL.items() if k not in ("C", "radius", "max_seconds")
} | _GRIDS
_SEARCH |= {
    "cv": _pick(2, 3, 2, None, 1, 0, 100, "x", [], [([0], [1])], 2.5, [(np.arange(12), np.arange(12))] * 2),
    "scoring": _pick(None, "accuracy", "balanced_accuracy", "nonsense", 5, lambda m, X, y: np.nan, lambda m, X, y: "a",
                     *map(robust_scorer, (None, 0.1, 0, -1, np.nan, "x", [0.1], np.inf))),
    "refit": _pick(True, False, None),
}  # fmt: skip


@contextlib.contextmanager
def _quietly():
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()) as said,
        ):
            yield said


def _bounded(options: dict) -> dict:
    """No case may take long for a good reason."""
    return {"max_seconds": 2} | options


def _solve_case(rng: Random):
    if rng.random() < 0.25:
        return "path", _matrix(rng), _labels(rng), {"Cs": 3} | _some(rng, _PATH)
    return "solve", _matrix(rng), _labels(rng), _bounded(_some(rng, _SOLVE))


@target("solve", _solve_case, (ValueError, TypeError, FileNotFoundError), share=0.03)
def call_solve(case) -> None:
    """`solve` and `path`, with arguments of any kind."""
    name, X, y, options = case
    with _quietly():
        if name == "solve":
            check_solution(solve(X, y, **options))
            return
        found = path(X, y, **options)
        done = found.done
        if (
            not np.isfinite(found.coefs[done]).all()
            or not np.isfinite(found.gaps[done]).all()
        ):
            raise Violation(f"not finite: {found}")


#: Arguments of estimators that go into `solver_options`.
_STEERING = (
    *("solver", "screening", "max_iter", "max_seconds", "intercept_penalty"),
    *("random_state", "verbose", "refit"),
)


def _steered(options: dict) -> dict:
    steering = {name: options[name] for name in options if name in _STEERING}
    others = {name: options[name] for name in options if name not in _STEERING}
    return others | {"solver_options": steering or None}


def _fit_case(rng: Random):
    kind = rng.choice(("model", "model", "search", "pipeline"))
    pool = _SEARCH if kind == "search" else _MODEL
    options = _some(rng, pool)
    if kind == "search":
        options = {"Cs": [0.1, 1], "cv": 2} | options
    return kind, options, _matrix(rng), _labels(rng), _some(rng, _FIT, 2)


@target("fit", _fit_case, (ValueError, TypeError, FileNotFoundError), share=0.02)
def call_fit(case) -> None:
    """The estimators: parameters and arguments of `fit` of any kind, then `predict`."""
    kind, options, X, y, beside = case
    with _quietly():
        if kind == "search":
            model = RobustLinearSVCCV(**_steered(options))
        else:
            model = RobustLinearSVC(**_steered(_bounded(options)))
        if kind == "pipeline":
            from sklearn.preprocessing import StandardScaler

            model = make_robust_pipeline(StandardScaler(), model)
            beside = {
                f"robustlinearsvc__{name}": value for name, value in beside.items()
            }
        model.fit(X, y, **beside)
        last = model[-1] if kind == "pipeline" else model
        if not hasattr(last, "coef_"):  # refit=False
            return
        if not np.isfinite(last.coef_).all() or not np.isfinite(last.intercept_).all():
            raise Violation("a model that is not finite")
        if not set(np.unique(model.predict(_X))) <= set(last.classes_):
            raise Violation("labels that are no class")


# -- the command line --------------------------------------------------------------------

#: Options that go with the data of a command, each with the kinds of values it may have.
_COMMON = {
    "--radius": ("0.1", "0", "50", "1e12", "1e-12", "0.1std", "0,0.1,1e12"), "--radius-column": ("mass", "nothing", "temp", "state"),
    "--replicates": ("mass", "state", "id", "nothing"), "--noise": ("l2", "linf", "scales.csv", "data.csv", "none.csv"),
    "--confidence": ("0.5", "0.999999999", "1e-9"),
    "--standardize": (None,),
    "--drop": ("mass", "id", "nothing", "state"), "--one-hot": ("id", "mass", "state"), "--missing": ("median", "error"),
    "--class-weight": ("balanced",), "--tol": ("1e-9", "1e-300", "1e12", "0.5"), "--seed": ("1", "4294967295"),
    "--read": ("delimiter=;", "delimiter=space", "delimiter=1", "decimal=,", "encoding=latin-1", "encoding=utf-16",
               "encoding=undefined", "header=no", "na=p", "na=1", "na=", "format=csv", "format=libsvm", "format=npy",
               "format=parquet"),
    "--json": (None,),
}  # fmt: skip
_OWN = {
    "fit": {"--C": ("1e-12", "1e12", "2", "auto", "0.1,1,10"), "--ramp": (None, "-1"), "--score-radius": ("0.1",),
            "--folds": ("0", "2", "3", "4294967295"), "--memory": ("8GB", "1", "x"), "--out": ("m.out", "-", "none/m", "\udcff.out"),
            "--report": ("r.html",)},
    "predict": {"--id": ("id", "nothing"), "--scores": (None,), "--out": ("o.csv", "-")},
    "certify": {"--id": ("id",), "--at": ("0", "0.1", "0,1e300"), "--curve": ("c.csv",), "--out": ("o.csv",)},
}  # fmt: skip
_APPLY = ("--read", "--json")


def _command_case(rng: Random):
    command = rng.choice(("fit", "fit", "predict", "certify"))
    trains = command == "fit"
    pool = (_COMMON if trains else {name: _COMMON[name] for name in _APPLY}) | _OWN[
        command
    ]
    words = ["--target", "state"] if trains and rng.random() < 0.9 else []
    if trains and rng.random() < 0.8:
        words += [rng.choice(("--drop", "--one-hot")), "id", "place"]
    if command == "fit" and rng.random() < 0.8:
        words += ["--folds", "0"]
    for name in rng.sample(list(pool), rng.randint(0, 3)):
        words += [
            name,
            *([value] if (value := rng.choice(pool[name])) is not None else []),
        ]
    X, y = two_classes(rng.choice((2, 6, 20)), rng.randrange(50))
    kind = rng.random()
    if kind < 0.8:
        marks = [rng.choice(("u", "v", "w", "")) for _ in y]
        content = as_csv(X, y, id=marks, place=["here"] * len(y)).encode("utf-8")
    else:
        content = csv_content(rng) if kind < 0.95 else libsvm_content(rng)
    return command, words, content


@target("commands", _command_case, (SystemExit,), share=0.002)
def run_command(case) -> None:
    """Whole commands, in this process: the exit code and one sentence, never a bug."""
    from fuzzing.binaries import _models
    from wideberth.cli import main

    command, words, content = case
    _models()
    folder = PLACE.parent
    (folder / "data.csv").write_bytes(content)
    (folder / "scales.csv").write_text("name,scale\nmass,0.1\ntemp,0.2\nsize,1\nid,1\n")
    model = [] if command == "fit" else ["good.wideberth"]
    with contextlib.chdir(folder), _quietly() as said:
        sys_stdout = io.TextIOWrapper(io.BytesIO(), "utf-8")
        with contextlib.redirect_stdout(sys_stdout):
            code = main([command, *model, "data.csv", "--force", *words])
    told = said.getvalue()
    if "this is a bug" in told or code not in (0, 1, 2, 3):
        raise Violation(f"exit code {code}: {told}")
    if code in (1, 2):
        if told.count("wideberth:") < 1 or "Traceback" in told:
            raise Violation(f"no sentence: {told}")
        raise SystemExit(code)
