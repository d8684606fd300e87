"""`wideberth fit`: from a table to a model file and a report."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace

import numpy as np

from wideberth.cli import output
from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import require
from wideberth.cli.evaluation import evaluate
from wideberth.cli.model import Model, dump_model
from wideberth.cli.recipe import Recipe
from wideberth.cli.result import (
    describe_data,
    describe_training,
    describe_uncertainty,
    put_together,
)
from wideberth.cli.uncertainty import read_training_data

__all__ = ["run"]


def run(options: FitOptions) -> int:
    """Train, and write what was asked for."""
    output.check_free([options.out, options.report], options.force)
    if options.out:
        require("skops", "a model file")
    if options.report:
        require("matplotlib", "the report")
    with output.Progress(options.json) as progress:
        model, result = _train(options.with_target(), progress)
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


def _train(options: FitOptions, progress: output.Progress) -> tuple[Model, dict]:
    command = shlex.join(["wideberth", *sys.argv[1:]])
    if options.memory is None:
        return _fit_table(options, command, progress)
    from wideberth.cli.large import fit_large

    # Rows that lack values are refused in pieces, and no fold is taken out.
    return fit_large(replace(options, missing="error", folds=0), command, progress)


def _fit_table(
    options: FitOptions, command: str, progress: output.Progress
) -> tuple[Model, dict]:
    """Train and evaluate; return the model and all there is to say about it."""
    rows, given, source = read_training_data(options, progress)
    progress.show(f"training on {len(rows.y)} rows")
    recipe = Recipe(options, given.noise)
    started = time.perf_counter()
    fitted = recipe.fit(rows.X, rows.y, given.radius)
    seconds = time.perf_counter() - started
    choice = fitted.choice
    if choice is not None:
        choice["unit"] = "radius" if given.unit_radius else "radius ×"
    trained = given.chosen(fitted.radius, choice)
    radii = (np.min(trained.radius), trained.median(), np.max(trained.radius))
    noise = describe_uncertainty(
        trained.story, radii, trained.noise, rows.columns, options
    )
    facts = {
        "data": describe_data(rows, options),
        "uncertainty": noise
        | {"per_row": trained.per_row, "factor": fitted.factor}
        | trained.facts,
        "choice": choice,
        "training": describe_training(fitted.model, rows, trained)
        | {"seconds": seconds},
        "evaluation": evaluate(
            recipe,
            rows,
            given,
            trained,
            lambda k, n: progress.show(f"cross-validating, {k} of {n}"),
        ),
        "solver_notes": fitted.notes,
    }
    return put_together(fitted.model, rows.columns, source, facts, options, command)


def _in_words(result: dict, options: FitOptions) -> str:
    """Lines for people."""
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
