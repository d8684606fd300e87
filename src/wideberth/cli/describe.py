"""What there is to say about a fit, as plain data: rows, noise, model and training."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from wideberth.cli.evaluation import asked_radius
from wideberth.cli.flips import easily_flipped
from wideberth.cli.leaks import find_leaks
from wideberth.cli.measured import undeclared
from wideberth.cli.model import classifier_of
from wideberth.cli.options import FitOptions
from wideberth.cli.population import raw_weights
from wideberth.cli.prepare import Columns, PreparedRows, moments
from wideberth.cli.suspects import describe_suspects
from wideberth.cli.training import certain
from wideberth.cli.uncertainty import Uncertainty
from wideberth.cli.verdicts import doubts
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.estimators.training_data import RowsInMemory, binary_problems
from wideberth.noise.shapes import Shape
from wideberth.problem.endpoints import critical_radius, critical_scale
from wideberth.problem.ramp import Beyond

#: Smallest number of steps of exactly one from row to row that is taken for a counter
#: of rows; a choice, which only decides whether a warning is given.
_SEVERAL = 8


def describe_rows(
    options: FitOptions,
    rows: PreparedRows,
    given: Uncertainty,
    trained: Uncertainty,
    model: RobustPipeline | MeasuredSVC,
) -> dict:
    """Data, uncertainty, training, verdicts, flips, suspects: from one pass over rows.

    Radii are those `trained` with. Rows flip at those that were asked for, whose median
    is `asked`: None where there is no noise, or where it is not known.
    """
    asked = asked_radius(options, given, trained)
    seen = _Described()
    pieces = rows.pieces(trained.radius, trained.bars, options.error_shape)
    for X, y, radii, bars in pieces:
        seen.add(X, y, radii)
        if isinstance(model, MeasuredSVC):
            found = model.verdict(X, X_err=trained.cells)
            seen.verdicts = doubts(found, X, y, rows.kept, rows.columns.features)
            correct = found.label == y
            seen.judge(correct, correct & found.certain)
        else:
            correct = model.predict(X) == y
            reach = model.certified_radius(X, bars)
            seen.judge(correct, certain(correct, reach, radii))
            if rows.y is not None:
                seen.flips = easily_flipped(model, rows, correct, reach, asked, bars)
    none = asked is None or isinstance(model, MeasuredSVC) or not np.any(asked)
    median = None if none else float(np.median(asked))
    svc, limits = classifier_of(model), _noise_limits(model, rows, trained)
    return {
        "data": _describe_data(options, rows, seen),
        "uncertainty": _describe_uncertainty(options, rows, trained, seen, median),
        "training": {
            "problems": [
                _describe_problem(svc, k, limit) for k, limit in enumerate(limits)
            ],
            "support": None if rows.y is None else len(svc.support_),
            "training_accuracy": seen.right / seen.n,
            "training_certified": seen.certified / seen.n,
            "tol": svc.tol,
        },
        "verdicts": seen.verdicts,
        "flips": seen.flips,
        "suspects": describe_suspects(options, rows, svc),
    }


@dataclass
class _Described:
    """What a pass over the rows finds: counts, ranges, and how the model does."""

    classes: Counter = field(default_factory=Counter)
    #: Rows and the `moments` of their features.
    moments: tuple = ()
    #: The least and the largest radius.
    smallest: float = np.inf
    largest: float = -np.inf
    #: Rows that the model gets right, and those whose class no noise would change.
    right: int = 0
    certified: int = 0
    verdicts: dict | None = None
    flips: Any = None

    @property
    def n(self) -> int:
        """Rows."""
        return self.moments[0]

    def add(self, X, y, radii) -> None:
        """Take in a piece."""
        self.classes.update(y.tolist())
        part = (len(y), *moments(X))
        self.moments = _together(self.moments, part) if self.moments else part
        self.smallest = min(self.smallest, np.min(radii))
        self.largest = max(self.largest, np.max(radii))

    def judge(self, correct, sure) -> None:
        """Take in which rows of a piece the model gets right, and which for sure."""
        self.right += int(correct.sum())
        self.certified += int(sure.sum())


def _describe_data(options: FitOptions, rows: PreparedRows, seen: _Described) -> dict:
    _, mean, variance, low, high = seen.moments
    scales = {"mean": mean, "std": np.sqrt(variance), "min": low, "max": high}
    classes = seen.classes
    return {
        **rows.facts,
        "target": options.target,
        "classes": {str(label): classes[label] for label in sorted(classes)},
        "row_counters": _row_counters(rows),
        "leaks": find_leaks(rows, options.seed),
        "undeclared_errors": undeclared(rows.columns.numeric),
        "features": [
            {
                "name": name,
                "category": j >= len(rows.columns.numeric),
                **{key: float(of[j]) for key, of in scales.items()},
            }
            for j, name in enumerate(rows.columns.features)
        ],
    }


def _describe_uncertainty(
    options: FitOptions,
    rows: PreparedRows,
    trained: Uncertainty,
    seen: _Described,
    asked: float | None,
) -> dict:
    return {
        "story": trained.story,
        "column": options.radius_column,
        "smallest": float(seen.smallest),
        "median": trained.median,
        "largest": float(seen.largest),
        "asked": asked,
        **_describe_noise(options, trained.noise, rows.columns),
        "per_row": trained.per_row,
    }


def _together(one: tuple, other: tuple) -> tuple:
    """Rows and `moments` of two parts as those of both."""
    (m, mean, variance, low, high), (n, mean_n, variance_n, low_n, high_n) = one, other
    shift, share = mean_n - mean, n / (m + n)
    within = (1 - share) * variance + share * variance_n
    between = share * (1 - share) * shift**2
    ends = np.minimum(low, low_n), np.maximum(high, high_n)
    return m + n, mean + share * shift, within + between, *ends


def _row_counters(rows: PreparedRows) -> list[str] | None:
    """Features that go up by one from row to row of the file."""
    if rows.kept is None:
        return None  # only rows side by side would tell
    steps, X, numeric = np.diff(rows.kept), rows.X, rows.columns.numeric
    if rows.columns.categories:
        X = X[:, : len(numeric)]
        X = X.toarray() if sp.issparse(X) else X
    if sp.issparse(X) or len(steps) < _SEVERAL or not np.all(steps > 0):
        return []
    columns = zip(numeric, X.T, strict=True)
    return [name for name, x in columns if np.array_equal(np.diff(x), steps)]


def _describe_noise(
    options: FitOptions, noise: str | np.ndarray | Shape, columns: Columns
) -> dict:
    """The shape of the noise, and what radii count."""
    shape, scales = noise, {}
    if not isinstance(noise, str):
        shape = getattr(noise, "name", "scales")
        each = np.asarray(getattr(noise, "scales", noise))
        scales = dict(zip(columns.features, each.tolist(), strict=True))
    unit = "in units of the noise"
    if options.radius.std:
        unit = "in standard deviations"
    elif options.noise.scales is None and options.replicates is None:
        unit = "in the units of the data"
    return {
        "shape": shape,
        "isotropic": options.errors is None
        and all(scales.get(name, 1) == 1 for name in columns.numeric),
        "unit": unit,
        "scales": scales,
    }


def describe_model(model: RobustPipeline | MeasuredSVC, columns: Columns) -> dict:
    """The decision functions in raw units."""
    svc = classifier_of(model)
    if isinstance(model, MeasuredSVC):
        coef, intercept = raw_weights(model)
    else:
        coef = np.asarray(model._robust_model()[1])
        intercept = model.decision_function(np.zeros((1, coef.shape[1])))[0]
    classes = [str(label) for label in svc.classes_.tolist()]
    return {
        "classes": classes,
        "scores_for": classes[1:] if len(coef) == 1 else classes,
        "intercepts": np.atleast_1d(intercept).tolist(),
        "coefficients": dict(zip(columns.features, coef.T.tolist(), strict=True)),
        "left_out": [
            name
            for name, weights in zip(columns.features, coef.T, strict=True)
            if not weights.any()
        ],
        "C": float(svc.C),
        "norm_penalty": float(svc.norm_penalty),
        "ramp": None if svc.ramp is None else float(svc.ramp),
    }


def _describe_problem(svc, k: int, limit: dict) -> dict:
    """Certificate and screening of one binary problem, and its limit of the noise."""
    found, descent = svc.screening_[k], getattr(svc, "descent_", None)
    trace, factor = found["trace"], limit.get("critical_factor")
    beyond = factor is not None and factor[1] is not None and factor[1] <= 1
    return {
        "class": str(svc.classes_[1 if len(svc.screening_) == 1 else k]),
        "objective": float(svc.objective_[k]),
        "gap": float(svc.dual_gap_[k]),
        "relative_gap": float(svc.relative_gap_[k]),
        "converged": bool(svc.converged_[k]),
        "iterations": int(svc.n_iter_[k]),
        "passes": float(trace[-1]["passes"]) if trace else None,
        "removed": found["removed"],
        "saturated": found["saturated"],
        "null": bool(not svc.coef_[k].any() or beyond),
        "descent": descent and descent[k],
        "critical_radius": None,
        "critical_factor": None,
        **limit,
    }


def _noise_limits(
    model: RobustPipeline | MeasuredSVC, rows: PreparedRows, uncertainty: Uncertainty
) -> list[dict]:
    """For each binary problem bounds on the noise from which on nothing can be learnt.

    A radius, or a factor on the radii. The upper bound is None where there is no such
    noise, because features without any tell the classes apart. With the ramp it is that
    of the rows not left out. Not looked for in pieces and in posteriors.
    """
    svc = classifier_of(model)
    if rows.y is None or isinstance(model, MeasuredSVC):
        return [{}] * len(svc.screening_)
    X, bars = rows.X, uncertainty.bars
    if len(model.steps) > 1:
        X = model[:-1].transform(X)
        bars = None if bars is None else bars.carried(model.linear_map_)
    some = np.any(np.asarray(uncertainty.radius) > 0)
    data = RowsInMemory(X, rows.y, rows.weights, uncertainty.radius, bars)
    limits = []
    for k, problem in enumerate(binary_problems(svc, data)):
        if svc.ramp is not None:
            there = Beyond(svc.ramp, svc.coef_[k], svc.intercept_[k])
            problem = there.rest(problem)
        found = critical_scale(problem) if some else critical_radius(problem)
        bounds = [b if np.isfinite(b) else None for b in (found.lower, found.upper)]
        limits.append({"critical_factor" if some else "critical_radius": bounds})
    return limits
