"""`wideberth certify`: how much noise every prediction withstands."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from wideberth.cli import output
from wideberth.cli.errors import UserError, located
from wideberth.cli.model import Model, open_model
from wideberth.cli.options import CertifyOptions
from wideberth.cli.output import percent
from wideberth.cli.predict import Applied, apply_model
from wideberth.cli.prepare import recognised
from wideberth.cli.training import certain, curve_radii
from wideberth.cli.uncertainty import row_radii
from wideberth.data.errors import agree, counted, listed, meant, quoted
from wideberth.data.table import Table

#: What a summary says as far as it is known.
_TOLD = (
    *("radius", "radius_column", "radius_factor", "smallest_radius", "largest_radius"),
    *("labelled", "accuracy", "certified_accuracy", "curve"),
    *("certain", "accuracy_of_certain"),
)


def run(options: CertifyOptions) -> int:
    """Write the table of certified radii, and the curve of certified accuracy."""
    model = open_model(options.model)
    if model.predicts_numbers:
        within = "an interval about" if model.measured else "how far noise moves"
        raise UserError(
            f"{options.model} predicts numbers, which have no class to lose: wideberth "
            f"predict writes {within} every prediction (low, high)."
        )
    target = options.target or model.target
    column = options.radius_column or model.radius_column
    if model.gives_verdicts:
        _refuse_radii(options)
    summary: dict = {
        "rows": 0,
        "certified": 0,
        "trained_radius": model.radius,
        **dict.fromkeys(_TOLD),
    }
    tally = _Tally(options, model, target)
    with output.Lines(options) as lines:
        for applied in apply_model(model, options, target, column, judged=True):
            if model.gives_verdicts:
                tally.add_verdicts(applied)
            else:
                tally.add(applied, column)
            lines.add(applied.headings, applied.columns)
            applied.count(summary, "certified")
        tally.tell_strange()
        files: list = []
        if model.gives_verdicts:
            words = tally.tell_verdicts(summary)
        else:
            summary |= tally.radii.told(options, column) | tally.accuracy()
            words = _in_words(summary)
        if options.curve:
            headings = ["radius", "certified_accuracy"]
            columns = (summary["curve"][heading] for heading in headings)
            text = output.table_text(headings, zip(*columns, strict=True))
            files.append((options.curve, text))
        lines.deliver("predictions", summary, words, files)
    return 0


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


class _Tally:
    """What is kept of rows with a class, for the accuracy: a few bytes of each."""

    def __init__(self, options: CertifyOptions, model: Model, target: str):
        self.options, self.model, self.target = options, model, target
        self.radii = _CertifiedAt(model)
        self.classes = set(map(str, model.classes.tolist()))
        self.strange: Counter = (
            Counter()
        )  # other classes, and how many rows are of them
        self.labelled = False  # whether there is a column of classes
        self._kept: list[list[np.ndarray]] = []  # columns, in parts

    def add(self, applied: Applied, column: str | None) -> None:
        """Certify some rows, and compare them with their classes."""
        reach = applied.reach(self.model.pipeline.certified_radius)
        radius = self.radii.of(self.options, applied.table, column)
        applied.headings.append("certified_radius")
        applied.columns.append(reach)
        if np.ndim(radius):
            applied.headings.append("radius")
            applied.columns.append([None if r != r else r for r in radius.tolist()])
        options = self.options
        if self.target in applied.table.texts:
            right, known = self._compare(applied)
            sizes = np.array([reach[k] for k in known], dtype=float)
            self._keep(right, sizes, *([radius[known]] if np.ndim(radius) else []))
        elif options.curve or options.at:
            raise UserError(
                f"{options.data} has no column {quoted(self.target)}, and certified "
                "accuracy needs the true classes; name the column with --target."
            )

    def add_verdicts(self, applied: Applied) -> None:
        """Compare some rows, of which there are verdicts, with their classes."""
        if self.target in applied.table.texts:
            verdicts = applied.columns[applied.headings.index("verdict")]
            right, known = self._compare(applied)
            sure = np.array([verdicts[k] == "certain" for k in known], dtype=bool)
            self._keep(right, sure)

    def _compare(self, applied: Applied) -> tuple[np.ndarray, list[int]]:
        """Which predictions are right, of the rows where both are there.

        All are told beside the truth.
        """
        self.labelled = True
        truth = applied.table.texts[self.target].tolist()
        labels = recognised(truth, self.model.classes.tolist())
        named = (str(label) for label in labels if label is not None)
        self.strange.update(name for name in named if name not in self.classes)
        right = [
            None if label is None or found is None else label == found
            for label, found in zip(labels, applied.columns[1], strict=True)
        ]
        applied.headings += [self.target, "correct"]
        applied.columns += [truth, right]
        known = [k for k, correct in enumerate(right) if correct is not None]
        return np.array([right[k] for k in known], dtype=bool), known

    def tell_strange(self) -> None:
        """Name classes that the model does not know."""
        if self.strange:
            like = meant(self.strange, self.classes) or "."
            n = self.strange.total()
            rows = f"{counted(n, 'row')} {agree(n, 'is', 'are')}"
            output.warn(
                f"{self.options.data}: {rows} of a class that the model does not know, "
                f"{listed(self.strange, 3)}{like} "
                f"{agree(n, 'It counts', 'They count')} as wrong; its classes are "
                f"{listed(sorted(self.classes), 12)}."
            )

    def accuracy(self) -> dict:
        """What the summary says of rows with a class; nothing without such a column."""
        options, radius = self.options, self.radii.one
        if not self.labelled:
            return {}
        correct, reach, *own = self._all()
        if not correct.size:
            raise UserError(
                f"{options.data}: no row has both a prediction and a class, so there "
                "is no accuracy."
            )
        if radius is None and not self.radii.each and not options.at:
            raise UserError(
                f"{options.model} was trained with a radius for each row, and "
                f"{options.data} does not hold those of its rows; name the column that "
                "does with --radius-column, or give radii to certify at with --at."
            )
        one = np.nan if radius is None else radius
        judged = own[0] if own else np.broadcast_to(one, len(correct))
        told = np.isfinite(judged)
        share = certain(correct, reach, judged)[told].mean() if told.any() else None
        grid = np.array(options.at) if options.at else curve_radii(reach, radius or 0.0)
        curve = [float(certain(correct, reach, r).mean()) for r in grid]
        return {
            "labelled": len(correct),
            "accuracy": float(correct.mean()),
            "certified_accuracy": None if share is None else float(share),
            "curve": {"radius": grid.tolist(), "certified_accuracy": curve},
        }

    def tell_verdicts(self, summary: dict) -> str:
        """Say how right verdicts are, in the summary and in words."""
        sure, of = summary["certain"], summary["certified"]
        lines = [f"{sure} of {counted(of, 'row')} {agree(sure, 'is', 'are')} certain"]
        if self.labelled:
            right, sure = self._all()
            summary["labelled"] = len(right)
            for name, rows, *about in (
                ("accuracy", right, "row with a class", "rows with a class"),
                ("accuracy_of_certain", right[sure], "certain one", "certain ones"),
            ):
                if rows.size:
                    summary[name] = float(rows.mean())
                    of = f"{len(rows)} {agree(len(rows), *about)}"
                    lines.append(f"accuracy   {percent(summary[name])} of {of}")
        return "\n".join(lines)

    def _keep(self, *columns: np.ndarray) -> None:
        self._kept = self._kept or [[] for _ in columns]
        for parts, own in zip(self._kept, columns, strict=True):
            parts.append(own)

    def _all(self) -> list[np.ndarray]:
        """The columns of all rows; their parts are given up for it."""
        whole = []
        while self._kept:
            whole.append(np.concatenate(self._kept.pop(0)))
        return whole


class _CertifiedAt:
    """The radii of a column, the one trained with, or none."""

    def __init__(self, model: Model):
        self.model, self.one = model, model.radius
        self.each = False  # whether each row has its own
        self.factor = 1.0
        self.smallest, self.largest = np.inf, -np.inf
        self.n = self.known = 0

    def of(self, options: CertifyOptions, table: Table, column: str | None) -> Any:
        """Those to judge some rows by: one number, one for each row, or None."""
        if column not in table.numbers:
            return self.one
        # A column named here holds the radii themselves; that of training, what was
        # multiplied there.
        if column == self.model.radius_column:
            self.factor = self.model.radius_factor
        with located(options.data):
            radius = self.factor * row_radii(table, column)
        known = radius[np.isfinite(radius)]
        self.one, self.each = None, True
        self.smallest = float(known.min(initial=self.smallest))
        self.largest = float(known.max(initial=self.largest))
        self.n, self.known = self.n + table.n, self.known + known.size
        return radius

    def told(self, options: CertifyOptions, column: str | None) -> dict:
        """What the summary says; rows without a radius are warned of."""
        if lack := self.n - self.known:
            output.warn(
                f"{options.data}: {lack} of {counted(self.n, 'row')} "
                f"{agree(lack, 'has', 'have')} no radius in the column "
                f"{quoted(column)} and {agree(lack, 'does', 'do')} not count in the "
                "certified accuracy."
            )
        ends = (self.smallest, self.largest) if self.known else (None, None)
        return {
            "radius": self.one,
            "radius_column": column if self.each else None,
            "radius_factor": self.factor,
            "smallest_radius": ends[0] if self.each else self.one,
            "largest_radius": ends[1] if self.each else self.one,
        }


def _in_words(summary: dict) -> str:
    lines = [f"{summary['certified']} of {counted(summary['rows'], 'row')} certified"]
    if summary["accuracy"] is not None:
        about = f"of {counted(summary['labelled'], 'row')} with a class"
        lines.append(f"accuracy   {percent(summary['accuracy'])} {about}")
    if summary["certified_accuracy"] is not None:
        share = f"certified  {percent(summary['certified_accuracy'])} at"
        lines.append(f"{share} {_radius_in_words(summary)}")
    elif summary["curve"] is not None:
        curve = summary["curve"]
        points = zip(curve["radius"], curve["certified_accuracy"], strict=True)
        lines += [
            f"certified  {percent(share)} at the radius {r:.4g}" for r, share in points
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
