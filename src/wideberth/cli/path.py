"""`wideberth path`: models along C and radius."""

from __future__ import annotations

from typing import Any

import numpy as np

from wideberth._path import path
from wideberth.cli import output
from wideberth.cli.errors import blamed_on_data
from wideberth.cli.options import PathOptions
from wideberth.cli.tables import Opened
from wideberth.cli.training import preparation
from wideberth.cli.uncertainty import training_data, warn_undeclared
from wideberth.data.errors import counted
from wideberth.estimators.moves import linear_steps
from wideberth.estimators.pipeline import carry_noise
from wideberth.estimators.training import TrainingRows, TrainingTargets
from wideberth.results import PathPoint

_COLUMNS = (
    *("C", "radius", "norm_penalty", "objective", "relative_gap", "converged", "null"),
    *("features", "undecided", "removed", "saturated", "n_iter", "seconds"),
)


def run(options: PathOptions, opened: Opened) -> int:
    """Write the table of models."""
    with output.Progress(options.json) as progress:
        headings, lines = _table(options, opened, progress)
    proven = all(line[headings.index("converged")] for line in lines)
    words = f"{counted(len(lines), 'model')} written to {options.out}"
    with output.Lines(options) as table:
        table.add(headings, list(zip(*lines, strict=True)))
        table.deliver("path", {"proven": proven}, words)
    return 0 if proven else 3


def _table(
    options: PathOptions, opened: Opened, progress: output.Progress
) -> tuple[list[str], list[list]]:
    rows, given = training_data(opened)
    prepare = preparation(options, given, rows.X)
    warn_undeclared(options, rows.columns.numeric)
    noise, bars = given.noise, given.bars
    if bars is None:
        noise = carry_noise(noise, prepare, rows.X)
    else:
        bars = bars.carried(linear_steps(prepare, rows.X)[0])
    options = options.for_numbers(rows.numbers)
    each = prepare.transform(rows.X), rows.y, rows.weights
    data: TrainingRows | TrainingTargets
    weight: Any = rows.weights
    if rows.numbers:
        data = TrainingTargets.of(*each)
    else:
        data = TrainingRows.of(*each, class_weight=options.class_weight)
        weight = data.factored_weight
    unit = data.unit  # of C and norm penalties
    loss: dict[str, Any] = (
        {"loss": "quantile", "quantile": options.quantile} if rows.numbers else {}
    )
    several = len(data.positives) > 1
    told_of = [*_COLUMNS, *(("ramp", "left_out") if options.ramp else ())]
    headings = [*(["class"] if several else []), *told_of]
    if given.per_row:  # then models differ by the factor on the radii
        headings[headings.index("radius")] = "radius_factor"
    if options.weights:
        headings += ["intercept", *(f"weight {f}" for f in rows.columns.features)]
        to_raw = linear_steps(prepare, rows.X)[0]
        origin = prepare.transform(np.zeros((1, rows.X.shape[1])))[0]
    radii = np.array(given.factors)
    lines = []
    for place in data.positives:
        label = data.labels[place] if isinstance(data, TrainingRows) else None
        progress.show(f"training models of {label}" if several else "training")
        with blamed_on_data():
            found = path(
                data.X,
                data.signs(place),
                Cs=[unit * C for C in options.C] or options.points,
                radii=radii if given.per_row else given.radius * radii,
                radius=given.radius if given.per_row else None,
                noise=noise,
                X_err=bars,
                error_shape=options.error_shape,
                **_levels(
                    "norm_penalty",
                    "norm_penalties",
                    tuple(unit * price for price in options.norm_penalty),
                ),
                **_levels("ramp", "ramps", options.ramp),
                sample_weight=weight,
                **loss,
                tol=options.tol,
                random_state=options.seed,
                quiet=True,
            )
        if not found.complete:
            raise KeyboardInterrupt  # it gives what it has; half a table is no result
        for point in found:
            line = [str(label)] if several else []
            line += [_told(point, name, unit) for name in told_of]
            if options.weights:  # in the units of the data
                line += [point.b + point.w @ origin, *(point.w @ to_raw)]
            lines.append(line)
    return headings, lines


def _levels(one: str, several: str, values: tuple[float, ...]) -> dict:
    """One value of a parameter, several of them, or none, as `path` takes them."""
    if len(values) > 1:
        return {several: values}
    return {one: values[0]} if values else {}


def _told(point: PathPoint, name: str, unit: float):
    """What a column of the table says about a model, C in its unit."""
    if name in ("C", "norm_penalty"):
        return getattr(point, name) / unit
    if name == "features":
        return int(np.count_nonzero(point.w))
    return getattr(point, name)
