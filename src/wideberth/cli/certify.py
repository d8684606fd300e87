"""`wideberth certify`: how much noise every prediction withstands."""

from __future__ import annotations

from collections import Counter

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
from wideberth.data.errors import agree, counted, listed, meant, quoted, visible

#: What a summary says as far as it is known.
_TOLD = (
    *("radius", "radius_column", "radius_factor", "smallest_radius", "largest_radius"),
    *("labelled", "accuracy", "certified_accuracy", "curve", "expected_changes"),
    *("certain", "accuracy_of_certain"),
)


def run(options: CertifyOptions) -> int:
    """Write the table of certified radii, and the curve of certified accuracy."""
    model = open_model(options.model)
    if model.predicts_numbers:
        within = "an interval about" if model.measured else "how far noise moves"
        raise UserError(
            f"{options.model} predicts numbers, and certify is for classes; wideberth "
            f"predict writes {within} every prediction (low, high)."
        )
    target = options.target or model.target
    column = options.radius_column or model.radius_column
    radii = {"--radius-column": options.radius_column, "--curve": options.curve}
    for name, given in (radii | {"--at": options.at}).items():
        if given and model.gives_verdicts:
            raise UserError(
                f"{name} is for certified radii, and {options.model} gives verdicts "
                "instead; leave it out. --confidence says how sure they must be."
            )
    summary: dict = {
        "rows": 0,
        "certified": 0,
        "trained_radius": model.radius,
        **dict.fromkeys(_TOLD),
    }
    tally = _Tally(options, model, target, column)
    with output.Lines(options) as lines:
        for applied in apply_model(model, options, target, column, judged=True):
            tally.add(applied)
            lines.add(applied.headings, applied.columns)
            applied.count(summary, "certified")
        tally.tell_strange()
        files: list = []
        if model.gives_verdicts:
            words = tally.tell_verdicts(summary)
        else:
            summary |= tally.radii_told() | tally.accuracy()
            if model.gives_chances:
                summary["expected_changes"] = tally.changes
            words = _in_words(summary, len(model.classes))
        if options.curve:
            headings = ["radius", "certified_accuracy"]
            columns = (summary["curve"][heading] for heading in headings)
            rows = zip(*columns, strict=True)
            text = output.table_text(headings, rows, options.curve)
            files.append((options.curve, text))
        lines.deliver("predictions", summary, words, files)
    return 0


