"""Everything there is to say about a fit, as plain data: numbers, names, sentences.

`--json` prints it and the report shows it, so they cannot differ.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
import scipy.sparse as sp

from wideberth.cli.advice import advise
from wideberth.cli.commands import FitOptions
from wideberth.cli.evaluation import certain
from wideberth.cli.model import Model
from wideberth.cli.prepare import Columns, Rows, extremes, moments
from wideberth.cli.uncertainty import Uncertainty
from wideberth.data import Reader
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.estimators.training_data import InMemory, binary_problems
from wideberth.problem.endpoints import critical_radius, critical_scale
from wideberth.report.environment import machine, versions

__all__ = [
    "describe_data",
    "describe_model",
    "describe_origin",
    "describe_request",
    "describe_training",
    "describe_uncertainty",
    "feature_scales",
    "problem_facts",
    "put_together",
]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")
#: Smallest number of steps of exactly one from row to row that is taken for a counter
#: of rows; a choice, which only decides whether a warning is given.
_SEVERAL = 8


def put_together(
    pipeline: RobustPipeline,
    columns: Columns,
    reader: Reader,
    facts: dict,
    options: FitOptions,
    command: str,
) -> tuple[Model, dict]:
    """The model, and all there is to say about it: `facts`, its origin and advice."""
    origin = describe_origin(command)
    source = {
        "name": reader.name,
        "format": reader.kind,
        "sha256": reader.digest(),
        "details": reader.details,
        "memory": options.memory,
    }
    request, model = describe_request(options), describe_model(pipeline, columns)
    result = {"request": request, "source": source, "model": model} | facts
    result["origin"] = origin
    result["warnings"] = [vars(advice) for advice in advise(result)]
    target, factor = str(options.target), facts["uncertainty"]["factor"]
    about = {**origin, "data": source}
    return (
        Model(pipeline, columns, target, options.radius_column, factor, about),
        result,
    )


def describe_request(options: FitOptions) -> dict:
    """What was asked for."""
    given = "as given" if options.C != 1 else "the default"
    even = "of equal weight together" if options.class_weight else ""
    as_asked = (
        "target",
        "standardize",
        "missing",
        "folds",
        "score_radius",
        "tol",
        "seed",
    )
    return {name: getattr(options, name) for name in as_asked} | {
        "C_from": "chosen by cross-validation" if options.cv else given,
        "dropped": list(options.drop),
        "one_hot": list(options.one_hot),
        "weights": even or "every row counts the same",
    }


def describe_origin(command: str) -> dict:
    """How a model came about: command, time, versions, machine."""
    return {
        "command": command,
        "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "versions": versions(_PACKAGES),
        "machine": machine(),
    }


def describe_data(rows: Rows, options: FitOptions) -> dict:
    """Rows, classes and the scale of every feature."""
    labels, counts = np.unique(rows.y, return_counts=True)
    scales = (*moments(rows.X), *extremes(rows.X))
    return {
        **rows.facts,
        "target": options.target,
        "classes": dict(zip(map(str, labels.tolist()), counts.tolist(), strict=True)),
        "row_counters": _row_counters(rows),
        "features": feature_scales(rows.columns.features, *scales),
    }


def feature_scales(names: Iterable[str], *scales) -> list[dict]:
    """Mean, standard deviation, least and largest value of every feature."""
    keys = ("name", "mean", "std", "min", "max")
    rows = zip(names, *(np.ravel(values).tolist() for values in scales), strict=True)
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _row_counters(rows: Rows) -> list[str]:
    """Features that go up by one from row to row of the file."""
    steps = np.diff(rows.kept)
    if sp.issparse(rows.X) or len(steps) < _SEVERAL or not np.all(steps > 0):
        return []
    columns = zip(rows.columns.features, rows.X.T, strict=True)
    return [name for name, x in columns if np.array_equal(np.diff(x), steps)]


def describe_uncertainty(
    story: str, radii, noise, columns: Columns, options: FitOptions
) -> dict:
    """How far rows were taken to be off; `radii` the least, the median, the largest."""
    smallest, median, largest = (None if r is None else float(r) for r in radii)
    named = isinstance(noise, str)
    scales = {} if named else dict(zip(columns.features, noise.tolist(), strict=True))
    unit = "in units of the noise"
    if options.radius_units == "std":
        unit = "in standard deviations"
    elif named or (options.noise_scales is None and options.replicates is None):
        unit = "in the units of the data"
    return {
        "story": story,
        "column": options.radius_column,
        "smallest": smallest,
        "median": median,
        "largest": largest,
        "shape": noise if named else "scales",
        "isotropic": all(scales.get(name, 1) == 1 for name in columns.numeric),
        "unit": unit,
        "scales": scales,
    }


def describe_model(model: RobustPipeline, columns: Columns) -> dict:
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


def describe_training(
    model: RobustPipeline, rows: Rows, uncertainty: Uncertainty
) -> dict:
    """Certificate and screening of each binary problem, and how near the end is."""
    svc = model[-1]
    limits = _noise_limits(model, rows, uncertainty)
    right = model.predict(rows.X) == rows.y
    certified = certain(right, model.certified_radius(rows.X), uncertainty.radius)
    return {
        "problems": [problem_facts(svc, k, limit) for k, limit in enumerate(limits)],
        "support": len(svc.support_),
        "training_accuracy": float(right.mean()),
        "training_certified": float(certified.mean()),
        "tol": svc.tol,
    }


def problem_facts(svc, k: int, limit: dict) -> dict:
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
    X = model[:-1].transform(rows.X) if len(model.steps) > 1 else rows.X
    some = np.any(np.asarray(uncertainty.radius) > 0)
    data = InMemory(X, rows.y, radius=uncertainty.radius)
    limits = []
    for problem in binary_problems(svc, data):
        found = critical_scale(problem) if some else critical_radius(problem)
        bounds = [b if np.isfinite(b) else None for b in (found.lower, found.upper)]
        limits.append({"critical_factor" if some else "critical_radius": bounds})
    return limits
