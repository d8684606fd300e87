"""`wideberth fit`: from a table to a model file and a report.

All there is to say about a fit is plain data: numbers, names, sentences. `--json`
prints it and the report shows it, so they cannot differ.
"""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from wideberth.cli import output
from wideberth.cli.advice import advise
from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import require
from wideberth.cli.measured import undeclared
from wideberth.cli.model import Model, dump_model
from wideberth.cli.prepare import Columns, Rows, moments
from wideberth.cli.reading import open_in_pieces, read_training_data
from wideberth.cli.training import (
    certain,
    evaluate,
    fit_model,
)
from wideberth.cli.uncertainty import Uncertainty
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.estimators.training_data import InMemory, binary_problems
from wideberth.problem.endpoints import critical_radius, critical_scale
from wideberth.report.environment import machine, versions

_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")
#: Smallest number of steps of exactly one from row to row that is taken for a counter
#: of rows; a choice, which only decides whether a warning is given.
_SEVERAL = 8


def run(options: FitOptions) -> int:
    """Train, and write what was asked for."""
    output.check_free([options.out, options.report], options.force)
    if options.out:
        require("skops", "a model file")
    if options.report:
        require("matplotlib", "the report")
    with output.Progress(options.json) as progress:
        model, result = _fit(options.with_target(), progress)
        files: list[tuple[str, str | bytes]] = []
        if options.out:
            files.append((options.out, dump_model(model)))
        if options.report:
            from wideberth.cli.page import fit_page

            progress.show("drawing")
            files.append((options.report, fit_page(result)))
    output.write_all(files, options.force)
    if options.json:
        output.write_json(result)
    else:
        if options.out != "-":
            output.say(_in_words(result, options))
        for advice in result["warnings"]:
            output.warn(advice["text"])
    return 3 if any(advice["serious"] for advice in result["warnings"]) else 0


def _fit(options: FitOptions, progress: output.Progress) -> tuple[Model, dict]:
    """Train and evaluate; return the model and all there is to say about it."""
    in_pieces = options.memory is not None
    if in_pieces:
        # Rows that lack values are refused in pieces, and no fold is taken out.
        options = replace(options, missing="error", folds=0)
    read = open_in_pieces if in_pieces else read_training_data
    rows, given, reader = read(options, progress)
    progress.show(f"training on {rows.facts['rows_used']} rows")
    started = time.perf_counter()
    model, choice, notes = fit_model(
        *(options, given, rows.X, rows.y, given.radius, given.bars),
        verbose=in_pieces and progress.on,
    )
    seconds = time.perf_counter() - started
    trained, factor = given.chosen(choice), choice["factor"] if choice else 1.0
    found = _describe_rows(options, rows, trained, model)
    source = {
        "name": reader.name,
        "format": reader.kind,
        "sha256": reader.digest(),
        "details": reader.details,
        "memory": options.memory,
    }
    origin = {
        "command": shlex.join(["wideberth", *sys.argv[1:]]),
        "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "versions": versions(_PACKAGES),
        "machine": machine(),
    }
    result = {
        "request": _describe_request(options),
        "source": source,
        "model": _describe_model(model, rows.columns),
        "data": found["data"],
        "uncertainty": found["uncertainty"] | {"factor": factor} | trained.facts,
        "choice": choice,
        "training": found["training"] | {"seconds": seconds},
        "evaluation": evaluate(options, rows, given, trained, progress),
        "solver_notes": notes,
        "origin": origin,
    }
    result["warnings"] = [vars(advice) for advice in advise(result)]
    target, column = str(options.target), options.radius_column
    about = origin | {"data": source}
    made = Model(model, rows.columns, target, column, factor, given.errors, about)
    return made, result


def _describe_request(options: FitOptions) -> dict:
    given = "as given" if options.C != 1 else "the default"
    even = "of equal weight together" if options.class_weight else ""
    names = (
        *("target", "standardize", "missing", "folds", "score_radius", "tol", "seed"),
        *("errors", "error_shape", "missing_errors"),
    )
    return {name: getattr(options, name) for name in names} | {
        "C_from": "chosen by cross-validation" if options.cv else given,
        "dropped": list(options.drop),
        "one_hot": list(options.one_hot),
        "weights": even or "every row counts the same",
    }


