"""What `wideberth fit` does between reading its options and writing its files."""

from __future__ import annotations

import time
from argparse import Namespace
from dataclasses import replace

import numpy as np

from wideberth.cli.advice import advise
from wideberth.cli.analysis import (
    describe_data,
    describe_model,
    evaluate,
    training_facts,
)
from wideberth.cli.errors import UserError
from wideberth.cli.model import Model
from wideberth.cli.options import format_of
from wideberth.cli.prepare import Columns, Rows, training_rows
from wideberth.cli.progress import Progress
from wideberth.cli.recipe import Fitted, Recipe
from wideberth.cli.uncertainty import Uncertainty, find_uncertainty
from wideberth.data import Reader, Request, kind_of, open_table
from wideberth.data.kinds import LABEL
from wideberth.report.environment import machine, versions

__all__ = [
    "describe_origin",
    "describe_request",
    "describe_uncertainty",
    "fit_table",
    "read_training_data",
    "settle_target",
]

_PACKAGES = ("numpy", "scipy", "scikit-learn", "skops")
#: Targets of formats that have a usual place for one.
_TARGETS = {"libsvm": LABEL, "npz": "y"}


def fit_table(
    options: Namespace, command: str, progress: Progress
) -> tuple[Model, dict]:
    """Train and evaluate; return the model and everything there is to say about it."""
    rows, uncertainty, source = read_training_data(options, progress)
    progress.show(f"training on {len(rows.y)} rows")
    recipe = Recipe.of(options, rows.X, uncertainty)
    started = time.perf_counter()
    fitted = recipe.fit(rows.X, rows.y, uncertainty.radius)
    seconds = time.perf_counter() - started
    trained = _as_trained(uncertainty, fitted)
    origin = describe_origin(command)
    result: dict = {
        "request": describe_request(options),
        "source": {
            "name": source.name,
            "format": source.kind,
            "sha256": source.digest(),
            "details": source.details,
            "memory": None,
        },
        "data": describe_data(rows, options),
        "uncertainty": describe_uncertainty(
            trained.story,
            (np.min(trained.radius), trained.median(), np.max(trained.radius)),
            trained.noise,
            rows.columns,
            options,
        )
        | {"per_row": trained.per_row, "factor": _factor(fitted)}
        | trained.facts,
        "choice": fitted.choice,
        "model": describe_model(fitted.model, rows.columns),
        "training": training_facts(fitted.model, rows, trained, options)
        | {"seconds": seconds},
        "evaluation": None,
        "solver_notes": fitted.notes,
        "origin": origin,
    }
    if options.folds:
        result["evaluation"] = evaluate(
            recipe,
            rows,
            uncertainty,
            trained,
            options,
            lambda k, n: progress.show(f"cross-validating, {k} of {n}"),
        )
    result["warnings"] = [vars(advice) for advice in advise(result)]
    model = Model(
        fitted.model,
        rows.columns,
        options.target,
        options.radius_column,
        _factor(fitted),
        {**origin, "data": result["source"]},
    )
    return model, result


def _factor(fitted: Fitted) -> float:
    """What the radii that options give were multiplied with in training."""
    return 1.0 if fitted.choice is None else float(fitted.choice["factor"])


def describe_origin(command: str) -> dict:
    """How a model came about: command, time, versions, machine."""
    return {
        "command": command,
        "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "versions": versions(_PACKAGES),
        "machine": machine(),
    }


def _as_trained(uncertainty: Uncertainty, fitted: Fitted) -> Uncertainty:
    """The radii that were chosen, and how."""
    story, choice = uncertainty.story, fitted.choice
    if choice is not None and len(choice["factors"]) > 1:
        tried = ", ".join(f"{factor:g}" for factor in choice["factors"])
        choice["unit"] = "radius" if uncertainty.unit_radius else "radius ×"
        how = f"chosen from {tried} by cross-validation"
        if uncertainty.unit_radius:
            story = f"{choice['factor']:g} for every row, {how}, {story}"
        else:
            story = f"{choice['factor']:g} times ({how}) this radius: {story}"
    return replace(uncertainty, radius=fitted.radius, story=story)


def read_training_data(
    options: Namespace, progress: Progress
) -> tuple[Rows, Uncertainty, Reader]:
    """Read DATA as the options ask: rows to train on, and how far they may be off."""
    form = format_of(options)
    settle_target(options)
    aside = [name for name in (options.replicates,) if name is not None]
    numbers = [name for name in (options.radius_column,) if name is not None]
    request = Request(
        target=options.target,
        texts=(options.target, *aside, *options.one_hot),
        numbers=tuple(numbers),
        dropped=tuple(options.drop),
    )
    progress.show(f"reading {options.data}")
    table, source = open_table(options.data, request, form)
    try:
        rows = training_rows(
            table, options.target, options.one_hot, options.missing, [*aside, *numbers]
        )
        return *find_uncertainty(options, table, rows), source
    except UserError as error:
        raise UserError(f"{source.name}: {error}") from error


def settle_target(options: Namespace) -> None:
    """Where no target is given, take the usual one of the format, if it has one."""
    if options.target is not None:
        return
    kind = options.format or kind_of(options.data)
    if kind not in _TARGETS:
        raise UserError("say which column holds the class: --target COL.")
    options.target = _TARGETS[kind]


def describe_request(options: Namespace) -> dict:
    """What was asked for."""
    balanced = options.class_weight == "balanced"
    return {
        "target": options.target,
        "C_from": _origin_of_C(options),
        "standardize": options.standardize,
        "missing": options.missing,
        "dropped": list(options.drop),
        "one_hot": list(options.one_hot),
        "weights": "of equal weight together"
        if balanced
        else "every row counts the same",
        "folds": options.folds,
        "score_radius": options.score_radius,
        "tol": options.tol,
        "seed": options.seed,
    }


def _origin_of_C(options: Namespace) -> str:
    if options.cv:
        return "chosen by cross-validation"
    return "as given" if options.C != 1 else "the default"


def _unit(options: Namespace, named: bool) -> str:
    if options.radius_units == "std":
        return "in standard deviations"
    exact = options.noise_scales is None and options.replicates is None
    return "in the units of the data" if named or exact else "in units of the noise"


def describe_uncertainty(
    story: str, radii, noise, columns: Columns, options: Namespace
) -> dict:
    """How far rows were taken to be off; `radii` the least, the median, the largest."""
    smallest, median, largest = (None if r is None else float(r) for r in radii)
    named = isinstance(noise, str)
    scales = {} if named else dict(zip(columns.features, noise.tolist(), strict=True))
    measured = np.asarray(list(scales.values())[: len(columns.numeric)])
    return {
        "story": story,
        "column": options.radius_column,
        "smallest": smallest,
        "median": median,
        "largest": largest,
        "shape": noise if named else "scales",
        "isotropic": bool(named or np.all(measured == 1)),
        "unit": _unit(options, named),
        "scales": scales,
    }
