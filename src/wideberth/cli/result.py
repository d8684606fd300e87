"""Everything there is to say about a fit, as plain data: numbers, names, sentences.

`--json` prints it and the report shows it, so they cannot differ.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter

import numpy as np
import scipy.sparse as sp

from wideberth.cli.advice import advise
from wideberth.cli.commands import FitOptions
from wideberth.cli.evaluation import certain
from wideberth.cli.prepare import Columns, Rows, moments
from wideberth.cli.uncertainty import Uncertainty
from wideberth.data import Reader
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.estimators.training_data import InMemory, binary_problems
from wideberth.problem.endpoints import critical_radius, critical_scale
from wideberth.report.environment import machine, versions

__all__ = ["describe"]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")
#: Smallest number of steps of exactly one from row to row that is taken for a counter
#: of rows; a choice, which only decides whether a warning is given.
_SEVERAL = 8


def describe(
    options: FitOptions,
    rows: Rows,
    reader: Reader,
    trained: Uncertainty,
    model: RobustPipeline,
    choice: dict | None,
    evaluation: dict | None,
    notes: list[str],
    seconds: float,
) -> dict:
    """All there is to say about a fit."""
    found = _rows(options, rows, trained, model)
    factor = 1.0 if choice is None else choice["factor"]
    result = {
        "request": _request(options),
        "source": {
            "name": reader.name,
            "format": reader.kind,
            "sha256": reader.digest(),
            "details": reader.details,
            "memory": options.memory,
        },
        "model": _describe_model(model, rows.columns),
        "data": found["data"],
        "uncertainty": found["uncertainty"] | {"factor": factor} | trained.facts,
        "choice": choice,
        "training": found["training"] | {"seconds": seconds},
        "evaluation": evaluation,
        "solver_notes": notes,
        "origin": {
            "command": shlex.join(["wideberth", *sys.argv[1:]]),
            "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
            "versions": versions(_PACKAGES),
            "machine": machine(),
        },
    }
    result["warnings"] = [vars(advice) for advice in advise(result)]
    return result


def _request(options: FitOptions) -> dict:
    given = "as given" if options.C != 1 else "the default"
    even = "of equal weight together" if options.class_weight else ""
    as_asked = (
        *("target", "standardize", "missing", "folds", "score_radius", "tol", "seed"),
    )
    return {name: getattr(options, name) for name in as_asked} | {
        "C_from": "chosen by cross-validation" if options.cv else given,
        "dropped": list(options.drop),
        "one_hot": list(options.one_hot),
        "weights": even or "every row counts the same",
    }


def _rows(
    options: FitOptions, rows: Rows, trained: Uncertainty, model: RobustPipeline
) -> dict:
    """Data, uncertainty and training, from one pass over the rows trained on."""
    classes: Counter = Counter()
    right = certified = 0
    smallest, largest = np.inf, -np.inf
    scales: tuple = ()
    for X, y, radii in rows.pieces(trained.radius):
        correct = model.predict(X) == y
        right += int(correct.sum())
        certified += int(certain(correct, model.certified_radius(X), radii).sum())
        smallest, largest = min(smallest, np.min(radii)), max(largest, np.max(radii))
        classes.update(y.tolist())
        part = (len(y), *moments(X))
        scales = _together(scales, part) if scales else part
    n, mean, variance, low, high = scales
    columns = (rows.columns.features, mean, np.sqrt(variance), low, high)
    keys = ("name", "mean", "std", "min", "max")
    svc, limits = model[-1], _noise_limits(model, rows, trained)
    return {
        "data": {
            **rows.facts,
            "target": options.target,
            "classes": {str(label): classes[label] for label in sorted(classes)},
            "row_counters": _row_counters(rows),
            "features": [
                dict(zip(keys, values, strict=True))
                for values in zip(*map(_plain, columns), strict=True)
            ],
        },
        "uncertainty": {
            "story": trained.story,
            "column": options.radius_column,
            "smallest": float(smallest),
            "median": trained.median,
            "largest": float(largest),
            **_shape(options, trained.noise, rows.columns),
            "per_row": trained.per_row,
        },
        "training": {
            "problems": [_problem(svc, k, limit) for k, limit in enumerate(limits)],
            "support": None if rows.y is None else len(svc.support_),
            "training_accuracy": right / n,
            "training_certified": certified / n,
            "tol": svc.tol,
        },
    }


def _plain(values) -> list:
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def _together(one: tuple, other: tuple) -> tuple:
    """Rows and `moments` of two parts as those of both."""
    (m, mean, variance, low, high), (n, mean_n, variance_n, low_n, high_n) = one, other
    shift, share = mean_n - mean, n / (m + n)
    within = (1 - share) * variance + share * variance_n
    between = share * (1 - share) * shift**2
    ends = np.minimum(low, low_n), np.maximum(high, high_n)
    return m + n, mean + share * shift, within + between, *ends


def _row_counters(rows: Rows) -> list[str] | None:
    """Features that go up by one from row to row of the file."""
    if rows.kept is None:
        return None  # only rows side by side would tell
    steps = np.diff(rows.kept)
    if sp.issparse(rows.X) or len(steps) < _SEVERAL or not np.all(steps > 0):
        return []
    columns = zip(rows.columns.features, rows.X.T, strict=True)
    return [name for name, x in columns if np.array_equal(np.diff(x), steps)]


def _shape(options: FitOptions, noise: str | np.ndarray, columns: Columns) -> dict:
    """The shape of the noise, and what radii count."""
    scales = {}
    if not isinstance(noise, str):
        scales = dict(zip(columns.features, noise.tolist(), strict=True))
    unit = "in units of the noise"
    if options.radius_units == "std":
        unit = "in standard deviations"
    elif options.noise_scales is None and options.replicates is None:
        unit = "in the units of the data"
    return {
        "shape": noise if isinstance(noise, str) else "scales",
        "isotropic": all(scales.get(name, 1) == 1 for name in columns.numeric),
        "unit": unit,
        "scales": scales,
    }


def _describe_model(model: RobustPipeline, columns: Columns) -> dict:
    """The decision functions in raw units."""
    svc, coef, _ = model._robust_model()
    coef = np.asarray(coef)
    intercept = model.decision_function(np.zeros((1, coef.shape[1])))[0]
    classes = [str(label) for label in svc.classes_.tolist()]
    return {
        "classes": classes,
        "scores_for": classes[1:] if len(coef) == 1 else classes,
        "intercepts": np.atleast_1d(intercept).tolist(),
        "coefficients": dict(zip(columns.features, coef.T.tolist(), strict=True)),
        "C": float(svc.C),
    }


def _problem(svc, k: int, limit: dict) -> dict:
    """Certificate and screening of one binary problem, and its limit of the noise."""
    found = svc.screening_[k]
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
        "critical_radius": None,
        "critical_factor": None,
        **limit,
    }


def _noise_limits(
    model: RobustPipeline, rows: Rows, uncertainty: Uncertainty
) -> list[dict]:
    """For each binary problem bounds on the noise from which on nothing can be learnt.

    A radius, or a factor on the radii. The upper bound is None where there is no such
    noise, because features without any tell the classes apart.
    """
    svc = model[-1]
    if rows.y is None:
        return [{}] * len(svc.screening_)
    X = model[:-1].transform(rows.X) if len(model.steps) > 1 else rows.X
    some = np.any(np.asarray(uncertainty.radius) > 0)
    data = InMemory(X, rows.y, radius=uncertainty.radius)
    limits = []
    for problem in binary_problems(svc, data):
        found = critical_scale(problem) if some else critical_radius(problem)
        bounds = [b if np.isfinite(b) else None for b in (found.lower, found.upper)]
        limits.append({"critical_factor" if some else "critical_radius": bounds})
    return limits
