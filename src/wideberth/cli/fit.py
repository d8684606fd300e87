"""`wideberth fit`: from a table to a model file, a report and a few lines to read."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import replace

from wideberth.cli import output
from wideberth.cli.advice import (
    advise,
    count_suspects,
    judge_worth,
    tell_ending,
    tell_left_out,
)
from wideberth.cli.describe import describe_model, describe_rows
from wideberth.cli.errors import require
from wideberth.cli.evaluation import evaluate
from wideberth.cli.model import Model, dump_model
from wideberth.cli.options import FitOptions
from wideberth.cli.output import TextTable, number
from wideberth.cli.population import evaluate_measured, fit_measured, misfit_of
from wideberth.cli.prepare import Columns, PreparedRows
from wideberth.cli.result import (
    Choice,
    DataSource,
    Evaluation,
    FitRequest,
    FitResult,
    NoiseFacts,
    Origin,
    Suspects,
    as_json,
)
from wideberth.cli.tables import Opened
from wideberth.cli.training import fit_model
from wideberth.cli.uncertainty import Uncertainty, data_in_pieces, training_data
from wideberth.data.errors import counted
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.estimators.pipeline import RobustPipeline
from wideberth.report.environment import machine, versions

_PACKAGES = ("numpy", "scipy", "scikit-learn")
#: Number of suspects that the terminal lists.
_LISTED = 5


def run(options: FitOptions, opened: Opened) -> int:
    """Train, and write what was asked for."""
    if options.report:
        require("matplotlib", "the report")
        require("jinja2", "the report")
    if not options.json:
        require("rich", "the summary on the terminal")
    with output.Progress(options.json) as progress:
        model, result = fit(options.with_target(), opened, progress)
        files: list[tuple[str, str | bytes]] = []
        if options.out:
            files.append((options.out, dump_model(model)))
        if options.report:
            from wideberth.cli.page import fit_page

            progress.show("drawing")
            files.append((options.report, fit_page(result)))
        if options.suspects and result.suspects is not None:
            headings, rows = _suspect_rows(result.suspects)
            files.append((options.suspects, output.table_text(headings, rows)))
    output.write_all(files, options.force)
    if options.json:
        output.write_json(as_json(result))
    else:
        if options.out != "-":
            output.say(output.aligned(_in_words(result, options)))
        for advice in result.warnings:
            output.warn(advice.text)
    if result.interrupted:
        told = "there is no accuracy, as no two folds were done"
        if result.evaluation is not None:
            told = (
                f"accuracies are of the {result.evaluation.folds} folds that were done"
            )
        output.warn(f"interrupted. The model is kept; {told}.")
        return 130
    return 3 if any(advice.serious for advice in result.warnings) else 0


def fit(
    options: FitOptions, opened: Opened, progress: output.Progress
) -> tuple[Model, FitResult]:
    """Train and evaluate; return the model and all there is to say about it."""
    options, rows, given = _read(options, opened, progress)
    progress.show(f"training on {rows.facts['rows_used']} rows")
    started = time.perf_counter()
    model, choice, notes = _train(options, rows, given, progress)
    seconds = time.perf_counter() - started
    trained = given.chosen(choice)
    found = describe_rows(options, rows, given, trained, model, choice, seconds)
    evaluation, interrupted = _evaluate(options, rows, given, trained, progress)
    facts = describe_model(model, rows.columns)
    source = DataSource(
        name=opened.reader.name,
        format=opened.reader.kind,
        sha256=opened.reader.digest(),
        details=opened.reader.details,
        memory=options.memory,
    )
    origin = Origin(
        command=shlex.join(["wideberth", *sys.argv[1:]]),
        time=time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        versions=versions(_PACKAGES),
        machine=machine(),
    )
    result = FitResult(
        request=_request(options, rows.columns),
        source=source,
        model=facts,
        choice=choice,
        evaluation=evaluation,
        interrupted=interrupted,
        misfit=misfit_of(model, rows.columns.features),
        solver_notes=notes,
        origin=origin,
        worth=judge_worth(facts, found.uncertainty, evaluation, found.verdicts),
        **found._asdict(),
    )
    made = Model(
        model,
        rows.columns,
        str(options.target),
        options.radius_column,
        found.uncertainty.factor,
        given.errors,
        as_json(origin) | {"data": as_json(source)},
    )
    return made, replace(result, warnings=advise(result))


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
) -> tuple[RobustPipeline | MeasuredSVC, Choice | None, list[str]]:
    """The model, the choice that was made by cross-validation, what solvers noted."""
    if options.measured:
        return fit_measured(options, given, rows.X, rows.y, given.cells, rows.weights)
    return fit_model(
        *(options, given, rows.X, rows.y, given.radius, given.bars, rows.weights),
        verbose=options.memory is not None and progress.on,
    )


def _evaluate(
    options: FitOptions,
    rows: PreparedRows,
    given: Uncertainty,
    trained: Uncertainty,
    progress: output.Progress,
) -> tuple[Evaluation | None, bool]:
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
    return found, found is not None and found.interrupted


def _request(options: FitOptions, columns: Columns) -> FitRequest:
    given = "as given" if options.C != (1.0,) else "the default"
    even = "of equal weight together" if options.class_weight else ""
    if options.weight_column is not None:
        even = ", ".join(filter(None, [f"those of {options.weight_column}", even]))
    return FitRequest(
        standardize=options.standardize,
        missing="measured" if options.measured else options.missing or "drop",
        folds=options.folds,
        score_radius=options.score_radius,
        seed=options.seed,
        class_weight=options.class_weight,
        C_from="chosen by cross-validation" if len(options.C) != 1 else given,
        dropped=list(options.drop),
        one_hot=list(columns.categories),
        weights=even or "every row counts the same",
    )


# -- on the terminal -------------------------------------------------------------------


def _in_words(
    result: FitResult, options: FitOptions
) -> Iterator[tuple[str, str | TextTable]]:
    """Headings, and what there is to say: text, or a table."""
    data, training, said = result.data, result.training, result.verdicts
    yield "verdict", f"{result.worth.verdict} {result.worth.detail}".strip()
    yield (
        "data",
        f"{data.target}: {len(data.classes)} classes from "
        f"{counted(len(data.features), 'feature')}, {data.rows_used} of "
        f"{counted(data.rows_read, 'row')} used",
    )
    if (found := result.evaluation) is not None:
        yield "accuracy", _compared(found, result.uncertainty)
        yield "", _how_compared(found, result.uncertainty)
    if result.choice is not None:
        yield "chosen", _tell_choice(result.choice)
    if said is not None:
        yield (
            "verdicts",
            f"{said.certain} certain, {said.doubtful} doubtful at "
            f"{100 * said.confidence:g} % confidence",
        )
    if left_out := result.model.left_out:
        n = len(data.features)
        yield "features", f"{n - len(left_out)} of {n} have a weight"
    among = ""
    if (suspects := result.suspects) is not None:
        among = ", among models that leave the same rows out"
        yield "suspects", count_suspects(suspects)
        if suspects.found:
            yield "", _first_suspects(suspects)
        if (more := (suspects.found or 0) - _LISTED) > 0:
            where = "; --suspects FILE lists all"
            where = f", in {options.suspects}" if options.suspects else where
            yield "", f"and {more} more{where}"
        problems = training.problems
        yield "left out", f"{tell_left_out(problems)}, until {tell_ending(problems)}"
    gap = output.small_share(training.relative_gap)
    yield "optimum", f"proven to {gap} of the objective{among}"
    if options.out:
        yield "model", options.out
    if options.report:
        yield "report", options.report


def _compared(found: Evaluation, noise: NoiseFacts) -> TextTable:
    """Accuracies of all models, and what this one is ahead of each."""
    kinds = {"accuracy": "as measured", "certified": "worst noise"}
    if noise.asked is None:
        del kinds["certified"]
    called = found.called
    narrow = (name.removeprefix("ordinary ") for name in called.values())
    headings, columns = [""], [[*narrow, "guessing"]]
    guess = output.percent(found.majority).removesuffix(" %")
    for kind, heading in kinds.items():
        shares = (getattr(found.models[name], kind) for name in called)
        headings.append(heading)
        columns.append([output.spread(s).removesuffix(" %") for s in shares] + [guess])
        if found.gains:
            gains = (getattr(found.gains.get(name), kind, None) for name in called)
            headings.append("difference")
            columns.append([output.points(g) if g else "" for g in gains] + [""])
    return TextTable(headings, [list(row) for row in zip(*columns, strict=True)])


def _how_compared(found: Evaluation, noise: NoiseFacts) -> str:
    told = f"{found.measure} in %, {found.folds}-fold cross-validation"
    if found.gains:
        told += ", beside ordinary SVMs"
    if noise.asked is None:
        return told
    if noise.per_row:
        return f"{told}; worst noise: each row at its own radius"
    return f"{told}; worst noise: radius {number(noise.asked)} {noise.unit}"


def _tell_choice(choice: Choice) -> str:
    """What cross-validation chose."""
    made = {"C": choice.C}
    if len(choice.factors) > 1:
        made[choice.unit] = choice.factor
    if len(choice.norm_penalties) > 1:
        made["norm penalty"] = choice.norm_penalty
    if len(choice.ramps) > 1 and choice.ramp is not None:
        made["ramp"] = choice.ramp
    told = " and ".join(f"{name} {value:.4g}" for name, value in made.items())
    about = f"{choice.measure} {output.percent(choice.score)} on rows left out"
    return f"{told}: {about}, over {choice.folds} folds"


def _suspect_rows(suspects: Suspects) -> tuple[list[str], list[list]]:
    """All of them as a table, with the column that names them if there is one."""
    name = [suspects.id] if suspects.id else []
    headings = ["row", *name, "given", "predicted", "distance", "noises"]
    lines = [
        [
            one.row,
            *([one.id] if name else []),
            one.given,
            one.predicted,
            one.distance,
            one.noises,
        ]
        for one in suspects.rows or ()
    ]
    return headings, lines


def _first_suspects(suspects: Suspects) -> TextTable:
    """Those to look at first; without noise there are no radii to count in."""
    headings, lines = _suspect_rows(suspects)
    end = -1 if all(line[-1] == math.inf for line in lines) else None

    def shown(value) -> str:
        if value is None:
            return "–"
        return number(value) if isinstance(value, float) else str(value)

    rows = [list(map(shown, line[:end])) for line in lines[:_LISTED]]
    texts = tuple(range(1, headings.index("distance")))
    return TextTable(headings[:end], rows, texts)
