"""One class against the rest: the binary problems of a classifier, and their solutions.

Two classes are one problem, in which the second is positive; more are one problem each.
Data in memory, data in chunks and the folds of a cross-validation all come here:
`OneVsRest` says which problems there are, `fit_one_vs_rest` solves them all and sets
what an estimator keeps.

A radius is one number, a dict of class label to number, or one number per sample;
`radii_of`, `scaled_radius` and `remembered_radius` are all that is done to one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from wideberth.data.errors import counted, listed, meant
from wideberth.data.opening import is_scaled
from wideberth.estimators.callbacks import FitProgress
from wideberth.estimators.suspects import suspects
from wideberth.problem.arrays import host
from wideberth.problem.statement import Statement
from wideberth.problem.validation import (
    check_jobs,
    check_number,
    check_per_sample,
    short,
)
from wideberth.results import Solution
from wideberth.solvers.base import Options, Solver

#: Parameters that are those of `Statement` and of `Options`, which check them.
_STATED = ("C", "norm_penalty", "fit_intercept", "ramp")
_HOW = ("starts", "solver", "screening", "max_iter")
#: Attributes that make a fitted model predict and certify.
_PREDICTIVE = (
    *("classes_", "coef_", "intercept_", "noise_", "radius_"),
    *("error_shape_", "n_features_in_"),
)


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """What `solver_options` of a classifier or a search may say, and the defaults."""

    solver: str | Solver = "auto"
    screening: str | None = "ellipsoid"
    max_iter: int = 10_000
    max_seconds: float | None = None
    starts: int = 1
    intercept_penalty: float = 0.0
    warm_start: bool = False
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    refit: bool = True

    @classmethod
    def read(cls, given: dict | None, unused: Sequence[str]) -> SolverOptions:
        """Read the parameter; options that are `unused` are refused as unknown."""
        known = [each.name for each in fields(cls) if each.name not in unused]
        if given is None:
            return cls()
        if not isinstance(given, dict):
            raise ValueError(
                f"solver_options={short(given)} must be a dict of {listed(known, 99)}, "
                "or None."
            )
        strange = [name for name in given if name not in known]
        if strange:
            raise ValueError(
                f"solver_options has {listed(map(str, strange))}; it takes "
                f"{listed(known, 99)}{meant(map(str, strange), known) or '.'}"
            )
        return cls(**given)


@dataclass(frozen=True)
class OneVsRest:
    """The binary problems of labelled data.

    `labels` are all that occur, sorted, and `factors` those on C of each; the labels
    that are `present` with a positive weight are the classes.
    """

    labels: np.ndarray
    factors: np.ndarray
    present: np.ndarray

    @classmethod
    def of(cls, data, class_weight) -> OneVsRest:
        """Problems of `InMemory` or `InChunks`, under a classifier's parameter."""
        labels = data.labels
        factors = _class_factors(class_weight, labels, data.totals)
        present = data.totals * factors > 0
        if present.sum() < 2:
            shown = ", ".join(map(str, labels[:5].tolist()))
            weighing, check = "", "y"
            if present.sum() < len(labels):
                weighing = f", {present.sum()} of non-zero weight"
                check = "y, sample_weight and class_weight"
            raise ValueError(
                f"y holds {counted(len(labels), 'class')} ({shown}){weighing}; a "
                f"classifier needs at least two classes. Check {check}."
            )
        return cls(labels, factors, present)

    @property
    def classes(self) -> np.ndarray:
        """Labels that a model can predict."""
        return self.labels[self.present]

    @property
    def positives(self) -> list[int]:
        """For each problem the place of its positive class in `labels`."""
        places = np.flatnonzero(self.present).tolist()
        return places[1:] if len(places) == 2 else places

    def signs(self, data, positive: int) -> np.ndarray:
        """1 for the label at this place, −1 for the rest, in memory."""
        return np.where(data.numbers == positive, 1.0, -1.0)

    def weights(self, data) -> np.ndarray:
        """Weights of samples in memory times the factors of their classes."""
        if np.all(self.factors == 1):
            return data.weights
        return data.weights * self.factors[data.numbers]

    def stated(self, data, statement: Statement) -> Statement:
        """What is stated, with what samples in memory bring, for all problems."""
        return replace(
            statement,
            sample_weight=self.weights(data),
            radius=radii_of(data.radius, data.y),
            X_err=data.bars,
        )


