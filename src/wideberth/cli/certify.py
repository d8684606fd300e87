"""`wideberth certify`: how much noise every prediction withstands."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from wideberth.cli import output
from wideberth.cli.commands import CertifyOptions
from wideberth.cli.errors import UserError, located
from wideberth.cli.model import Model, load_model
from wideberth.cli.predict import Applied, apply_model
from wideberth.cli.prepare import recognised
from wideberth.cli.training import certain, curve_radii
from wideberth.cli.uncertainty import row_radii
from wideberth.data import Table
from wideberth.data.errors import listed, meant, quoted

#: What a summary says as far as it is known.
_TOLD = (
    *("radius", "radius_column", "radius_factor", "smallest_radius", "largest_radius"),
    *("labelled", "accuracy", "certified_accuracy", "curve"),
    *("certain", "accuracy_of_certain"),
)


def run(options: CertifyOptions) -> int:
    """Write the table of certified radii, and the curve of certified accuracy."""
    model = load_model(options.model)
    target = options.target or model.target
    column = options.radius_column or model.radius_column
    if model.gives_verdicts:
        _refuse_radii(options)
    with output.Progress(options.json) as progress:
        applied = apply_model(model, options, progress, target, column, judged=True)
    table, headings, columns = applied.table, applied.headings, applied.columns
    summary: dict = {
        "rows": table.n,
        "certified": int(applied.usable.sum()),
        "trained_radius": model.radius,
        **dict.fromkeys(_TOLD),
    }
    if model.gives_verdicts:
        return _deliver_verdicts(options, model, applied, target, summary)
    reach = applied.reach(model.pipeline.certified_radius)
    radius, told = _radii_to_judge_by(options, model, table, column)
    summary |= told
    headings.append("certified_radius")
    columns.append(reach)
    if np.ndim(radius):
        headings.append("radius")
        columns.append([None if r != r else r for r in radius.tolist()])
    if target in table.texts:
        right = _compare(applied, model, target)
        summary |= _accuracy(options, right, reach, radius)
    elif options.curve or options.at:
        raise UserError(
            f"{options.data} has no column {quoted(target)}, and certified accuracy "
            "needs the true classes; name the column with --target."
        )
    files = []
    if options.curve:
        points = zip(*summary["curve"].values(), strict=True)
        text = output.table_text(["radius", "certified_accuracy"], points)
        files.append((options.curve, text))
    lines = list(zip(*columns, strict=True))
    output.deliver(options, headings, lines, summary, _in_words(summary), files)
    return 0


def _compare(applied: Applied, model: Model, target: str) -> list:
    """Which predictions are right, where both are there; told beside the truth."""
    truth = applied.table.texts[target].tolist()
    labels = recognised(truth, model.classes.tolist())
    classes = set(map(str, model.classes.tolist()))
    strange = Counter(str(x) for x in labels if x is not None and str(x) not in classes)
    if strange:
        output.warn(
            f"{strange.total()} rows are of a class that the model does not know, "
            f"{listed(strange, 3)}{meant(strange, classes) or '.'} Such rows count as "
            f"wrong; its classes are {listed(sorted(classes), 12)}."
        )
    right = [
        None if label is None or found is None else label == found
        for label, found in zip(labels, applied.columns[1], strict=True)
    ]
    applied.headings += [target, "correct"]
    applied.columns += [truth, right]
    return right


def _refuse_radii(options: CertifyOptions) -> None:
    """Say that verdicts go by a chance."""
    radii = {
        "--radius-column": options.radius_column,
        "--curve": options.curve,
        "--at": options.at,
    }
    for name in [name for name, given in radii.items() if given]:
        raise UserError(
            f"{name} is about radii, and {options.model} gives verdicts, which go by "
            "the chance of the other side; choose it with --confidence."
        )


def _deliver_verdicts(
    options: CertifyOptions, model: Model, applied: Applied, target: str, summary: dict
) -> int:
    """Write what a model that gives verdicts says, and how right it is."""
    summary["certain"] = applied.certain
    lines = [f"{applied.certain} of {summary['certified']} rows are certain"]
    if target in applied.table.texts:
        verdicts = applied.columns[applied.headings.index("verdict")]
        right = _compare(applied, model, target)
        known = [k for k, correct in enumerate(right) if correct is not None]
        sure = [k for k in known if verdicts[k] == "certain"]
        summary["labelled"] = len(known)
        for name, rows, about in (
            ("accuracy", known, "rows with a class"),
            ("accuracy_of_certain", sure, "certain ones"),
        ):
            if rows:
                summary[name] = float(np.mean([right[k] for k in rows]))
                lines.append(f"accuracy   {summary[name]:.3f} of {len(rows)} {about}")
    table = list(zip(*applied.columns, strict=True))
    output.deliver(options, applied.headings, table, summary, "\n".join(lines))
    return 0


def _radii_to_judge_by(
    options: CertifyOptions, model: Model, table: Table, column: str | None
) -> tuple[Any, dict]:
    """The radii of a column, the one trained with, or none; what the summary says."""
    if column not in table.numbers:
        radius: Any = model.radius
        smallest, largest = radius, radius
        column, factor = None, 1.0
    else:
        # A column named here holds the radii themselves; that of training, what was
        # multiplied there.
        factor = model.radius_factor if column == model.radius_column else 1.0
        with located(options.data):
            radius = factor * row_radii(table, column)
        known = radius[np.isfinite(radius)]
        smallest, largest = (
            float(f(known)) if known.size else None for f in (np.min, np.max)
        )
        if known.size < table.n:
            output.warn(
                f"{options.data}: {table.n - known.size} of {table.n} rows have no "
                f"radius in the column {quoted(column)} and do not count in the "
                "certified accuracy."
            )
    return radius, {
        "radius": None if np.ndim(radius) else radius,
        "radius_column": column,
        "radius_factor": factor,
        "smallest_radius": smallest,
        "largest_radius": largest,
    }


def _accuracy(
    options: CertifyOptions, right: list, certified_radii: list, radius
) -> dict:
    known = [k for k, correct in enumerate(right) if correct is not None]
    if not known:
        raise UserError(
            f"{options.data}: no row has both a prediction and a class, so there is no "
            "accuracy."
        )
    if radius is None and not options.at:
        raise UserError(
            f"{options.model} was trained with a radius for each row, and "
            f"{options.data} does not hold those of its rows; name the column that "
            "does with --radius-column, or give radii to certify at with --at."
        )
    correct = np.array([right[k] for k in known], dtype=bool)
    reach = np.array([certified_radii[k] for k in known], dtype=float)
    judged = np.broadcast_to(np.nan if radius is None else radius, len(right))[known]
    told = np.isfinite(judged)
    share = certain(correct, reach, judged)[told].mean() if told.any() else None
    marked = 0.0 if radius is None or np.ndim(radius) else radius
    grid = np.array(options.at) if options.at else curve_radii(reach, marked)
    curve = [float(certain(correct, reach, r).mean()) for r in grid]
    return {
        "labelled": len(known),
        "accuracy": float(correct.mean()),
        "certified_accuracy": None if share is None else float(share),
        "curve": {"radius": grid.tolist(), "certified_accuracy": curve},
    }


def _in_words(summary: dict) -> str:
    lines = [f"{summary['certified']} of {summary['rows']} rows certified"]
    if summary["accuracy"] is not None:
        about = f"of {summary['labelled']} rows with a class"
        lines.append(f"accuracy   {summary['accuracy']:.3f} {about}")
    if summary["certified_accuracy"] is not None:
        share = f"certified  {summary['certified_accuracy']:.3f} at"
        lines.append(f"{share} {_radius_in_words(summary)}")
    elif summary["curve"] is not None:
        curve = summary["curve"]
        points = zip(curve["radius"], curve["certified_accuracy"], strict=True)
        lines += [
            f"certified  {share:.3f} at the radius {r:.4g}" for r, share in points
        ]
    return "\n".join(lines)


def _radius_in_words(summary: dict) -> str:
    if summary["radius"] is not None:
        return f"the radius trained with, {summary['radius']:.4g}"
    factor = summary["radius_factor"]
    times = "" if factor == 1 else f"{factor:g} times "
    return (
        f"{times}the radius of each row, in the column {summary['radius_column']} "
        f"({summary['smallest_radius']:.4g} to {summary['largest_radius']:.4g})"
    )