def _describe_rows(
    options: FitOptions, rows: Rows, trained: Uncertainty, model: RobustPipeline
) -> dict:
    """Data, uncertainty and training, from one pass over the rows trained on."""
    classes: Counter = Counter()
    right = certified = 0
    smallest, largest = np.inf, -np.inf
    seen: tuple = ()
    pieces = rows.pieces(trained.radius, trained.bars, options.error_shape)
    for X, y, radii, bars in pieces:
        reach = model.certified_radius(X, bars)
        correct = model.predict(X) == y
        right += int(correct.sum())
        certified += int(certain(correct, reach, radii).sum())
        smallest, largest = min(smallest, np.min(radii)), max(largest, np.max(radii))
        classes.update(y.tolist())
        part = (len(y), *moments(X))
        seen = _together(seen, part) if seen else part
    n, mean, variance, low, high = seen
    scales = {"mean": mean, "std": np.sqrt(variance), "min": low, "max": high}
    svc, limits = model[-1], _noise_limits(model, rows, trained)
    return {
        "data": {
            **rows.facts,
            "target": options.target,
            "classes": {str(label): classes[label] for label in sorted(classes)},
            "row_counters": _row_counters(rows),
            "undeclared_errors": undeclared(rows.columns.numeric),
            "features": [
                {"name": name, **{key: float(of[j]) for key, of in scales.items()}}
                for j, name in enumerate(rows.columns.features)
            ],
        },
        "uncertainty": {
            "story": trained.story,
            "column": options.radius_column,
            "smallest": float(smallest),
            "median": trained.median,
            "largest": float(largest),
            **_describe_noise(options, trained.noise, rows.columns),
            "per_row": trained.per_row,
        },
        "training": {
            "problems": [
                _describe_problem(svc, k, limit) for k, limit in enumerate(limits)
            ],
            "support": None if rows.y is None else len(svc.support_),
            "training_accuracy": right / n,
            "training_certified": certified / n,
            "tol": svc.tol,
        },
    }


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


def _describe_noise(
    options: FitOptions, noise: str | np.ndarray, columns: Columns
) -> dict:
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
        "isotropic": options.errors is None
        and all(scales.get(name, 1) == 1 for name in columns.numeric),
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


def _describe_problem(svc, k: int, limit: dict) -> dict:
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
    X, bars = rows.X, uncertainty.bars
    if len(model.steps) > 1:
        X = model[:-1].transform(X)
        bars = None if bars is None else bars.carried(model.linear_map_)
    some = np.any(np.asarray(uncertainty.radius) > 0)
    data = InMemory(X, rows.y, radius=uncertainty.radius, bars=bars)
    limits = []
    for problem in binary_problems(svc, data):
        found = critical_scale(problem) if some else critical_radius(problem)
        bounds = [b if np.isfinite(b) else None for b in (found.lower, found.upper)]
        limits.append({"critical_factor" if some else "critical_radius": bounds})
    return limits


def _in_words(result: dict, options: FitOptions) -> str:
    data, found = result["data"], result["evaluation"]
    lines = [
        f"{data['target']}: {len(data['classes'])} classes from "
        f"{len(data['features'])} features, {data['rows_used']} of "
        f"{data['rows_read']} rows used"
    ]
    if found is not None:
        best = next(iter(found["models"].values()))
        lines.append(
            f"accuracy   {_with_spread(best['accuracy'])}, {found['folds']}-fold "
            f"cross-validation; always guessing: {found['majority']:.3f}"
        )
        if result["uncertainty"]["largest"] > 0:
            lines.append(
                f"certified  {_with_spread(best['certified'])} under the worst noise"
            )
    gap = max(problem["relative_gap"] for problem in result["training"]["problems"])
    lines.append(f"optimum    proven to {output.small_share(gap)} of the objective")
    lines += [f"model      {options.out}"] if options.out else []
    lines += [f"report     {options.report}"] if options.report else []
    return "\n".join(lines)


def _with_spread(value: dict) -> str:
    return f"{value['mean']:.3f} ± {value['std']:.3f}"