def fit_one_vs_rest(model, data) -> list[Warning]:
    """Fit a `RobustLinearSVC` in place to `InMemory` or `InChunks`; return warnings."""
    check_jobs(model.n_jobs)
    options = model._options
    notes = unknown_classes(model.class_weight, data.radius, data.labels)
    problems = OneVsRest.of(data, model.class_weight)
    model.noise_, starts = model._noise(), _starts(model, problems, data)
    random = check_random_state(options.random_state)
    seeds = random.randint(2**31, size=len(data.labels))
    deadline = None
    if options.max_seconds is not None:
        seconds = check_number(options.max_seconds, "max_seconds", positive=True)
        deadline = time.monotonic() + seconds
    progress = FitProgress(model, len(problems.positives), X=data.X, y=data.y)
    train = data.trainer(problems, statement_of(model))
    how = {name: getattr(options, name) for name in _HOW} | {"tol": model.tol}
    n_jobs = model.n_jobs if data.in_memory else 1
    tasks = [
        partial(
            _solve_one,
            partial(train, k),
            how | {"init": start, "random_state": int(seeds[k])},
            deadline,
            partial(progress.watch, k, _printer(model, data, k)),
        )
        for k, start in zip(problems.positives, starts, strict=True)
    ]
    solutions = _run(tasks, n_jobs)
    model.radius_ = data.remembered_radius()
    _keep(model, solutions, problems, data.y)
    for name in ("suspects_", "descent_"):
        vars(model).pop(name, None)
    if all(solution.descent for solution in solutions):
        model.descent_ = [solution.descent.summary() for solution in solutions]
        if data.in_memory:
            model.suspects_ = suspects(model, data, solutions)
    progress.end(**{name: getattr(model, name) for name in _PREDICTIVE})
    return notes + _notes_of(solutions, problems.classes)


def _run(tasks: Sequence[Callable], n_jobs) -> list:
    """Their results; one job needs none of what threads take to set up."""
    parallel = Parallel(n_jobs=n_jobs, prefer="threads")
    if parallel.n_jobs == 1:
        return [task() for task in tasks]
    return parallel(delayed(task)() for task in tasks)


def _solve_one(solve, how: dict, deadline: float | None, watch) -> Solution:
    """One class against the rest, in whatever thread or process."""
    callback, done = watch()
    if deadline is not None:  # `solve` takes positive times; so short a one is none
        left = max(deadline - time.monotonic(), np.finfo(float).tiny)
        how = how | {"max_seconds": left}
    solution = solve(Options(callback=callback, **how))
    done()
    return solution


def _printer(model, data, k: int):
    """What prints the certified points of a problem; of chunks `solve_source` does.

    The command line has them told to `_told`, with the label.
    """
    if data.in_memory and getattr(model, "_told", None) is not None:
        return partial(model._told, data.labels[k])
    if not model._options.verbose or not data.in_memory:
        return None
    return partial(_print_point, type(model).__name__, data.labels[k])


def _print_point(name: str, label, entry: dict) -> None:
    print(
        f"[{name}] {label!s}: iteration {entry['iteration']}, "
        f"objective {entry['primal']:.6g}, gap {entry['gap']:.2e}, "
        f"{entry['free']} samples undecided, {entry['seconds']:.2f} s"
    )


def _starts(model, problems: OneVsRest, data) -> list:
    """Previous solutions to start from, or None for each binary problem."""
    none = [None] * len(problems.positives)
    if not model._options.warm_start or is_scaled(data.X, data.y):
        return none
    if not hasattr(model, "support_"):  # never fitted, or to data in chunks
        return none
    coef, support = host(model.coef_), host(model.support_)
    n, d = data.X.shape
    same = np.array_equal(host(model.classes_), problems.classes)
    if not same or coef.shape[1] != d:
        return none
    alpha = np.zeros((len(coef), n))
    here = support < n
    alpha[:, support[here]] = np.abs(host(model.dual_coef_)[:, here])
    return list(zip(coef, host(model.intercept_), alpha, strict=True))


def _keep(model, solutions: list[Solution], problems: OneVsRest, y) -> None:
    """Set the fitted attributes; those per sample where the labels `y` are at hand."""
    model.classes_ = problems.classes
    model.coef_ = np.vstack([solution.w for solution in solutions])
    model.intercept_ = np.array([solution.b for solution in solutions])
    model.objective_ = np.array([solution.primal for solution in solutions])
    model.dual_gap_ = np.array([solution.gap for solution in solutions])
    model.relative_gap_ = np.array([solution.relative_gap for solution in solutions])
    model.converged_ = np.array([solution.converged for solution in solutions])
    model.n_iter_ = np.array([solution.n_iter for solution in solutions])
    model.screening_ = [_screening(solution) for solution in solutions]
    vars(model).pop("support_", None)
    vars(model).pop("dual_coef_", None)
    if y is not None:
        positives = problems.labels[problems.positives].tolist()
        model.support_, model.dual_coef_ = _support(solutions, positives, y)


