"""`wideberth path`: models along C and radius."""

from __future__ import annotations

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
from wideberth.estimators.training import TrainingRows
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
    data = TrainingRows.of(
        prepare.transform(rows.X),
        rows.y,
        rows.weights,
        class_weight=options.class_weight,
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
        label = data.labels[place]
        progress.show(f"training models of {label}" if several else "training")
        with blamed_on_data():
            found = path(
                data.X,
                data.signs(place),
                Cs=options.C or options.points,
                radii=radii if given.per_row else given.radius * radii,
                radius=given.radius if given.per_row else None,
                noise=noise,
                X_err=bars,
                error_shape=options.error_shape,
                **_levels("norm_penalty", "norm_penalties", options.norm_penalty),
                **_levels("ramp", "ramps", options.ramp),
                sample_weight=data.factored_weight,
                tol=options.tol,
                random_state=options.seed,
                quiet=True,
            )
        if not found.complete:
            raise KeyboardInterrupt  # it gives what it has; half a table is no result
        for point in found:
            line = [str(label)] if several else []
            line += [_told(point, name) for name in told_of]
            if options.weights:  # in the units of the data
                line += [point.b + point.w @ origin, *(point.w @ to_raw)]
            lines.append(line)
    return headings, lines


def _levels(one: str, several: str, values: tuple[float, ...]) -> dict:
    """One value of a parameter, several of them, or none, as `path` takes them."""
    if len(values) > 1:
        return {several: values}
    return {one: values[0]} if values else {}


def _told(point: PathPoint, name: str):
    """What a column of the table says about a model."""
    if name == "features":
        return int(np.count_nonzero(point.w))
    return getattr(point, name)
