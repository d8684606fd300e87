"""Everything the report says about a fit, as plain data: numbers, names, sentences.

`--json` prints it and the page shows it, so they cannot differ.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_sample_weight

from wideberth.cli.evaluate import Scores, certain, cross_validate, curve_radii
from wideberth.cli.prepare import Rows, extremes, moments
from wideberth.cli.recipe import Recipe, fold_count
from wideberth.cli.uncertainty import Uncertainty
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.problem import Problem
from wideberth.problem.endpoints import Bracket, critical_radius, critical_scale

__all__ = [
    "describe_data",
    "describe_model",
    "evaluate",
    "feature_scales",
    "problem_facts",
    "row_weights",
    "training_facts",
]

#: Rows from which on counting up is no coincidence.
_SEVERAL = 8


def describe_data(rows: Rows, options: Namespace) -> dict:
    """Rows, classes and the scale of every feature."""
    labels, counts = np.unique(rows.y, return_counts=True)
    scales = (*moments(rows.X), *extremes(rows.X))
    return {
        **rows.facts,
        "target": options.target,
        "classes": {
            str(k): int(n) for k, n in zip(labels.tolist(), counts, strict=True)
        },
        "row_counters": _row_counters(rows),
        "features": feature_scales(rows.columns.features, *scales),
    }


def feature_scales(names, mean, std, low, high) -> list[dict]:
    """The scale of every feature."""
    rows = zip(
        names, *(np.ravel(v).tolist() for v in (mean, std, low, high)), strict=True
    )
    keys = ("name", "mean", "std", "min", "max")
    return [dict(zip(keys, row, strict=True)) for row in rows]


def _row_counters(rows: Rows) -> list[str]:
    """Features that go up by one from row to row of the file."""
    steps = np.diff(rows.kept)
    if sp.issparse(rows.X) or len(steps) < _SEVERAL or not np.all(steps > 0):
        return []
    return [
        name
        for j, name in enumerate(rows.columns.features)
        if np.array_equal(np.diff(rows.X[:, j]), steps)
    ]


def describe_model(model: RobustPipeline, columns) -> dict:
    """The decision functions in raw units."""
    svc, coef, _ = model._robust_model()
    coef = np.asarray(coef)
    origin = np.zeros((1, coef.shape[1]))
    intercept = np.atleast_1d(model.decision_function(origin)[0])
    classes = [str(label) for label in svc.classes_.tolist()]
    return {
        "classes": classes,
        "scores_for": classes[1:] if len(coef) == 1 else classes,
        "intercepts": intercept.tolist(),
        "coefficients": {
            name: coef[:, j].tolist() for j, name in enumerate(columns.features)
        },
        "C": float(svc.C),
    }


def training_facts(
    model: RobustPipeline, rows: Rows, uncertainty: Uncertainty, options: Namespace
) -> dict:
    """Certificate and screening of each binary problem, and how near the end is."""
    svc = model[-1]
    X = model[:-1].transform(rows.X) if len(model.steps) > 1 else rows.X
    weights = row_weights(rows, options)
    problems = []
    for k in range(len(svc.screening_)):
        positive = 1 if len(svc.screening_) == 1 else k
        problem = Problem.from_data(
            X,
            np.where(rows.y == svc.classes_[positive], 1, -1),
            C=svc.C,
            radius=uncertainty.radius,
            noise=svc.noise_,
            sample_weight=weights,
            intercept=0.0,
        )
        objective = problem.at(svc.coef_[k], svc.intercept_[k]).value
        limit = _distance_to_null(problem, uncertainty)
        problems.append(problem_facts(svc, k, objective, limit))
    right = model.predict(rows.X) == rows.y
    reach = model.certified_radius(rows.X)
    return {
        "problems": problems,
        "support": len(svc.support_),
        "training_accuracy": float(right.mean()),
        "training_certified": float(certain(right, reach, uncertainty.radius).mean()),
        "tol": svc.tol,
    }


def problem_facts(svc, k: int, objective: float, limit: dict) -> dict:
    """Certificate and screening of one binary problem."""
    found, gap = svc.screening_[k], float(svc.dual_gap_[k])
    trace = found["trace"]
    return {
        "class": str(svc.classes_[1 if len(svc.screening_) == 1 else k]),
        "objective": objective,
        "gap": gap,
        "relative_gap": gap / objective if objective > 0 else gap,
        "converged": found["converged"],
        "iterations": int(svc.n_iter_[k]),
        "passes": float(trace[-1]["passes"]) if trace else None,
        "removed": found["removed"],
        "saturated": found["saturated"],
        "null": bool(not svc.coef_[k].any() or _is_beyond(limit)),
        "critical_radius": None,
        "critical_factor": None,
        **limit,
    }


def row_weights(rows: Rows, options: Namespace) -> np.ndarray | None:
    """Factors on C that the options ask for."""
    if options.class_weight is None:
        return None
    return compute_sample_weight(options.class_weight, rows.y)


def _distance_to_null(problem: Problem, uncertainty: Uncertainty) -> dict:
    """Bounds on the noise from which on nothing can be learnt.

    A radius, or a factor on the radii. The upper bound is None where there is no such
    noise, because features without any tell the classes apart.
    """
    if np.any(np.asarray(uncertainty.radius) > 0):
        return {"critical_factor": _bounds(critical_scale(problem))}
    return {"critical_radius": _bounds(critical_radius(problem))}


def _is_beyond(limit: dict) -> bool:
    factor = limit.get("critical_factor")
    return factor is not None and factor[1] is not None and factor[1] <= 1


def _bounds(bracket: Bracket) -> list[float | None]:
    bounds = (bracket.lower, bracket.upper)
    return [float(bound) if np.isfinite(bound) else None for bound in bounds]


def evaluate(
    recipe: Recipe,
    rows: Rows,
    given: Uncertainty,
    trained: Uncertainty,
    options: Namespace,
    tick: Callable,
) -> dict | None:
    """Cross-validated accuracy of this procedure and of the ordinary SVM beside it.

    The procedure starts from the radii `given`, and chooses anew in every fold what it
    chooses; noise is that which the model was `trained` for.
    """
    folds = fold_count(rows.y, options.folds)
    if not folds:
        return None
    robust = bool(np.any(np.asarray(trained.radius) > 0))
    trials = {"robust" if robust else "ordinary": given}
    if robust:
        trials["ordinary"] = replace(given, radius=0.0)
    scores = {}
    for number, (name, trial) in enumerate(trials.items()):

        def progress(k, before=number * folds):
            tick(before + k + 1, folds * len(trials))

        scores[name] = cross_validate(
            recipe.fit, rows.X, rows.y, trial, folds, options.seed, progress
        )
    reach = np.concatenate([s.reach for s in scores.values()])
    radii = curve_radii(reach, trained.median())
    counts = np.unique(rows.y, return_counts=True)[1]
    return {
        "folds": folds,
        "majority": float(counts.max() / counts.sum()),
        "radii": radii.tolist(),
        "models": {
            name: _describe_scores(s, radii, trained, rows.y)
            for name, s in scores.items()
        },
    }


def _describe_scores(scores: Scores, radii, uncertainty: Uncertainty, y) -> dict:
    curve = scores.curve(radii)
    certain = scores.certain(uncertainty.radius)
    return {
        "accuracy": _spread(scores.accuracy()),
        "certified": _spread(scores.accuracy(uncertainty.radius)),
        "curve": {
            "mean": curve.mean(axis=1).tolist(),
            "low": curve.min(axis=1).tolist(),
            "high": curve.max(axis=1).tolist(),
        },
        "classes": {
            str(label): {
                "accuracy": float(scores.right[y == label].mean()),
                "certified": float(certain[y == label].mean()),
            }
            for label in np.unique(y).tolist()
        },
    }


def _spread(values: np.ndarray) -> dict:
    return {
        "mean": float(values.mean()),
        "std": float(values.std(ddof=1)),
        "folds": values.tolist(),
    }
