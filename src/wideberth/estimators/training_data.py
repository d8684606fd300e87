"""What a classifier is trained on: rows at hand, or rows that are read in chunks.

`training_data` checks what the user gives and returns `InMemory` or `InChunks`. Both
have labels with their total weights, and `solve` for one class against the rest; from
there on a fit is the same (`one_vs_rest.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn import get_config
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, validate_data

from wideberth._solve import solve_source, solve_stated
from wideberth.data.opening import (
    errors_in_memory,
    is_scaled,
    names_values,
    open_labelled,
)
from wideberth.data.samples import Classes
from wideberth.estimators.one_look import OneLook
from wideberth.estimators.one_vs_rest import (
    OneVsRest,
    per_class,
    radii_of,
    remembered_radius,
    scaled_radius,
    statement_of,
)
from wideberth.noise import ErrorBars
from wideberth.problem import Problem
from wideberth.problem.arrays import host, is_foreign, like, namespace
from wideberth.problem.labels import refuse_mixture, uniform
from wideberth.problem.statement import Statement
from wideberth.problem.validation import (
    as_array,
    check_number,
    check_per_sample,
    radius_or_default,
    refuse_chunks,
    refuse_text,
)
from wideberth.results import Solution
from wideberth.solvers.base import Options


def training_data(model, X, y, sample_weight, radius, X_err) -> RowsInMemory | InChunks:
    """Check what `RobustLinearSVC.fit` is given; note the features on the model."""
    if not is_foreign(X) and is_scaled(X, y):
        return InChunks(model, X, y, sample_weight, radius, X_err)
    X, y, bars = read_measured(model, X, y, X_err, stay=dispatched(X))
    radius = _radius_to_train_with(model, radius, bars)
    return RowsInMemory(X, y, sample_weight, radius, bars)


def read_measured(model, X, y, X_err, stay: bool = False) -> tuple:
    """`read_data`, and the sets that X_err gives, if any.

    The model notes how error bars are read, as `error_shape_`.
    """
    if X_err is not None:
        X_err = errors_in_memory(X_err, X, is_scaled(X, y))
    X, y = read_data(model, X, y, stay)
    model.error_shape_ = None if X_err is None else model.error_shape
    bars = None
    if X_err is not None:
        bars = model._measured(X, X_err)
    return X, y, bars


class RowsInMemory:
    """Rows of NumPy, SciPy or, where they are to stay there, another array library.

    `labels` are those that occur, `totals` their weights, `numbers` the place of each
    sample's label among them; `radius` is None where a search is given none; `bars` are
    the sets of the samples where they have error bars.
    """

    in_memory = True

    def __init__(
        self,
        X,
        y: np.ndarray,
        sample_weight=None,
        radius=None,
        bars: ErrorBars | None = None,
    ):
        given = 1.0 if sample_weight is None else sample_weight
        self.X, self.y, self.bars = X, y, bars
        self.weights = check_per_sample(given, len(y), "sample_weight")
        self.labels, self.numbers = np.unique(y, return_inverse=True)
        self.totals = np.bincount(self.numbers, self.weights)
        each = np.ndim(radius) > 0
        self.radius = check_per_sample(radius, len(y), "radius") if each else radius

    def take(self, rows: np.ndarray) -> RowsInMemory:
        """The samples `rows` alone."""
        radius = self.radius[rows] if np.ndim(self.radius) > 0 else self.radius
        X = _safe_indexing(self.X, rows)
        bars = None if self.bars is None else self.bars.take(rows)
        return RowsInMemory(X, self.y[rows], self.weights[rows], radius, bars)

    def at(self, factor: float) -> RowsInMemory:
        """The same samples under radii `factor` times as large."""
        radius = scaled_radius(self.radius, factor)
        return RowsInMemory(self.X, self.y, self.weights, radius, self.bars)

    @property
    def radii(self) -> np.ndarray | None:
        """The radius of every sample; None where a search is given none."""
        if self.radius is None:
            return None
        return check_per_sample(radii_of(self.radius, self.y), len(self.y), "radius")

    def remembered_radius(self):
        """What a model keeps of the radius."""
        return remembered_radius(self.radius)

    def trainer(
        self, problems: OneVsRest, statement: Statement
    ) -> Callable[[int, Options], Solution]:
        """What trains on the label at a place against the rest.

        Where there are several problems the data is looked at once for all of them; not
        yet where it lives in another array library, nor under error bars.
        """
        places = problems.positives
        if len(places) == 1 or is_foreign(self.X) or self.bars is not None:
            return partial(self.solve, problems, statement)
        stated = problems.stated(self, statement)
        look = OneLook(self.X, partial(_signs, problems, self), len(places), stated)
        return partial(_solve_at, look, places)

    def solve(
        self,
        problems: OneVsRest,
        statement: Statement,
        positive: int,
        options: Options,
    ) -> Solution:
        """Train on the label at this place against the rest."""
        stated, y = problems.stated(self, statement), problems.signs(self, positive)
        if is_foreign(self.X):  # what is per sample goes where the rows are
            each = {name: getattr(stated, name) for name in ("sample_weight", "radius")}
            moved = {
                name: like(np.ascontiguousarray(values), self.X)
                for name, values in each.items()
                if np.ndim(values) > 0
            }
            stated, y = replace(stated, **moved), like(y, self.X)
        return solve_stated(self.X, y, stated, options)


def _signs(problems: OneVsRest, data, place: int) -> np.ndarray:
    """Labels of the problem at a place; no closure, for they travel to processes."""
    return problems.signs(data, problems.positives[place])


def _solve_at(
    look: OneLook, places: list[int], positive: int, options: Options
) -> Solution:
    """Train on a label against the rest, of those at these places."""
    return look.solve(places.index(positive), options)


def binary_problems(model, data: RowsInMemory) -> list[Problem]:
    """What a fitted `RobustLinearSVC` solved on this data, as `critical_radius` asks.

    In the order of `coef_`; with the noise trained against, and the radius of `data`.
    """
    problems = OneVsRest.of(data, model.class_weight)
    stated = problems.stated(data, statement_of(model))
    return [
        Problem.of(data.X, problems.signs(data, k), stated) for k in problems.positives
    ]


class InChunks:
    """Rows that are read in chunks, wherever they live; see `wideberth.data`."""

    in_memory, bars = False, None

    def __init__(self, model, X, y, sample_weight, radius, X_err=None):
        self.each = np.ndim(radius) > 0 or names_values(X, radius)
        self.radius = _radius_to_train_with(model, radius, X_err)
        self.verbose = bool(model._options.verbose)
        if not self.each and not isinstance(self.radius, dict):
            check_number(self.radius, "radius")  # before anything is read
        each = radius if self.each else None
        source = open_labelled(
            X, y, sample_weight=sample_weight, radius=each, X_err=X_err
        )
        self.radius = _radius_to_train_with(model, radius, source.brings_errors or None)
        self.error_shape = model.error_shape
        model.error_shape_ = model.error_shape if source.brings_errors else None
        # Labels stay in the chunks: what is as long as the data may not fit.
        self.X, self.y = source, None
        model.n_features_in_ = source.d
        vars(model).pop("feature_names_in_", None)
        if source.names is not None:
            model.feature_names_in_ = np.array(source.names, dtype=object)
        self.labels, self.totals = _total_weights(source.labels())

    def remembered_radius(self):
        """What a model keeps of the radius; None where rows bring their own."""
        by_class = isinstance(self.radius, dict)
        per_row = self.each or (self.X.brings_radii and not by_class)
        return None if per_row else remembered_radius(self.radius)

    def trainer(
        self, problems: OneVsRest, statement: Statement
    ) -> Callable[[int, Options], Solution]:
        """What trains on the label at a place against the rest."""
        return partial(self.solve, problems, statement)

    def solve(
        self,
        problems: OneVsRest,
        statement: Statement,
        positive: int,
        options: Options,
    ) -> Solution:
        """Train on the label at this place against the rest."""
        radius, radii = 0.0 if self.each else self.radius, None
        if isinstance(self.radius, dict):
            radius, radii = 0.0, per_class(self.radius, self.labels, "radius")
        classes = Classes(self.labels, positive, problems.factors, radii)
        stated = replace(statement, radius=radius, error_shape=self.error_shape)
        return solve_source(self.X, stated, options, classes, self.verbose)


def _total_weights(parts: Iterable) -> tuple[np.ndarray, np.ndarray]:
    """All labels that occur in chunks of labels and weights; the weight of each."""
    totals: dict = {}
    for y, weight in parts:
        found, numbers = np.unique(uniform(host(y)), return_inverse=True)
        sums = np.bincount(numbers, None if weight is None else host(weight))
        for label, total in zip(found.tolist(), sums.tolist(), strict=True):
            totals[label] = totals.get(label, 0.0) + total
    refuse_mixture(list(totals))
    labels = sorted(totals)
    return np.array(labels), np.array([totals[label] for label in labels])


def _radius_to_train_with(model, radius, X_err):
    """The one given to `fit`, or the parameter, which is never one per sample.

    Where neither is given it is the default beside the noise as stated, or the
    error bars.
    """
    if radius is None and np.ndim(model.radius) > 0:
        raise ValueError(
            f"radius has shape {np.shape(model.radius)}; as a parameter it must be one "
            "number or a dict of class label to number. Give one radius per sample to "
            "fit: fit(X, y, radius=...)."
        )
    radius = model.radius if radius is None else radius
    return radius_or_default(radius, model.noise, X_err)


def dispatched(X) -> bool:
    """Whether X is an array of another library and scikit-learn is told to keep it."""
    return get_config()["array_api_dispatch"] and is_foreign(X)


def read_rows(X, who: str):
    """Rows in memory, less what scikit-learn would misread: paths, masks, text."""
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
        raise ValueError(
            f"{found} {type(model).__name__} needs every value. wideberth.MeasuredSVC "
            "takes NaN for values that were not measured; or fill them in by a step "
            "before it, make_robust_pipeline(SimpleImputer(strategy='median'), ...), "
            "or drop such rows."
        ) from None


def read_data(model, X, y, stay: bool = False) -> tuple:
    """X, and y as a NumPy array, as scikit-learn checks them after what it lets pass.

    Masks, text and dates that it would turn into numbers are refused, labels that are
    objects become what they are, and an array of another library that does not `stay`
    there becomes one of NumPy.
    """
    xp = namespace(X) if stay else np
    X = X if stay else read_rows(X, type(model).__name__)
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
        X, y = validate_data(
            model, X, y, accept_sparse="csr", dtype=[xp.float64, xp.float32]
        )
    check_classification_targets(y)
    return X, y
