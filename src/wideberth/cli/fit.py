"""`wideberth fit`: from a table to a model file and a report."""

from __future__ import annotations

import time
from dataclasses import replace

from wideberth.cli import output
from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import require
from wideberth.cli.evaluation import evaluate
from wideberth.cli.model import Model, dump_model
from wideberth.cli.result import describe
from wideberth.cli.training import fit_model, open_in_pieces, read_training_data

__all__ = ["run"]


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
        options, given, rows.X, rows.y, given.radius, in_pieces and progress.on
    )
    seconds = time.perf_counter() - started
    trained = given.chosen(choice)
    evaluation = evaluate(options, rows, given, trained, progress)
    result = describe(
        options, rows, reader, trained, model, choice, evaluation, notes, seconds
    )
    about = result["origin"] | {"data": result["source"]}
    factor, target = result["uncertainty"]["factor"], str(options.target)
    radii = options.radius_column
    return Model(model, rows.columns, target, radii, factor, about), result


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
