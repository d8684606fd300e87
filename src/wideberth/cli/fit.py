"""`wideberth fit`: from a table to a model file and a report.

All there is to say about a fit is plain data: numbers, names, sentences. `--json`
prints it and the report shows it, so they cannot differ.
"""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace

from wideberth.cli import output
from wideberth.cli.advice import advise
from wideberth.cli.choice import tell_choice
from wideberth.cli.describe import describe_model, describe_rows
from wideberth.cli.errors import require
from wideberth.cli.evaluation import evaluate
from wideberth.cli.model import Model, dump_model
from wideberth.cli.options import FitOptions
from wideberth.cli.population import evaluate_measured, fit_measured, misfit_of
from wideberth.cli.prepare import Columns, PreparedRows
from wideberth.cli.reading import data_in_pieces, training_data
from wideberth.cli.suspects import suspects_text, tell_suspects
from wideberth.cli.tables import Opened
from wideberth.cli.training import fit_model
from wideberth.cli.uncertainty import Uncertainty
from wideberth.cli.worth import judge_worth
from wideberth.data.errors import counted
from wideberth.data.table import Reader
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.report.environment import machine, versions

_PACKAGES = ("numpy", "scipy", "scikit-learn")


def run(options: FitOptions, opened: Opened) -> int:
    """Train, and write what was asked for."""
    if options.report:
        require("matplotlib", "the report")
    with output.Progress(options.json) as progress:
        model, result = _fit(options.with_target(), opened, progress)
        files: list[tuple[str, str | bytes]] = []
        if options.out:
            files.append((options.out, dump_model(model)))
        if options.report:
            from wideberth.cli.page import fit_page

            progress.show("drawing")
            files.append((options.report, fit_page(result)))
        if options.suspects:
            files.append((options.suspects, suspects_text(result["suspects"])))
    output.write_all(files, options.force)
    if options.json:
        output.write_json(result)
    else:
        if options.out != "-":
            output.say(_in_words(result, options))
        for advice in result["warnings"]:
            output.warn(advice["text"])
    if result["interrupted"]:
        found = result["evaluation"]
        told = "there is no accuracy, as no two folds were done"
        if found is not None:
            told = f"accuracies are of the {found['folds']} folds that were done"
        output.warn(f"interrupted. The model is kept; {told}.")
        return 130
    return 3 if any(advice["serious"] for advice in result["warnings"]) else 0


def _fit(
    options: FitOptions, opened: Opened, progress: output.Progress
) -> tuple[Model, dict]:
    """Train and evaluate; return the model and all there is to say about it."""
    options, rows, given = _read(options, opened, progress)
    progress.show(f"training on {rows.facts['rows_used']} rows")
    started = time.perf_counter()
    model, choice, notes = _train(options, rows, given, progress)
    seconds = time.perf_counter() - started
    trained, factor = given.chosen(choice), choice["factor"] if choice else 1.0
    found = describe_rows(options, rows, given, trained, model)
    evaluation, interrupted = _evaluate(options, rows, given, trained, progress)
    source, origin = _describe_source(options, opened.reader), _describe_origin()
    result = {
        "request": _describe_request(options, rows.columns),
        "source": source,
        "model": describe_model(model, rows.columns),
        "data": found["data"],
        "uncertainty": found["uncertainty"] | {"factor": factor} | trained.facts,
        "choice": choice,
        "training": found["training"] | {"seconds": seconds},
        "evaluation": evaluation,
        "interrupted": interrupted,
        "verdicts": found["verdicts"],
        "flips": found["flips"],
        "suspects": found["suspects"],
        "misfit": misfit_of(model, rows.columns.features),
        "solver_notes": notes,
        "origin": origin,
    }
    result["worth"] = judge_worth(result)
    result["warnings"] = [vars(advice) for advice in advise(result)]
    target, column = str(options.target), options.radius_column
    about = origin | {"data": source}
    made = Model(model, rows.columns, target, column, factor, given.errors, about)
    return made, result


def _read(
    options: FitOptions, opened: Opened, progress: output.Progress
) -> tuple[FitOptions, PreparedRows, Uncertainty]:
    """The rows, at once or in pieces, and what is known of their errors."""
    if (memory := options.memory) is None:
        return options, *training_data(opened)
    progress.show(f"reading {options.data}")
    # Rows that lack values are refused in pieces, and no fold is taken out.
    options = replace(options, missing="error", folds=0)
    return options, *data_in_pieces(opened, memory)


