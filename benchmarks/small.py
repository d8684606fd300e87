"""Small problems, many classes, searches: `python -m benchmarks.small [part ...]`.

Parts: `solves` (one call in a warm process), `configurations` (the paper's on Breast
Cancer beside Clarabel), `digits`, `news20` and `mnist` (one class against the rest,
beside scikit-learn's LinearSVC at equal summed objective), `searches` (cross-validation
and paths), `first` (first use in a fresh process). All by default. One thread,
processor time, medians; what is compared takes turns, but for calls of a millisecond.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from benchmarks.bench.clock import in_turns, timed
from benchmarks.bench.machine import describe
from benchmarks.bench.report import Report
from benchmarks.datasets import libsvm, shared, spambase, unit_rows
from wideberth import RobustLinearSVC, RobustLinearSVCCV, path, solve
from wideberth.problem import Problem
from wideberth.solvers.conic import solve_conic
from wideberth_paper import configurations, load

#: Relative excess of the summed objective at which LinearSVC's answer counts as ours.
_EQUAL = 1e-4
#: Tolerances of LinearSVC, tried in this order until it gets there.
_LADDER = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


def table(report: Report, *names: str) -> None:
    """The head of a table."""
    report.say()
    report.say("| " + " | ".join(names) + " |")
    report.say("|" + "---|" * len(names))


def row(report: Report, *cells) -> None:
    """A row of it; numbers to three digits."""
    texts = [f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in cells]
    report.say("| " + " | ".join(texts) + " |")


def standardised(X: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and variance 1."""
    return StandardScaler().fit_transform(X)


def small_tables() -> dict:
    """Name to rows and labels ±1."""
    cancer, wine, digits = load_breast_cancer(), load_wine(), load_digits()
    return {
        "Breast Cancer": (standardised(cancer.data), 2 * cancer.target - 1),
        "wine": (standardised(wine.data), np.where(wine.target == 1, 1, -1)),
        "digits": (digits.data / 16, np.where(digits.target % 2, 1, -1)),
    }


def solves(report: Report, repeats: int) -> None:
    """One call without an intercept at 1e-4, by "auto", by rounds, by the estimator."""
    table(report, "solve", "C", "radius", "ms", "newton, ms", "estimator, ms")
    for name, (X, y) in small_tables().items():
        for C in (0.01, 1.0):
            for radius in (0.0, 0.1):
                given = {"C": C, "radius": radius, "fit_intercept": False, "tol": 1e-4}
                calls = [
                    partial(solve, X, y, solver=solver, quiet=True, **given)
                    for solver in ("auto", "newton")
                ]
                model = RobustLinearSVC(C, radius, fit_intercept=False, tol=1e-4)
                calls.append(partial(model.fit, X, y))
                # One after the other: a call of the other would cool the caches.
                taken = [
                    1e3 * in_turns([call], 20 * repeats, time.process_time)[0]
                    for call in calls
                ]
                row(report, name, C, radius, *taken)


def cancer_configurations(report: Report, repeats: int) -> None:
    """The paper's, at 1e-6, with a free intercept as there; Clarabel as by default."""
    ratios = {"auto": [], "newton": []}
    table(report, "C", "radius", "auto", "newton", "Clarabel, ms")
    for name, C, radius in configurations():
        if name != "breast_cancer":
            continue
        X, y = load(name)
        given = {"C": C, "radius": radius, "quiet": True, "tol": 1e-6}

        def clarabel(X=X, y=y, C=C, radius=radius):
            problem = Problem.from_data(X, y, C=C, radius=radius, intercept=0.0)
            return solve_conic(problem, backend="clarabel")

        calls = [partial(solve, X, y, solver=name, **given) for name in ratios]
        calls.append(clarabel)
        in_turns(calls, 1)
        *ours, theirs = in_turns(calls, repeats, time.process_time)
        for seconds, found in zip(ours, ratios.values(), strict=True):
            found.append(theirs / seconds)
        shown = [f"{found[-1]:.1f}×" for found in ratios.values()]
        row(report, C, radius, *shown, 1e3 * theirs)
    for solver, found in ratios.items():
        report.say()
        report.say(f"{solver}: least {min(found):.1f}, median {np.median(found):.1f}.")


# -- many classes ----------------------------------------------------------------------


def summed_objective(model, X, y, C: float) -> float:
    """½‖(w,b)‖² + CΣ[1 − y(⟨w,x⟩+b)]_+ over all classes."""
    values = X @ model.coef_.T + model.intercept_
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    squares = (model.coef_**2).sum() + (model.intercept_**2).sum()
    return 0.5 * squares + C * np.maximum(1 - signs * values, 0).sum()


def against_liblinear(report: Report, name: str, X, y, C: float, repeats: int, **ours):
    """Seconds of both, LinearSVC at the first tolerance that gets to our objective."""
    given = {"intercept_penalty": 1.0, "random_state": 0} | ours
    model = RobustLinearSVC(C=C, tol=1e-4, solver_options=given)
    fit = partial(model.fit, X, y)
    best = summed_objective(fit(), X, y, C)
    for tol in _LADDER:
        peer = LinearSVC(C=C, loss="hinge", tol=tol, max_iter=100_000, random_state=0)
        seconds, _ = timed(partial(peer.fit, X, y), time.process_time)
        reached = summed_objective(peer, X, y, C) / best - 1
        if reached <= _EQUAL:
            break
    mine = timed(fit, time.process_time)[0]
    if repeats > 1:
        mine, seconds = in_turns(
            [fit, partial(peer.fit, X, y)], repeats, time.process_time
        )
    said = f"{reached:+.0e} at tol {tol:g}"
    row(report, name, C, mine, seconds, said, seconds / mine)


