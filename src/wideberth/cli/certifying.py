"""What `wideberth certify` computes."""

from __future__ import annotations

import sys
from argparse import Namespace
from dataclasses import dataclass

import numpy as np

from wideberth.cli.applying import Applied, apply_model
from wideberth.cli.errors import UserError, quoted
from wideberth.cli.evaluate import certain, certified_curve, curve_radii
from wideberth.cli.labels import recognised
from wideberth.cli.model import Model, load_model
from wideberth.cli.progress import Progress
from wideberth.cli.uncertainty import row_radii

__all__ = ["certify_rows", "summary_text"]


def certify_rows(
    options: Namespace, progress: Progress
) -> tuple[list[str], list[list], dict]:
    """Headings and lines of the table, and the summary."""
    model = load_model(options.model)
    target = options.target or model.target
    column = options.radius_column or model.radius_column
    applied = apply_model(model, options, progress, target, column)
    predictions: list = [None] * applied.table.n
    reach: list = [None] * applied.table.n
    rows = np.flatnonzero(applied.usable)
    if rows.size:
        labels = model.pipeline.predict(applied.X[rows])
        radii = model.pipeline.certified_radius(applied.X[rows])
        for row, label, radius in zip(rows, labels.tolist(), radii, strict=True):
            predictions[row], reach[row] = label, float(radius)
    judged = _judged_by(options, model, applied, column)
    headings = [applied.id_name, "prediction", "certified_radius"]
    columns: list = [applied.ids, predictions, reach]
    if judged.each is not None:
        headings.append("radius")
        columns.append([None if r != r else r for r in judged.each.tolist()])
    truth = applied.table.texts.get(target)
    summary: dict = {
        "rows": applied.table.n,
        "certified": len(rows),
        "trained_radius": model.radius,
        **judged.facts,
        **dict.fromkeys(("labelled", "accuracy", "certified_accuracy", "curve")),
    }
    if truth is None:
        if options.curve or options.at:
            raise UserError(
                f"{options.data} has no column {quoted(target)}, and certified "
                "accuracy needs the true classes; name the column with --target."
            )
    else:
        right = [
            None if label is None or found is None else label == found
            for label, found in zip(
                recognised(truth, model.classes.tolist()), predictions, strict=True
            )
        ]
        headings += [target, "correct"]
        columns += [truth.tolist(), right]
        summary |= _accuracy(options, right, reach, judged)
    lines = [list(line) for line in zip(*columns, strict=True)]
    return headings, lines, summary


@dataclass(frozen=True)
class _Judged:
    """The radius that rows are judged by: one, one each, or none."""

    one: float | None
    each: np.ndarray | None
    column: str | None = None
    factor: float = 1.0

    @property
    def facts(self) -> dict:
        """What the summary says about it."""
        known = None if self.each is None else self.each[np.isfinite(self.each)]
        some = known is not None and known.size > 0
        return {
            "radius": self.one,
            "radius_column": self.column,
            "radius_factor": self.factor,
            "smallest_radius": float(known.min()) if some else self.one,  # type: ignore[union-attr]
            "largest_radius": float(known.max()) if some else self.one,  # type: ignore[union-attr]
        }

    def of(self, rows: list[int]) -> float | np.ndarray | None:
        """The radii of some rows, or the one."""
        return self.one if self.each is None else self.each[rows]


def _judged_by(
    options: Namespace, model: Model, applied: Applied, column: str | None
) -> _Judged:
    """The radii to certify at: those of a column, the one trained with, or none."""
    if column in applied.table.numbers:
        radii = row_radii(applied.table, column)
        # A column named here holds the radii themselves; that of training, what was
        # multiplied there.
        factor = model.radius_factor if column == model.radius_column else 1.0
        lacking = int(np.isnan(radii).sum())
        if lacking:
            print(
                f"wideberth: {options.data}: {lacking} of {applied.table.n} rows have "
                f"no radius in the column {quoted(column)} and do not count in the "
                "certified accuracy.",
                file=sys.stderr,
            )
        return _Judged(None, factor * radii, column, factor)
    return _Judged(model.radius, None)


def _accuracy(options: Namespace, right: list, reach: list, judged: _Judged) -> dict:
    known = [k for k, correct in enumerate(right) if correct is not None]
    if not known:
        raise UserError(
            f"{options.data}: no row has both a prediction and a class, so there is no "
            "accuracy."
        )
    correct = np.array([right[k] for k in known], dtype=bool)
    radii = np.array([reach[k] for k in known], dtype=float)
    radius = judged.of(known)
    if radius is None and options.at is None:
        raise UserError(
            f"{options.model} was trained with a radius for each row, and "
            f"{options.data} does not hold those of its rows; name the column that "
            "does with --radius-column, or give radii to certify at with --at."
        )
    share = None
    if radius is not None:
        told = np.isfinite(np.broadcast_to(radius, correct.shape))
        if told.any():
            share = float(certain(correct, radii, radius)[told].mean())
    marked = 0.0 if judged.one is None else judged.one
    grid = np.array(options.at) if options.at else curve_radii(radii, marked)
    curve = certified_curve(correct, radii, grid)
    return {
        "labelled": len(known),
        "accuracy": float(correct.mean()),
        "certified_accuracy": share,
        "curve": {"radius": grid.tolist(), "certified_accuracy": curve.tolist()},
    }


def summary_text(summary: dict) -> str:
    """Lines for people."""
    lines = [f"{summary['certified']} of {summary['rows']} rows certified"]
    if summary["accuracy"] is not None:
        lines.append(
            f"accuracy   {summary['accuracy']:.3f} of {summary['labelled']} rows with "
            "a class"
        )
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