def _train(
    options: FitOptions,
    rows: PreparedRows,
    given: Uncertainty,
    progress: output.Progress,
) -> tuple[RobustPipeline | MeasuredSVC, dict | None, list[str]]:
    """The model, the choice that was made by cross-validation, what solvers noted."""
    if options.measured:
        return fit_measured(options, given, rows.X, rows.y, given.cells, rows.weights)
    return fit_model(
        *(options, given, rows.X, rows.y, given.radius, given.bars, rows.weights),
        verbose=options.memory is not None and progress.on,
        told=progress.gap if progress.on else None,
    )


def _evaluate(
    options: FitOptions,
    rows: PreparedRows,
    given: Uncertainty,
    trained: Uncertainty,
    progress: output.Progress,
) -> tuple[dict | None, bool]:
    """How well the model does on rows held out, and whether that was interrupted.

    There is a model by now, and it is kept.
    """
    try:
        if options.measured:
            found = evaluate_measured(options, rows, given, progress)
        else:
            found = evaluate(options, rows, given, trained, progress)
    except KeyboardInterrupt:
        return None, True
    return found, found is not None and found["interrupted"]


def _describe_source(options: FitOptions, reader: Reader) -> dict:
    return {
        "name": reader.name,
        "format": reader.kind,
        "sha256": reader.digest(),
        "details": reader.details,
        "memory": options.memory,
    }


def _describe_origin() -> dict:
    return {
        "command": shlex.join(["wideberth", *sys.argv[1:]]),
        "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        "versions": versions(_PACKAGES),
        "machine": machine(),
    }


def _describe_request(options: FitOptions, columns: Columns) -> dict:
    given = "as given" if options.C != (1.0,) else "the default"
    even = "of equal weight together" if options.class_weight else ""
    if options.weight_column is not None:
        even = ", ".join(filter(None, [f"those of {options.weight_column}", even]))
    names = (
        *("target", "standardize", "model", "folds", "score_radius", "tol", "seed"),
        *("error_shape", "id", "class_weight"),
    )
    return {name: getattr(options, name) for name in names} | {
        "missing": options.missing or "drop",
        "errors": options.errors and options.errors.where,
        "absent_errors": options.errors and options.errors.absent,
        "label_noise": options.doubts_labels,
        "C_from": "chosen by cross-validation" if len(options.C) != 1 else given,
        "dropped": list(options.drop),
        "one_hot": list(columns.categories),
        "dates": list(columns.dates),
        "weights": even or "every row counts the same",
    }


def _in_words(result: dict, options: FitOptions) -> str:
    data, found = result["data"], result["evaluation"]
    problems = result["training"]["problems"]
    lines = [
        output.wrapped("verdict    ", result["worth"]["sentence"]),
        f"{data['target']}: {len(data['classes'])} classes from "
        f"{counted(len(data['features']), 'feature')}, {data['rows_used']} of "
        f"{counted(data['rows_read'], 'row')} used",
    ]
    if found is not None:
        best = next(iter(found["models"].values()))
        balanced = "" if found["measure"] == "accuracy" else " (balanced)"
        lines.append(
            f"accuracy   {_with_spread(best['accuracy'])}{balanced}, "
            f"{found['folds']}-fold cross-validation; always guessing: "
            f"{found['majority']:.3f}"
        )
        if (radius := result["uncertainty"]["asked"]) is not None:
            at = f" of radius {output.number(radius)}"
            at = (
                ", each row at its own radius"
                if result["uncertainty"]["per_row"]
                else at
            )
            lines.append(
                f"certified  {_with_spread(best['certified'])}{balanced} under the "
                f"worst noise{at}"
            )
    if result["choice"] is not None:
        lines += tell_choice(result["choice"])
    if (said := result["verdicts"]) is not None:
        lines.append(
            f"verdicts   {said['certain']} certain, {said['doubtful']} doubtful at "
            f"{100 * said['confidence']:g} % confidence"
        )
    if left_out := result["model"]["left_out"]:
        n = len(data["features"])
        lines.append(f"features   {n - len(left_out)} of {n} have a weight")
    gap, among = max(problem["relative_gap"] for problem in problems), ""
    if (doubted := result["suspects"]) is not None:
        among = ", among models that leave the same rows out"
        where = f", in {options.suspects}" if options.suspects else ""
        lines += tell_suspects(
            doubted, problems, where or "; --suspects FILE lists all"
        )
    optimum = f"optimum    proven to {output.small_share(gap)} of the objective{among}"
    lines.append(optimum)
    lines += [f"model      {options.out}"] if options.out else []
    lines += [f"report     {options.report}"] if options.report else []
    return "\n".join(lines)


def _with_spread(value: dict) -> str:
    return " ± ".join(output.with_error(value["mean"], value["std"]))