def classes_head(report: Report) -> None:
    """The head of the tables of many classes."""
    head = ("one-vs-rest", "C", "ours, s", "LinearSVC, s", "its objective", "ratio")
    table(report, *head)


def digits(report: Report, repeats: int) -> None:
    """Ten classes of 1 797×64."""
    data = load_digits()
    classes_head(report)
    for solver in ("auto", "newton"):
        for C in (0.05, 1.0):
            given = f"digits, {solver}", data.data / 16, data.target, C, repeats
            against_liblinear(report, *given, solver=solver)


def news20(report: Report, repeats: int) -> None:
    """Twenty classes of sparse text."""
    X, y = libsvm("news20.bz2")
    classes_head(report)
    X = unit_rows(X)
    against_liblinear(report, "news20", X, y, 1.0, 1)


def mnist(report: Report, repeats: int) -> None:
    """Ten classes of 60 000×784."""
    with np.load(shared("mnist.npz")) as data:
        X, y = data["X_train"].reshape(60_000, -1) / 255.0, data["y_train"]
    classes_head(report)
    against_liblinear(report, "MNIST", X, y, 0.01, 1)


# -- searches --------------------------------------------------------------------------


def searches(report: Report, repeats: int) -> None:
    """30 C in 5 folds, beside scikit-learn's; two radii; a path. Processor time.

    Searches have the same folds and values of C, each solver its default tolerance,
    which for ours is a proven gap of 1e-4.
    """
    head = ("search", "models", "ours, s", "other, s", "ratio", "other")
    table(report, *head)
    wine, data, cancer = load_wine(), load_digits(), load_breast_cancer()
    spam = spambase.load()
    tables = {
        "wine": (standardised(wine.data), wine.target),
        "digits": (data.data / 16, data.target),
        "Breast Cancer": (standardised(cancer.data), cancer.target),
        "Spambase": spam,
    }
    for name, (X, y) in tables.items():
        search = RobustLinearSVCCV(30, cv=5)
        Cs = search.fit(X, y).Cs_
        other = GridSearchCV(LinearSVC(loss="hinge"), {"C": Cs}, cv=5)
        ours, theirs = in_turns(
            [partial(each.fit, X, y) for each in (search, other)],
            max(repeats // 2, 1),
            time.process_time,
        )
        said = "GridSearchCV(LinearSVC)"
        row(report, f"CV {name}", 150, ours, theirs, theirs / ours, said)
    for name in ("Breast Cancer", "Spambase"):
        X, y = tables[name]
        search = RobustLinearSVCCV(8, [0.0, 0.1], cv=5)
        grid = {"C": search.fit(X, y).Cs_, "radius": search.radii_}
        other = GridSearchCV(RobustLinearSVC(), grid, cv=5)
        ours, theirs = in_turns(
            [partial(each.fit, X, y) for each in (search, other)],
            1,
            time.process_time,
        )
        said = "GridSearchCV of ours"
        row(report, f"CV {name}", 80, ours, theirs, theirs / ours, said)
    X, y = spam
    Cs = path(X, y, Cs=30).Cs

    def cold():
        return [solve(X, y, C=C, quiet=True) for C in Cs]

    follow = partial(path, X, y, Cs=Cs, quiet=True)
    ours, theirs = in_turns([follow, cold], max(repeats // 3, 1), time.process_time)
    row(report, "path Spambase", 30, ours, theirs, theirs / ours, "30 solves")


# -- first use -------------------------------------------------------------------------

#: What a fresh process does, after scikit-learn's own imports.
_FIRST = """
import contextlib, io, sys, time
import sklearn.model_selection, sklearn.svm
from sklearn.datasets import load_wine

X, y = load_wine(return_X_y=True)
X = (X - X.mean(axis=0)) / X.std(axis=0)
done = [time.process_time()]
from wideberth import RobustLinearSVC, RobustLinearSVCCV
from wideberth.cli import main

done.append(time.process_time())

def report():
    file = sys.argv[1]
    with contextlib.redirect_stdout(io.StringIO()):
        main(["fit", file, "--target", "y", "--report", file + ".html", "--force"])

for call in (
    lambda: RobustLinearSVC().fit(X, y),
    lambda: RobustLinearSVCCV(8, [0.0, 0.1], cv=5).fit(X, y),
    report,
):
    for _ in range(2):
        call()
        done.append(time.process_time())
print(*(after - before for before, after in zip(done, done[1:])))
"""


def first(report: Report, repeats: int) -> None:
    """The first import, fit, search and command with a report, beside the second."""
    table(report, "in a fresh process", "first, s", "second, s")
    wine, runs = load_wine(), []
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "wine.csv")
        columns = np.column_stack([wine.data, wine.target])
        names = ",".join([f"x{k}" for k in range(wine.data.shape[1])] + ["y"])
        np.savetxt(file, columns, delimiter=",", header=names, comments="")
        for _ in range(repeats):
            command = [sys.executable, "-c", _FIRST, file]
            said = subprocess.run(command, capture_output=True, text=True, check=True)
            runs.append([float(number) for number in said.stdout.split()])
    taken = np.median(runs, axis=0).tolist()
    row(report, "import, after scikit-learn's", taken[0], 0.0)
    for k, what in enumerate(("fit wine", "search wine", "wideberth fit, report")):
        row(report, what, *taken[2 * k + 1 : 2 * k + 3])


PARTS = {
    "solves": solves,
    "configurations": cancer_configurations,
    "digits": digits,
    "news20": news20,
    "searches": searches,
    "first": first,
    "mnist": mnist,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    options.parts = options.parts or [*PARTS]
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    report = Report()
    report.say(f"# Small problems, many classes, searches\n\n{describe()}")
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in options.parts:
            PARTS[part](report, options.repeats)
    report.save("small.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
