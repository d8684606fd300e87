"""What `wideberth certify` computes."""

from __future__ import annotations

from argparse import Namespace

import numpy as np

from wideberth.cli.applying import apply_model
from wideberth.cli.errors import UserError, quoted
from wideberth.cli.evaluate import certified_curve, curve_radii
from wideberth.cli.model import load_model
from wideberth.cli.progress import Progress

__all__ = ["certify_rows", "summary_text"]


def certify_rows(
    options: Namespace, progress: Progress
) -> tuple[list[str], list[list], dict]:
    """Headings and lines of the table, and the summary."""
    target = options.target or load_model(options.model).target
    applied = apply_model(options, progress, target)
    model, usable = applied.model, applied.usable
    predictions: list = [None] * applied.table.n
    reach: list = [None] * applied.table.n
    rows = np.flatnonzero(usable)
    if rows.size:
        labels = model.pipeline.predict(applied.X[rows])
        radii = model.pipeline.certified_radius(applied.X[rows])
        for row, label, radius in zip(rows, labels.tolist(), radii, strict=True):
            predictions[row], reach[row] = label, float(radius)
    headings = [applied.id_name, "prediction", "certified_radius"]
    lines = [list(line) for line in zip(applied.ids, predictions, reach, strict=True)]
    summary: dict = {
        "rows": applied.table.n,
        "certified": len(rows),
        "trained_radius": model.radius,
    }
    truth = applied.table.texts.get(target)
    if truth is None:
        if options.curve or options.at:
            raise UserError(
                f"{options.data} has no column {quoted(target)}, and certified "
                "accuracy needs the true classes; name the column with --target."
            )
        return headings, lines, summary
    right = [
        None if text is None or label is None else str(label) == text
        for text, label in zip(truth, predictions, strict=True)
    ]
    for line, text, correct in zip(lines, truth, right, strict=True):
        line += [text, correct]
    summary.update(_accuracy(options, right, reach, model.radius))
    return [*headings, target, "correct"], lines, summary


def _accuracy(options: Namespace, right: list, reach: list, radius: float) -> dict:
    known = [k for k, correct in enumerate(right) if correct is not None]
    if not known:
        raise UserError(
            f"{options.data}: no row has both a prediction and a class, so there is no "
            "accuracy."
        )
    correct = np.array([right[k] for k in known], dtype=bool)
    radii = np.array([reach[k] for k in known], dtype=float)
    grid = np.array(options.at) if options.at else curve_radii(radii, radius)
    curve = certified_curve(correct, radii, grid)
    return {
        "labelled": len(known),
        "accuracy": float(correct.mean()),
        "certified_accuracy": float(certified_curve(correct, radii, [radius])[0]),
        "curve": {"radius": grid.tolist(), "certified_accuracy": curve.tolist()},
    }


def summary_text(summary: dict) -> str:
    """Lines for people."""
    lines = [f"{summary['certified']} of {summary['rows']} rows certified"]
    if "accuracy" in summary:
        lines += [
            f"accuracy   {summary['accuracy']:.3f} of {summary['labelled']} rows with "
            "a class",
            f"certified  {summary['certified_accuracy']:.3f} at the radius trained "
            f"with, {summary['trained_radius']:.4g}",
        ]
    return "\n".join(lines)