class _Tally:
    """What is kept of the rows, for the accuracy: a few bytes of each."""

    def __init__(
        self, options: CertifyOptions, model: Model, target: str, column: str | None
    ):
        self.options, self.model = options, model
        self.target, self.column = target, column
        self.classes = set(map(str, model.classes.tolist()))
        #: Other classes, and how many rows are of them.
        self.strange: Counter = Counter()
        #: How many rows are expected to change class under errors of the stated size.
        self.changes = 0.0
        self.labelled = False  # whether there is a column of classes
        self.radii: list[np.ndarray] = []  # of all rows, where a column has them
        #: Columns of rows with a class, in parts.
        self._kept: list[list[np.ndarray]] = []

    def add(self, applied: Applied) -> None:
        """Certify some rows, and compare them with their classes."""
        if self.model.gives_verdicts:
            said = applied.columns[applied.headings.index("verdict")]
            beside = [np.array([verdict == "certain" for verdict in said])]
        else:
            reach = applied.reach(self.model.fitted.certified_radius)
            applied.add_columns({"certified_radius": reach})
            if self.model.gives_chances:
                chances = applied.reach(self.model.fitted.chance_of_change)
                applied.add_columns({"chance_of_change": chances})
                self.changes += sum(filter(None, chances))
            beside = [np.array(reach, dtype=float)]
            if self.column in applied.table.numbers:
                with located(self.options.data):
                    radius = row_radii(applied.table, str(self.column))
                self.radii.append(radius)
                radius = self.factor * radius
                told = [None if r != r else r for r in radius.tolist()]
                applied.add_columns({"radius": told})
                beside.append(radius)
        if self.target in applied.table.texts:
            right, known = self._compare(applied)
            parts = [right, *(own[known] for own in beside)]
            self._kept = self._kept or [[] for _ in parts]
            for kept, part in zip(self._kept, parts, strict=True):
                kept.append(part)
        elif self.options.curve or self.options.at:
            raise UserError(
                f"{self.options.data} has no column {quoted(self.target)}, and "
                "certified accuracy needs the true classes; name the column with "
                "--target."
            )

    @property
    def factor(self) -> float:
        """On a column of radii: those of training were multiplied there."""
        own = bool(self.radii) and self.column == self.model.radius_column
        return self.model.radius_factor if own else 1.0

    @property
    def radius(self) -> float | None:
        """That trained with, unless a column has those of the rows."""
        return None if self.radii else self.model.radius

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
        options, radius = self.options, self.radius
        if not self.labelled:
            return {}
        correct, reach, *own = self._all()
        if not correct.size:
            raise UserError(
                f"{options.data}: no row has both a prediction and a class, so there "
                "is no accuracy."
            )
        if radius is None and not self.radii and not options.at:
            raise UserError(
                f"{options.model} was trained with a radius for each row, and "
                f"{options.data} has no column of radii; name one with "
                "--radius-column, or give radii with --at."
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
                ("accuracy_of_certain", right[sure], "certain row", "certain rows"),
            ):
                if rows.size:
                    summary[name] = float(rows.mean())
                    of = f"{len(rows)} {agree(len(rows), *about)}"
                    lines.append(f"accuracy   {percent(summary[name])} of {of}")
        return "\n".join(lines)

    def _all(self) -> list[np.ndarray]:
        """The columns of all rows; their parts are given up for it."""
        whole = []
        while self._kept:
            whole.append(np.concatenate(self._kept.pop(0)))
        return whole

    def radii_told(self) -> dict:
        """What the summary says of radii; rows without one are warned of."""
        if not self.radii:
            ends = dict.fromkeys(("smallest_radius", "largest_radius"), self.radius)
            return {"radius": self.radius, "radius_factor": 1.0, **ends}
        radii = self.factor * np.concatenate(self.radii)
        known = radii[np.isfinite(radii)]
        if lack := radii.size - known.size:
            output.warn(
                f"{self.options.data}: {lack} of {counted(radii.size, 'row')} "
                f"{agree(lack, 'has', 'have')} no radius in the column "
                f"{quoted(self.column)} and {agree(lack, 'does', 'do')} not count in "
                "the certified accuracy."
            )
        return {
            "radius_column": self.column,
            "radius_factor": self.factor,
            "smallest_radius": float(known.min()) if known.size else None,
            "largest_radius": float(known.max()) if known.size else None,
        }


def _in_words(summary: dict, n_classes: int) -> str:
    n = summary["certified"]
    has = agree(n, "has a certified radius", "have certified radii")
    lines = [f"{n} of {counted(summary['rows'], 'row')} {has}"]
    if summary["accuracy"] is not None:
        about = f"of {counted(summary['labelled'], 'row')} with a class"
        lines.append(f"accuracy   {percent(summary['accuracy'])} {about}")
    if summary["certified_accuracy"] is not None:
        if summary["radius"] is not None:
            told = f"the training radius, {summary['radius']:.4g}"
        else:
            factor, column = summary["radius_factor"], summary["radius_column"]
            times = "" if factor == 1 else f"{factor:g} times "
            low, high = summary["smallest_radius"], summary["largest_radius"]
            told = f"{times}the radius of each row, in the column {visible(column)} "
            told += f"({low:.4g} to {high:.4g})"
        share = percent(summary["certified_accuracy"])
        lines.append(f"certified  {share} right at {told}")
    elif summary["curve"] is not None:
        curve = summary["curve"]
        points = zip(curve["radius"], curve["certified_accuracy"], strict=True)
        lines += [
            f"certified  {percent(share)} right at radius {r:.4g}"
            for r, share in points
        ]
    if (changes := summary["expected_changes"]) is not None and n:
        most = "at most " if n_classes > 2 else ""
        lines.append(
            "chance     fresh normal errors of the stated size change "
            f"{most}{percent(changes / n)} of the classes"
        )
    return "\n".join(lines)
