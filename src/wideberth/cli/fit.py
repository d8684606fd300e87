"""`wideberth fit`: from a table to a model file, a report and a few lines to read."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from wideberth.cli import output
from wideberth.cli.advice import (
    advise,
    count_suspects,
    judge_worth,
    tell_ending,
    tell_left_out,
    tell_radii,
)
from wideberth.cli.describe import describe_model, describe_rows
from wideberth.cli.errors import require
from wideberth.cli.evaluation import evaluate
from wideberth.cli.model import Model, dump_model
from wideberth.cli.options import FitOptions
from wideberth.cli.output import TextTable, number
from wideberth.cli.result import (
    KINDS,
    Choice,
    DataSource,
    Evaluation,
    FitResult,
    LineFacts,
    NoiseFacts,
    Origin,
    Slope,
    Suspects,
    as_json,
)
from wideberth.cli.tables import Opened
from wideberth.cli.training import fit_measured, fit_model
from wideberth.cli.uncertainty import data_in_pieces, training_data
from wideberth.data.errors import counted
from wideberth.estimators.measured_svc import MeasuredSVC
from wideberth.measurement.goodness import lacks
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
        model, result = fit(opened, progress)
        files: list[tuple[str, str | bytes]] = []
        if options.out:
            files.append((options.out, dump_model(model)))
        if options.report:
            from wideberth.cli.page import fit_page

            progress.show("drawing")
            files.append((options.report, fit_page(result)))
        if options.suspects and result.suspects is not None:
            headings, rows = _suspect_rows(result.suspects)
            text = output.table_text(headings, rows, options.suspects)
            files.append((options.suspects, text))
    output.write_all(files, options.force)
    if options.json:
        output.write_json(as_json(result))
    else:
        if options.out != "-":
            output.say(output.aligned(_in_words(result)))
        for advice in result.warnings:
            output.warn(advice.text)
    if result.interrupted:
        told = (
            "it is not cross-validated: the interrupt came before two folds were done"
        )
        if (found := result.evaluation) is not None:
            told = f"its figures are from {found.folds} of {found.planned} folds"
        output.warn(f"interrupted. The model is kept; {told}.")
        return 130
    return 3 if any(advice.serious for advice in result.warnings) else 0


def fit(opened: Opened, progress: output.Progress) -> tuple[Model, FitResult]:
    """Train and evaluate; return the model and all there is to say about it."""
    options = opened.options
    if (memory := options.memory) is None:
        rows, given = training_data(opened)
    else:
        progress.show(f"reading {options.data}")
        # Rows that lack values are refused in pieces, and no fold is taken out.
        options = replace(options, missing="error", folds=0)
        rows, given = data_in_pieces(opened, memory)
    options = replace(options, task="regress" if rows.numbers else "classify")
    progress.show(f"training on {rows.facts['rows_used']} rows")
    started = time.perf_counter()
    if options.measured:
        model, choice, notes = fit_measured(options, given, rows)
    else:
        verbose = int(memory is not None and progress.on)
        data = replace(rows, radius=given.radius)
        model, choice, notes = fit_model(options, given, data, verbose=verbose)
    seconds = time.perf_counter() - started
    trained = given.chosen(choice)
    found = describe_rows(options, rows, given, trained, model, choice, seconds)
    try:
        evaluation = evaluate(options, rows, given, trained, progress)
        interrupted = evaluation is not None and evaluation.interrupted
    except KeyboardInterrupt:  # there is a model by now, and it is kept
        evaluation, interrupted = None, True
    facts = describe_model(options, model, rows, given, found)
    misfit = ""
    if isinstance(model, MeasuredSVC):
        misfit = lacks(model._denoised.features.misfit_, rows.columns.features)
    source = DataSource(
        name=opened.reader.name,
        format=opened.reader.kind,
        sha256=opened.reader.digest(),
        details=opened.reader.details,
    )
    origin = Origin(
        command=options.typed,
        time=time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        versions=versions(_PACKAGES),
        machine=machine(),
    )
    result = FitResult(
        request=options,
        source=source,
        model=facts,
        choice=choice,
        evaluation=evaluation,
        interrupted=interrupted,
        misfit=misfit,
        solver_notes=notes,
        origin=origin,
        worth=judge_worth(facts, found.uncertainty, evaluation, found.verdicts),
        **found._asdict(),
    )
    ranges = [(one.min, one.max) for one in found.data.features if not one.category]
    made = Model(
        model,
        rows.columns,
        str(options.target),
        options.radius_column,
        found.uncertainty.factor,
        np.array(ranges, dtype=float).reshape(-1, 2),
        given.errors,
        as_json(origin) | {"data": as_json(source)},
        scaled=options.replicates is not None
        or (options.noise.scales is not None and options.noise.shape == "l2"),
    )
    return made, replace(result, warnings=advise(result))


# -- on the terminal -------------------------------------------------------------------


def _in_words(result: FitResult) -> Iterator[tuple[str, str | TextTable]]:
    """Headings, and what there is to say: text, or a table."""
    options = result.request
    data, training, said = result.data, result.training, result.verdicts
    line, features = result.model.line, counted(len(data.features), "feature")
    used = f"{data.rows_used} of {counted(data.rows_read, 'row')} used"
    yield "verdict", f"{result.worth.verdict} {result.worth.detail}".strip()
    what = f"{len(data.classes)} classes"
    if line is not None:
        what = "numbers" if line.slopes else f"numbers (their {line.level})"
    yield "data", f"{data.target}: {what} from {features}, {used}"
    if data.task_story:
        kind = "numbers" if line is not None else "classes"
        yield "task", f"{kind}: {data.task_story}"
    if (found := result.evaluation) is not None:
        heading = "accuracy" if line is None else "error"
        yield heading, _compared(found, result.uncertainty)
        yield "", _how_compared(found, result.uncertainty)
        if found.residuals is not None:
            yield from _tell_coverage(found, line)
    if line is not None and line.slopes:
        yield "slopes", _slopes(line.slopes)
        if (more := len(line.slopes) - _LISTED) > 0:
            yield "", f"and {more} more, all in the report"
    if (kernel := result.model.kernel) is not None:
        told = f"γ {kernel.gamma:.4g}, {counted(kernel.landmarks, 'landmark')}"
        yield "kernel", f"{kernel.name}, {told}"
    if found is not None and found.radius_gain is not None:
        yield "", tell_radii(found.radius_gain, result.uncertainty)
    if result.choice is not None:
        yield "chosen", _tell_choice(result.choice)
        if result.choice.proof is not None:
            yield "", output.told_proof(result.choice)
    if said is not None:
        yield (
            "verdicts",
            f"{counted(said.certain, 'row')} certain, {said.doubtful} doubtful at "
            f"{100 * said.confidence:g} % confidence",
        )
    if left_out := result.model.left_out:
        n = len(data.features)
        yield "features", f"{n - len(left_out)} of {n} have a weight"
    among = ""
    if (suspects := result.suspects) is not None:
        among = " that leave the same rows out"
        yield "suspects", count_suspects(suspects)
        if suspects.found:
            yield "", _first_suspects(suspects)
        if (more := suspects.found - _LISTED) > 0:
            where = "; --suspects FILE lists all"
            where = f", in {options.suspects}" if options.suspects else where
            yield "", f"and {more} more{where}"
        problems = training.problems
        why = f"ended because {tell_ending(problems)}"
        yield "left out", f"{tell_left_out(problems)}; {why}"
    if training.problems:
        gap = output.small_share(training.relative_gap)
        proven = f"proven: no other weights{among} lower the objective"
        yield "optimum", f"{proven} by more than {gap}"
    if options.out:
        yield "model", options.out
    if options.report:
        yield "report", options.report


def _tell_coverage(
    found: Evaluation, line: LineFacts | None
) -> Iterator[tuple[str, str | TextTable]]:
    """What share of the rows lies where it was stated to."""
    if line is None or not line.slopes:
        for one in found.coverage or ():
            below, of = output.percent(one.observed), output.percent(one.stated)
            told = f"{below} of the numbers lie below the prediction; asked for: {of}"
            yield "", told
    elif found.coverage:
        stated = [f"{100 * one.stated:g} %" for one in found.coverage]
        observed = [output.percent(one.observed) for one in found.coverage]
        yield "intervals", TextTable(["stated", *stated], [["observed", *observed]])


def _slopes(slopes: dict[str, Slope]) -> TextTable:
    """Slopes of true features, the surest first, and those that ignore errors."""

    def firmness(name: str) -> float:
        slope = slopes[name]
        return abs(slope.value) / slope.error if slope.error > 0 else 0.0

    rows = []
    for name in sorted(slopes, key=firmness, reverse=True)[:_LISTED]:
        own = slopes[name]
        ignoring = output.estimate(own.ignoring_errors, own.ignoring_error)
        rows.append([name, output.estimate(own.value, own.error), ignoring])
    return TextTable(["", "slope", "ignoring errors"], rows)


def _compared(found: Evaluation, noise: NoiseFacts) -> TextTable:
    """Scores of all models, and what this one is ahead of each."""
    kinds = dict(zip(KINDS, ("as measured", "worst noise"), strict=True))
    if noise.asked is None:
        kinds.popitem()
    called, guess = found.called, []
    unit, written = 1.0, output.off
    if found.majority is not None:
        always = "one class" if found.balanced else "most common class"
        guess = [always, output.percent(found.majority).removesuffix(" %")]
        unit, written = 100.0, output.spread
    names = [re.sub("^ordinary | regression", "", name) for name in called.values()]
    headings, columns = [""], [[*names, *guess[:1]]]
    for kind, heading in kinds.items():
        scores = (getattr(found.models[name], kind) for name in called)
        headings.append(heading)
        columns.append([written(s).removesuffix(" %") for s in scores] + guess[1:])
        if found.gains:
            gains = (getattr(found.gains.get(name), kind, None) for name in called)
            headings.append("difference")
            told = [output.points(g, unit) if g else "" for g in gains]
            columns.append(told + [""] * len(guess[1:]))
    return TextTable(headings, [list(row) for row in zip(*columns, strict=True)])


def _how_compared(found: Evaluation, noise: NoiseFacts) -> str:
    classes = found.majority is not None
    unit = " in %" if classes else ""
    told = f"{found.measure}{unit}, {found.told_folds}"
    if found.majority is not None and found.gains:
        told += ", beside ordinary SVMs" if "ordinary" in found.gains else ""
        told += " with the same kernel" if len(found.gains) > 2 else ""
    elif found.gains:
        told += "; a difference below 0 is in favour of this model"
    if noise.asked is None:
        return told
    if noise.per_row:
        return f"{told}; worst noise: each row at its own radius"
    return f"{told}; worst noise: radius {number(noise.asked)} {noise.unit}"


def _tell_choice(choice: Choice) -> str:
    """What cross-validation chose."""
    made = {"C": choice.C} | {n: value for n, (value, _) in choice.made.items()}
    told = " and ".join(f"{name} {value:.4g}" for name, value in made.items())
    score = output.scored(choice.score, choice.measure)
    about = f"{choice.measure} {score} on rows left out"
    return f"{told}: {about}, over {choice.folds} folds"


def _suspect_rows(suspects: Suspects) -> tuple[list[str], list[list]]:
    """All of them as a table, with the column that names them if there is one."""
    name = [suspects.id] if suspects.id else []
    headings = ["row", *name, "given", "predicted", "distance", "noises"]
    lines = []
    for one in suspects.rows:
        who = [one.row, one.id] if name else [one.row]
        lines.append([*who, one.given, one.predicted, one.distance, one.noises])
    return headings, lines


def _first_suspects(suspects: Suspects) -> TextTable:
    """Those to look at first; without noise there are no radii to count in."""
    headings, lines = _suspect_rows(suspects)
    end = -1 if all(line[-1] == math.inf for line in lines) else None

    def shown(value) -> str:
        if value is None:
            return "–"
        return number(value) if isinstance(value, float) else str(value)

    headings[-1] = "in radii"
    rows = [list(map(shown, line[:end])) for line in lines[:_LISTED]]
    texts = tuple(range(1, headings.index("distance")))
    return TextTable(headings[:end], rows, texts)