def _screening(solution: Solution) -> dict:
    """Shares of the samples that are decided, and how the solver got there."""
    free, saturated, removed = solution.counts
    n = free + saturated + removed
    return {
        "removed": removed / n,
        "saturated": saturated / n,
        "trace": solution.trace,
        "converged": solution.converged,
    }


def _support(solutions: list[Solution], positives: list, y: np.ndarray) -> tuple:
    """Indices and signed α of the samples with a dual weight in some problem."""
    used = np.zeros(len(y), dtype=bool)
    for solution in solutions:
        used |= host(solution.alpha > 0) & ~host(solution.removed)
    support = np.flatnonzero(used)
    alpha = np.array([host(solution.alpha)[support] for solution in solutions])
    positive = [y[support] == label for label in positives]
    return support, np.where(positive, alpha, -alpha)


def _notes_of(solutions: list[Solution], classes: np.ndarray) -> list[Warning]:
    """Warnings of all binary problems; where there are more, each names its class."""
    if len(solutions) == 1:
        return list(solutions[0].notes)
    return [
        type(note)(f"{label!s} against the rest: {note}")
        for label, solution in zip(classes, solutions, strict=True)
        for note in solution.notes
    ]


# -- numbers per class -----------------------------------------------------------------


def per_class(table: dict, labels: np.ndarray, name: str, default=None) -> np.ndarray:
    """Read a dict of class label to number as an array in the order of `labels`."""
    values = [table.get(label, default) for label in labels.tolist()]
    if any(value is None for value in values):
        missing = labels[[value is None for value in values].index(True)]
        raise ValueError(
            f"{name}={table!r} has no entry for the class {missing!s}; give one for "
            "every class."
        )
    return check_per_sample(values, len(labels), f"{name} per class")


def _class_factors(class_weight, labels: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Factors on C by class; `totals` are the weights of the classes."""
    if class_weight is None:
        return np.ones(len(labels))
    if isinstance(class_weight, dict):
        return per_class(class_weight, labels, "class_weight", default=1.0)
    if isinstance(class_weight, str) and class_weight == "balanced":
        weighted = totals > 0
        share = np.where(weighted, weighted.sum() * totals, np.inf)
        return totals.sum() / share
    raise ValueError(
        f"class_weight={class_weight!r} is not known; give None, 'balanced' or a dict "
        "of class label to weight."
    )


def unknown_classes(class_weight, radius, labels: np.ndarray) -> list[Warning]:
    """Refuse, or else note, entries of a dict for labels that do not occur.

    As in scikit-learn they are an error where a class has no entry: then one of them is
    probably meant for it. Where every class has one they may be for classes that a fold
    of a cross-validation happens to lack, and a warning says so.
    """
    known, notes = labels.tolist(), list[Warning]()
    for name, table in {"class_weight": class_weight, "radius": radius}.items():
        if not isinstance(table, dict):
            continue
        unknown = [label for label in table if label not in known]
        said = f"{name} has entries for {unknown!r}, which do not occur in y"
        if unknown and any(label not in table for label in known):
            raise ValueError(
                f"{said}; its classes are {known!r}. Name classes as y does; where "
                "folds may lack a class, give every class an entry."
            )
        if unknown:
            notes.append(UserWarning(f"{said}; its classes are {known!r}."))
    return notes


# -- noise ----------------------------------------------------------------------------


def statement_of(model) -> Statement:
    """What a model's parameters state about its problems, whatever the data."""
    given = {name: getattr(model, name) for name in _STATED if hasattr(model, name)}
    penalty = model._options.intercept_penalty
    return Statement(**given, intercept_penalty=penalty, noise=stated_noise(model))


def stated_noise(model):
    """What `solve` takes for `noise` beside the data that a model is trained on.

    Error bars take its place, and `solve` refuses any but the default beside them.
    """
    return model.noise if model.noise_ is None else model.noise_


# -- radii -----------------------------------------------------------------------------


def radii_of(radius, y):
    """What `solve` takes for `radius`: one number or one per sample."""
    if not isinstance(radius, dict):
        return radius
    labels, numbers = np.unique(y, return_inverse=True)
    return per_class(radius, labels, "radius")[numbers]


def scaled_radius(radius, factor: float):
    """A radius times a factor; the factor itself where there is no radius."""
    if isinstance(radius, dict):
        return {label: factor * size for label, size in radius.items()}
    return factor if radius is None else factor * radius


def remembered_radius(radius):
    """What a fitted model keeps of the radius it was trained with, as `radius_`.

    A number or a dict of class label to number; None where every sample had its own.
    """
    if isinstance(radius, dict):
        return dict(radius)
    return None if np.ndim(radius) > 0 else float(radius)
