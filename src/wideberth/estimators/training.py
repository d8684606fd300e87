"""Training of a classifier: its data, its binary problems, what a fit leaves behind.

Two classes are one binary problem, in which the second is positive. More classes are
one problem each: the class against the rest. `TrainingRows` are samples in memory and
`TrainingChunks` data that is read in chunks; both know their classes and solve one
problem at a time. `fit_classes` solves all of them and sets what an estimator keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis
from sklearn.utils.validation import _num_samples, validate_data

from wideberth._solve import solve_presolved, solve_source, solve_stated
from wideberth.certify import decision_values, every_class, label_distances
from wideberth.data.errors import counted, listed, meant, visible
from wideberth.data.opening import (
    errors_in_memory,
    is_scaled,
    names_values,
    open_labelled,
)
from wideberth.data.samples import Classes, Samples
from wideberth.data.sources import Source
from wideberth.noise import Correlated, ErrorBars
from wideberth.problem import Problem
from wideberth.problem.arrays import host, is_foreign
from wideberth.problem.changes import build_problem, cut_radii, share_rows
from wideberth.problem.labels import check_targets, refuse_mixture, uniform
from wideberth.problem.limits import LITTLE
from wideberth.problem.statement import Statement
from wideberth.problem.validation import (
    as_array,
    check_jobs,
    check_number,
    check_per_sample,
    radius_or_default,
    refuse_chunks,
    refuse_text,
    short,
)
from wideberth.results import Solution
from wideberth.solvers.base import Options, Solver
from wideberth.solvers.cost import Cost
from wideberth.solvers.estimate import ESTIMATE_PRODUCTS, estimated_slacks
from wideberth.solvers.registry import check_choices
from wideberth.solvers.shrinking import least_rows
from wideberth.solvers.small import Small, begins_with_estimate, is_small
from wideberth.solvers.sweeps import Coordinate

#: Trains on the label at a place in `labels` against the rest.
Trainer = Callable[[int, Options], Solution]

#: Number of slacks that are estimated for all problems at once; where there are more
#: each problem has its own estimate. It is a bound on memory, 32 MB.
_MOST_SLACKS = 1 << 22
#: Standard deviations of a column above which a scale of noise is taken to be in other
#: units (a choice): a column with errors of a tenth of that is of no use already.
_OTHER_UNITS = 100.0
#: Number of rows, evenly spaced, from which standard deviations are taken for that; a
#: factor of 100 shows in a few dozen.
_SPREAD_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class SolverOptions:
    """What `solver_options` of a classifier or a search may say, and the defaults."""

    solver: str | Solver = "auto"
    screening: str | None = "ellipsoid"
    max_iter: int = 10_000
    max_seconds: float | None = None
    starts: int = 1
    intercept_penalty: float = 0.0
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    callback: Callable[[object, dict], bool | None] | None = None
    refit: bool = True
    max_points: int = 1_000

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
        strange = [str(name) for name in given if name not in known]
        if strange:
            raise ValueError(
                f"solver_options has {listed(strange)}; it takes "
                f"{listed(known, 99)}{meant(strange, known) or '.'}"
            )
        return cls(**given)

    def seeds(self, size: int) -> list[int]:
        """Seeds of problems; None is 0, so that the same fit gives the same answer."""
        state = 0 if self.random_state is None else self.random_state
        return check_random_state(state).randint(2**31, size=size).tolist()

    def solving(self, tol: float, **more) -> Options:
        """How to solve one problem; the clock of `max_seconds` runs from now."""
        return Options(
            solver=self.solver,
            screening=self.screening,
            tol=tol,
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
            starts=self.starts,
            **more,
        )


# -- classes and their problems --------------------------------------------------------


class OneVsRest:
    """The binary problems of labelled data; labels of positive weight are classes."""

    class_weight: dict | str | None
    _summed: tuple[np.ndarray, np.ndarray]

    @property
    def labels(self) -> np.ndarray:
        """All labels that occur, sorted."""
        return self._summed[0]

    @property
    def totals(self) -> np.ndarray:
        """The weight of each label."""
        return self._summed[1]

    @cached_property
    def factors(self) -> np.ndarray:
        """Factors of `class_weight` on C, one for each label."""
        labels, totals, given = self.labels, self.totals, self.class_weight
        if given is None:
            return np.ones(len(labels))
        if isinstance(given, dict):
            return per_class(given, labels, "class_weight", 1.0)
        if isinstance(given, str) and given == "balanced":
            weighted = totals > 0
            share = np.where(weighted, weighted.sum() * totals, np.inf)
            return totals.sum() / share
        raise ValueError(
            f"class_weight={given!r} is not known; give None, 'balanced' or a dict of "
            "class label to weight."
        )

    @cached_property
    def _present(self) -> np.ndarray:
        """Places in `labels` of those with a positive weight: two or more."""
        places = np.flatnonzero(self.totals * self.factors > 0)
        if len(places) < 2:
            shown = ", ".join(map(str, self.labels[:5].tolist()))
            weighing, check = "", "y"
            if len(places) < len(self.labels):
                weighing = f", {len(places)} of non-zero weight"
                check = "y, sample_weight and class_weight"
            raise ValueError(
                f"y holds {counted(len(self.labels), 'class')} ({shown}){weighing}; a "
                f"classifier needs at least two classes. Check {check}."
            )
        return places

    @property
    def classes(self) -> np.ndarray:
        """Labels that a model can predict."""
        return self.labels[self._present]

    @property
    def positives(self) -> list[int]:
        """For each problem the place of its positive class in `labels`."""
        places = self._present.tolist()
        return places[1:] if len(places) == 2 else places


@dataclass(frozen=True, eq=False)
class MeasuredRows(Samples):
    """Samples in memory to train on.

    `radius` is None where a search is given none; `errors` holds the sets of the
    samples, `ErrorBars`, where they have error bars.
    """

    @classmethod
    def of(cls, X, y, sample_weight=None, radius=None, bars=None, **more) -> Self:
        """Check what is given for each sample."""
        weight = 1.0 if sample_weight is None else sample_weight
        weight = check_per_sample(weight, len(y), "sample_weight")
        if radius is not None:
            each = check_per_sample(radius, len(y), "radius")
            radius = each if np.ndim(radius) > 0 else radius
        return cls(X, y, weight, radius, () if bars is None else (bars,), **more)

    @property
    def bars(self) -> ErrorBars | None:
        """The sets of the samples."""
        return self.X_err

    @property
    def radii(self) -> np.ndarray | None:
        """The radius of every sample; None where a search is given none."""
        if self.radius is None:
            return None
        return check_per_sample(self.radius, self.n, "radius")

    def at(self, factor: float) -> Self:
        """The same samples under radii `factor` times as large."""
        return replace(self, radius=times(self.radius, factor))

    def remembered_radius(self):
        """What a model keeps of the radius."""
        return remembered_radius(self.radius)


@dataclass(frozen=True, eq=False)
class TrainingTargets(MeasuredRows):
    """Samples with numbers to predict: one problem, whose "signs" are these numbers.

    C and the norm penalty count in the `unit` of the numbers, so that another unit
    changes that of the answer and nothing else (theory §14.4).
    """

    positives: ClassVar = (0,)
    classes: ClassVar = None

    def weighed(self) -> TrainingTargets:
        """These, if some have a weight."""
        if not self.weight.any():
            raise ValueError("sample_weight is zero for every sample; give some > 0.")
        return self

    @cached_property
    def unit(self) -> float:
        """What `target_scale_` is."""
        return target_scale(self.y, self.weight)

    def signs(self, positive: int) -> np.ndarray:
        """The numbers to predict."""
        return self.y

    def stated(self, statement: Statement) -> Statement:
        """What is stated, with what the samples bring."""
        return replace(
            statement,
            C=statement.C * self.unit,
            norm_penalty=statement.norm_penalty * self.unit,
            sample_weight=self.weight,
            radius=self.radius,
            X_err=self.bars,
        )


def target_scale(y: np.ndarray, weight: np.ndarray) -> float:
    """The mean distance of y from its median, both weighted; 1 where y is constant."""
    order = np.argsort(y)
    sums = np.cumsum(weight[order])
    if not sums.size or not sums[-1] > 0:
        return 1.0
    median = y[order[np.searchsorted(sums, 0.5 * sums[-1])]]
    with np.errstate(over="ignore"):
        scale = float(np.average(np.abs(y - median), weights=weight))
    return scale if 0 < scale < np.inf else 1.0


@dataclass(frozen=True, eq=False)
class TrainingRows(MeasuredRows, OneVsRest):
    """Labelled samples of NumPy or SciPy."""

    class_weight: dict | str | None = None
    unit: ClassVar = 1.0

    @cached_property
    def _numbered(self) -> tuple[np.ndarray, np.ndarray]:
        return np.unique(self.y, return_inverse=True)

    @cached_property
    def _summed(self) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        labels, numbers = self._numbered
        return labels, np.bincount(numbers, self.weight)

    def signs(self, positive: int) -> np.ndarray:
        """1 for the label at this place, −1 for the rest."""
        return np.where(self._numbered[1] == positive, 1.0, -1.0)

    @property
    def factored_weight(self) -> np.ndarray:
        """Weights of the samples times the factors of their classes."""
        if np.all(self.factors == 1):
            return self.weight
        return self.weight * self.factors[self._numbered[1]]

    def stated(self, statement: Statement) -> Statement:
        """What is stated, with what the samples bring, for all problems."""
        return replace(
            statement,
            sample_weight=self.factored_weight,
            radius=self.radius,
            X_err=self.bars,
        )

    def problems(self, statement: Statement) -> list[Problem]:
        """The binary problems, in the order of `coef_`."""
        stated = self.stated(statement)
        return [Problem.of(self.X, self.signs(k), stated) for k in self.positives]

    def trainer(self, statement: Statement) -> Trainer:
        """What trains on one label against the rest.

        Where there are several problems the data is looked at once for all of them; not
        under error bars.
        """
        alone = len(self.positives) == 1 or self.bars is not None
        shared = self.solve if alone else _SharedRows(self, statement).solve
        return partial(shared, statement)

    def solve(self, statement: Statement, positive: int, options: Options) -> Solution:
        """Train on the label at this place against the rest."""
        signs = self.signs(positive)
        return solve_stated(self.X, signs, self.stated(statement), options)


class _SharedRows:
    """Problems on the same samples that differ in their labels alone.

    Checks, units, layout, norms and equal rows are theirs together: the data is looked
    at once. "auto" begins the first of them by sweeps: where these suffice, and cost
    less than Newton's method is predicted to, the others are swept, too. Otherwise,
    where the data is small, one matrix estimates the slacks of all of them.
    """

    def __init__(self, data: TrainingRows, statement: Statement):
        self._data = data
        first, stated = data.signs(data.positives[0]), data.stated(statement)
        with np.errstate(all="ignore"):  # norms may overflow
            self._shared = share_rows(cut_radii(build_problem(data.X, first, stated)))
        if is_small(self._shared.problem):
            _ = self._shared.problem.rows.array  # once for all labels
        self._swept = False  # whether sweeps were the best for the first problem

    def solve(self, statement: Statement, positive: int, options: Options) -> Solution:
        """Train on the label at this place against the rest."""
        check_choices(options.solver, options.screening)
        signs = self._data.signs(positive)
        presolved = self._shared.with_labels(signs, np.array([-1.0, 1.0]))
        level = statement.level
        first = positive == self._data.positives[0]
        known = first or self._swept or options.init is not None or level > -np.inf
        if options.solver == "auto" and not known and self._slacks is not None:
            slacks = self._slacks[self._data.positives.index(positive) - 1]
            options = replace(options, solver=Small(slacks))
            rows = presolved.problem.rows
            rows.passes.add(ESTIMATE_PRODUCTS * rows.n)
        solution = solve_presolved(presolved, level, options)
        if first:
            self._swept = self._sweeping_paid(solution)
        return solution

    def _sweeping_paid(self, first: Solution) -> bool:
        """Whether sweeps solved the first problem for less than Newton's method takes.

        That is what it takes on the fewest rows of a first working set. Two of the
        passes were products, for the certificate.
        """
        if first.solver != Coordinate.name:
            return False
        problem, cost = self._shared.problem, Cost(self._shared.problem)
        swept, rows = first.passes - 2, max(least_rows(problem), LITTLE * problem.n)
        spent = cost.sweeps(swept * problem.rows.entries(), swept * problem.n)
        return spent <= cost.newton(rows)

    @cached_property
    def _slacks(self) -> np.ndarray | None:
        """Slacks of all problems but the first; None where each begins by itself."""
        problem, places = self._shared.problem, self._data.positives[1:]
        if self._shared.equal is not None or len(places) * problem.n > _MOST_SLACKS:
            return None
        if not (is_small(problem) and begins_with_estimate(problem)):
            return None
        labels = np.stack([self._data.signs(place) for place in places])
        with np.errstate(all="ignore"):  # what overflows tells nothing
            return estimated_slacks(problem, labels)


@dataclass(frozen=True, eq=False)
class TrainingChunks(OneVsRest):
    """Labelled data that is read in chunks, wherever it lives; see `wideberth.data`.

    `radius` is None where rows bring one each. Labels stay in the chunks: what is as
    long as the data may not fit in memory.
    """

    X: Source
    radius: float | None
    error_shape: str
    verbose: bool
    class_weight: dict | str | None = None

    @cached_property
    def _summed(self) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[override]
        totals: dict = {}
        for y, weight in self.X.labels():
            found, numbers = np.unique(uniform(host(y)), return_inverse=True)
            sums = np.bincount(numbers, None if weight is None else host(weight))
            for label, total in zip(found.tolist(), sums.tolist(), strict=True):
                totals[label] = totals.get(label, 0.0) + total
        refuse_mixture(list(totals))
        labels = sorted(totals)
        return np.array(labels), np.array([totals[label] for label in labels])

    def remembered_radius(self):
        """What a model keeps of the radius; None where rows bring their own."""
        own = self.radius is None or self.X.brings_radii
        return None if own else remembered_radius(self.radius)

    def trainer(self, statement: Statement) -> Trainer:
        """What trains on one label against the rest."""
        return partial(self._solve, statement)

    def stated(self, statement: Statement, unit: float = 1.0) -> Statement:
        """What is stated, with one radius for all rows; C in a unit of the targets."""
        return replace(
            statement,
            C=statement.C * unit,
            norm_penalty=statement.norm_penalty * unit,
            radius=0.0 if self.radius is None else self.radius,
            error_shape=self.error_shape,
        )

    def _solve(self, statement: Statement, positive: int, options: Options) -> Solution:
        classes = Classes(self.labels, positive, self.factors)
        stated = self.stated(statement)
        return solve_source(self.X, stated, options, classes, self.verbose)


# -- what is given to fit --------------------------------------------------------------


def training_data(
    model, X, y, sample_weight, radius, X_err
) -> TrainingRows | TrainingChunks:
    """Check what `RobustLinearSVC.fit` is given; note the features on the model."""
    if not is_foreign(X) and is_scaled(X, y):
        return _in_chunks(model, X, y, sample_weight, radius, X_err)
    X, y, bars = read_measured(model, X, y, X_err)
    radius = radius_to_train_with(model, radius, bars)
    how = {"bars": bars, "class_weight": model.class_weight}
    return TrainingRows.of(X, y, sample_weight, radius, **how)


def _in_chunks(model, X, y, sample_weight, radius, X_err) -> TrainingChunks:
    own = np.ndim(radius) > 0 or names_values(X, radius)
    one = radius_to_train_with(model, radius, X_err)
    if not own:
        check_number(one, "radius")  # before anything is read
    given = {"sample_weight": sample_weight, "radius": radius if own else None}
    source = open_labelled(X, y, X_err=X_err, **given)
    errors = source.brings_errors or None
    one = None if own else radius_to_train_with(model, radius, errors)
    model.error_shape_ = model.error_shape if errors else None
    model.n_features_in_ = source.d
    vars(model).pop("feature_names_in_", None)
    if source.names is not None:
        model.feature_names_in_ = np.array(source.names, dtype=object)
    verbose = bool(model._options.verbose)
    weights = getattr(model, "class_weight", None)
    return TrainingChunks(source, one, model.error_shape, verbose, weights)


def radius_to_train_with(model, radius, X_err):
    """What is given to `fit`, or the parameter, which is never one per sample.

    Where neither is given it is the default beside the noise as stated, or the error
    bars.
    """
    if radius is None and np.ndim(model.radius) > 0:
        raise ValueError(
            f"radius has shape {np.shape(model.radius)}; as a parameter it must be one "
            "number. Give one radius per sample to fit: fit(X, y, radius=...)."
        )
    radius = model.radius if radius is None else radius
    return radius_or_default(radius, model.noise, X_err)


def training_targets(
    model, X, y, sample_weight, radius, X_err
) -> TrainingTargets | TrainingChunks:
    """Check what `RobustLinearRegressor.fit` is given; note the features on it."""
    if not is_foreign(X) and is_scaled(X, y):
        return _in_chunks(model, X, y, sample_weight, radius, X_err)
    X, y, bars = read_measured(model, X, y, X_err, numbers=True)
    radius = radius_to_train_with(model, radius, bars)
    return TrainingTargets.of(X, y, sample_weight, radius, bars).weighed()


def read_measured(model, X, y, X_err, numbers: bool = False) -> tuple:
    """`read_data`, and the sets that X_err gives, if any.

    The model notes how error bars are read, as `error_shape_`.
    """
    if X_err is not None:
        X_err = errors_in_memory(X_err, X, is_scaled(X, y))
    X, y = read_data(model, X, y, numbers)
    model.error_shape_ = None if X_err is None else model.error_shape
    return X, y, None if X_err is None else model._measured(X, X_err)


def read_data(model, X, y, numbers: bool = False) -> tuple:
    """X, and y as a NumPy array, checked by scikit-learn and for what it would misread.

    Masks, text and dates that it would turn into numbers are refused, labels that are
    objects become what they are, and arrays of other libraries those of NumPy.
    """
    X = read_rows(X, type(model).__name__)
    if y is not None:
        labels, n = as_array(y, "y"), _num_samples(X)
        if labels.shape[:1] != (n,):
            raise ValueError(
                f"y has shape {labels.shape}; it must be one label per row of X, "
                f"shape ({n},)."
            )
        y = uniform(labels) if labels.dtype.kind == "O" and labels.ndim == 1 else y
        y = labels if is_foreign(y) else y
    with remedy_for_gaps(model):
        how = {"dtype": [np.float64, np.float32], "y_numeric": numbers}
        X, y = validate_data(model, X, y, accept_sparse="csr", **how)
    if numbers:
        return X, check_targets(y, X.shape[0])
    check_classification_targets(y)
    return X, y


def read_rows(X, who: str):
    """Rows in memory; what scikit-learn misreads (paths, masks, text) is refused."""
    refuse_chunks(X, who)
    X = host(X) if is_foreign(X) else X
    refuse_text(X)
    return X


@contextmanager
def remedy_for_gaps(model) -> Iterator[None]:
    """Name what takes missing values here, where scikit-learn names its own."""
    try:
        yield
    except ValueError as error:
        found, _, remedy = str(error).partition("\n")
        if "does not accept missing values" not in remedy:
            raise
        measured = "MeasuredRegressor" if is_regressor(model) else "MeasuredSVC"
        raise ValueError(
            f"{found} {type(model).__name__} needs every value. wideberth.{measured} "
            "takes NaN for values that were not measured; or fill them in by a step "
            "before it, make_robust_pipeline(SimpleImputer(strategy='median'), ...), "
            "or drop such rows."
        ) from None


# -- fitting ---------------------------------------------------------------------------


def fit_classes(model, data: TrainingRows | TrainingChunks) -> list[Warning]:
    """Fit a `RobustLinearSVC` in place; return the warnings to issue."""
    check_jobs(model.n_jobs)
    notes = unknown_classes(model.class_weight, data.labels)
    given, in_memory = model._options, isinstance(data, TrainingRows)
    places = data.positives
    model.noise_, options = model._noise(), given.solving(model.tol)
    (seed,) = given.seeds(1)  # for all classes, so that their order does not matter
    train = data.trainer(statement_of(model))
    tasks = [
        partial(
            train,
            k,
            replace(
                options,
                random_state=seed,
                callback=_watcher(model, given, data.labels[k], in_memory),
            ),
        )
        for k in places
    ]
    parallel = None  # threads take time to set up
    if in_memory and len(tasks) > 1:
        parallel = Parallel(n_jobs=model.n_jobs, prefer="threads")
    if parallel is None or parallel.n_jobs == 1:
        solutions = [task() for task in tasks]
    else:  # the first one shows how to solve the others
        first, *others = tasks
        solutions = [first(), *parallel(delayed(task)() for task in others)]
    model.radius_ = data.remembered_radius()
    _keep(model, data, solutions)
    if in_memory:
        notes += noise_beyond_spread(model, data.X, data.radius)
    return notes + _notes_of(solutions, data.classes)


def noise_beyond_spread(model, X, radius=1.0) -> list[Warning]:
    """Warn of scales of noise that are far larger than the spread of their columns.

    They are usually in the units that X had before a scaler. The spread is that of a
    sample of the rows.
    """
    noise = model.noise_
    if isinstance(noise, Correlated):
        scales = np.linalg.norm(noise.factor, axis=1)
    else:
        scales = np.asarray(getattr(noise, "scales", noise))
        scales = np.sqrt(scales.diagonal()) if scales.ndim == 2 else scales
    if scales.dtype.kind not in "fiu" or scales.shape != X.shape[1:]:
        return []  # a norm without scales, or errors of each sample
    rows = X[:: max(1, X.shape[0] // _SPREAD_ROWS)]
    if sp.issparse(rows):
        variance = mean_variance_axis(rows, axis=0)[1]
        varies = np.subtract(*map(np.asarray, min_max_axis(rows, axis=0))) < 0
    else:
        variance = np.var(rows, axis=0, dtype=np.float64)
        varies = rows.max(axis=0) > rows.min(axis=0)
    spread = np.sqrt(variance)
    far = varies & (scales > _OTHER_UNITS * spread)
    far &= np.max(radius) * scales > spread  # a tiny radius may count large scales
    if not far.any():
        return []
    ratios = np.divide(scales, spread, out=np.zeros_like(spread), where=far)
    worst, names = int(ratios.argmax()), getattr(model, "feature_names_in_", None)
    column = worst if names is None else repr(names[worst])
    return [
        UserWarning(
            f"The scale of noise is {ratios[worst]:.0f} times the standard deviation "
            f"of column {column} of X, and more than {_OTHER_UNITS:g} times in "
            f"{far.sum()} of {counted(len(far), 'column')}. Scales are in units of the "
            "X that fit is given. If a scaler comes before, use make_robust_pipeline, "
            "which takes scales in raw units and converts them."
        )
    ]


def _watcher(model, options: SolverOptions, label, in_memory: bool):
    """What is called at certified points; reading chunks prints its own lines."""
    if options.callback is not None:
        return partial(options.callback, label)
    if not options.verbose or not in_memory:
        return None
    return partial(_print_point, type(model).__name__, label)


def _print_point(name: str, label, entry: dict) -> None:
    print(
        f"[{name}] {visible(str(label))}: iteration {entry['iteration']}, "
        f"objective {entry['primal']:.6g}, gap {entry['gap']:.2e}, "
        f"{entry['free']} samples undecided, {entry['seconds']:.2f} s"
    )


def _keep(model, data, solutions: list[Solution]) -> None:
    """Set the fitted attributes; those per sample where the samples are in memory."""
    model.classes_ = data.classes
    model.coef_ = np.vstack([solution.w for solution in solutions])
    model.intercept_ = np.array([solution.b for solution in solutions])
    model.objective_ = np.array([solution.primal for solution in solutions])
    model.dual_gap_ = np.array([solution.gap for solution in solutions])
    model.relative_gap_ = np.array([solution.relative_gap for solution in solutions])
    model.converged_ = np.array([solution.converged for solution in solutions])
    model.n_iter_ = np.array([solution.n_iter for solution in solutions])
    model.screening_ = [_screening(solution) for solution in solutions]
    for name in ("support_", "dual_coef_", "suspects_", "descent_"):
        vars(model).pop(name, None)
    if isinstance(data, TrainingRows):
        model.support_, model.dual_coef_ = _support(solutions, data)
    descents = [each.descent for each in solutions if each.descent is not None]
    if len(descents) == len(solutions):
        model.descent_ = [descent.summary() for descent in descents]
        model.suspects_ = _suspects(model, data, solutions)


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


def _support(solutions: list[Solution], data: TrainingRows) -> tuple:
    """Indices and signed α of the samples with a dual weight in some problem."""
    used = np.zeros(data.n, dtype=bool)
    for solution in solutions:
        used |= host(solution.alpha > 0) & ~host(solution.removed)
    support = np.flatnonzero(used)
    alpha = np.array([host(solution.alpha)[support] for solution in solutions])
    signs = np.array([data.signs(k)[support] for k in data.positives])
    return support, signs * alpha


def _suspects(model, data: TrainingRows, solutions: list[Solution]) -> np.ndarray:
    """Samples that the ramp leaves out and the model predicts otherwise.

    How far each is on the wrong side is told in units of the noise shape, or of its own
    errors, as `certified_radius` has it; and in its own radius, beyond which noise
    cannot explain it. The most doubtful come first.
    """
    left_out = np.zeros(data.n, dtype=bool)
    for solution in solutions:
        left_out |= host(solution.descent.left_out)  # type: ignore[union-attr]
    rows = np.flatnonzero(left_out & np.isin(data.y, model.classes_))
    X, y = _safe_indexing(data.X, rows), data.y[rows]
    values = host(decision_values(X, model.coef_, model.intercept_))
    labels = np.searchsorted(model.classes_, y)
    noise = model.noise_ if data.bars is None else data.bars.take(rows)
    distance, predicted = label_distances(values, labels, model.coef_, noise)
    kind = model.classes_.dtype
    names = ["sample", "label", "predicted", "distance", "noises"]
    kinds = [np.intp, kind, kind, np.float64, np.float64]
    found = np.empty(rows.size, list(zip(names, kinds, strict=True)))
    found["sample"], found["label"] = rows, y
    found["predicted"], found["distance"] = model.classes_[predicted], distance
    with np.errstate(divide="ignore", invalid="ignore"):
        found["noises"] = distance / np.asarray(data.radii)[rows]
    _, coef = every_class(values, model.coef_)
    # Those predicted otherwise; but w = 0 disbelieves nobody.
    found = found[np.any(coef[predicted] != coef[labels], axis=1)]
    return found[np.argsort(-found["distance"], kind="stable")]


def _notes_of(solutions: list[Solution], classes: np.ndarray) -> list[Warning]:
    """Warnings of all binary problems; where there are more, each names its class."""
    if len(solutions) == 1:
        return list(solutions[0].notes)
    return [
        type(note)(f"{visible(str(label))} against the rest: {note}")
        for label, solution in zip(classes, solutions, strict=True)
        for note in solution.notes
    ]


# -- parameters ------------------------------------------------------------------------


def statement_of(model) -> Statement:
    """What the parameters of a fitted classifier or search state about its problems."""
    names = ("C", "norm_penalty", "fit_intercept", "ramp", "quantile")
    given = {name: getattr(model, name) for name in names if hasattr(model, name)}
    given["loss"] = "quantile" if "quantile" in given else "hinge"
    penalty = model._options.intercept_penalty
    return Statement(**given, intercept_penalty=penalty, noise=stated_noise(model))


def stated_noise(model):
    """What `solve` takes for `noise` beside the data that a model is trained on.

    Error bars take its place, and `solve` refuses any but the default beside them.
    """
    return model.noise if model.noise_ is None else model.noise_


def per_class(table: dict, labels: np.ndarray, name: str, default: float) -> np.ndarray:
    """Read a dict of class label to number as an array in the order of `labels`."""
    values = [table.get(label, default) for label in labels.tolist()]
    return check_per_sample(values, len(labels), f"{name} per class")


def unknown_classes(class_weight, labels: np.ndarray) -> list[Warning]:
    """Refuse, or else note, weights for labels that do not occur.

    As in scikit-learn they are an error where a class has no entry: then one of them is
    probably meant for it. Where every class has one they may be for classes that a fold
    of a cross-validation happens to lack, and a warning says so.
    """
    if not isinstance(class_weight, dict):
        return []
    known = labels.tolist()
    unknown = [label for label in class_weight if label not in known]
    said = f"class_weight has entries for {unknown!r}, which do not occur in y"
    if unknown and any(label not in class_weight for label in known):
        raise ValueError(
            f"{said}; its classes are {known!r}. Name classes as y does; where "
            "folds may lack a class, give every class an entry."
        )
    return [UserWarning(f"{said}; its classes are {known!r}.")] if unknown else []


def times(radius, factor: float):
    """A radius times a factor; the factor itself where there is no radius."""
    return factor if radius is None else factor * radius


def remembered_radius(radius) -> float | None:
    """What a fitted model keeps as `radius_`; None where every sample had its own."""
    return None if np.ndim(radius) > 0 else check_number(radius, "radius")
