"""`wideberth predict`: the class of every row, and how models are applied to tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from wideberth.cli import output
from wideberth.cli.commands import ApplyOptions, PredictOptions
from wideberth.cli.errors import UserError, blamed_on_data, located
from wideberth.cli.measured import errors_to_apply
from wideberth.cli.model import Model, load_model
from wideberth.cli.prepare import feature_holes
from wideberth.cli.verdicts import verdict_columns
from wideberth.data import Request, Table, open_reader, read_table
from wideberth.data.errors import listed, quoted
from wideberth.problem.error_bars import ErrorBars


def run(options: PredictOptions) -> int:
    """Write the table of predictions, and verdicts where the model gives them."""
    model = load_model(options.model)
    classes = model.classes.tolist()
    with output.Progress(options.json) as progress:
        applied = apply_model(model, options, progress)
    if options.scores:
        scored = classes[1:] if len(classes) == 2 else classes
        none = [None] * len(scored)
        scores = applied.answers(model.pipeline.decision_function)
        rows = (none if row is None else np.atleast_1d(row).tolist() for row in scores)
        applied.headings += [f"score {label}" for label in scored]
        applied.columns += zip(*rows, strict=True)
    summary = {
        "rows": applied.table.n,
        "predicted": int(applied.usable.sum()),
        "classes": classes,
        "certain": applied.certain,
    }
    lines = list(zip(*applied.columns, strict=True))
    output.deliver(options, applied.headings, lines, summary)
    return 0


@dataclass
class Applied:
    """Rows of a table as a model sees them, and the columns of answers to them."""

    table: Table
    X: np.ndarray | sp.csr_array
    usable: np.ndarray  # the others lack a value
    headings: list[str]
    columns: list
    bars: ErrorBars | None = None  # sets of the rows, where those have been read
    cells: np.ndarray | None = None  # standard errors, for models that give verdicts
    certain: int | None = None  # rows with such a verdict, of models that give them

    def answers(self, method: Callable) -> list:
        """What a method of the model says of every row; None of those not usable."""
        if self.cells is None:
            return self._spread(lambda rows: method(self.X[rows]))
        cells = self.cells
        return self._spread(lambda rows: method(self.X[rows], X_err=cells[rows]))

    def reach(self, certified_radius: Callable) -> list:
        """How far every row may be off, in units of its own set where it has one."""
        if self.bars is None:
            return self.answers(certified_radius)
        bars = self.bars
        return self._spread(
            lambda rows: certified_radius(self.X[rows], bars.take(rows))
        )

    def _spread(self, answer: Callable) -> list:
        found: list = [None] * self.table.n
        rows = np.flatnonzero(self.usable)
        if rows.size:
            for row, own in zip(rows, answer(rows).tolist(), strict=True):
                found[row] = own
        return found

    def judge(self, model: Model, confidence: float | None) -> None:
        """Add the verdicts of a model that gives them; empty of rows not usable."""
        found = model.pipeline.verdict(self.X, X_err=self.cells, confidence=confidence)
        self.certain = int((found.certain & self.usable).sum())
        for name, said in verdict_columns(found, model.columns.features).items():
            told = zip(said, self.usable, strict=True)
            self.headings.append(name)
            self.columns.append([own if usable else None for own, usable in told])


def apply_model(
    model: Model,
    options: ApplyOptions,
    progress: output.Progress,
    target: str | None = None,
    radius_column: str | None = None,
    judged: bool = False,
) -> Applied:
    """Read the columns that a model needs by name, and predict the usable rows.

    Target and radii may be absent where they have the names they had in training.
    Errors are read where predictions depend on them, and where rows are `judged`.
    """
    progress.show(f"reading {options.data}")
    source = open_reader(options.data, options.reading())
    if options.confidence is not None and not model.gives_verdicts:
        raise UserError(
            f"--confidence is for verdicts, and {options.model} gives none; train with "
            "--missing model, or leave it out."
        )
    judged = judged or model.gives_verdicts
    errors = errors_to_apply(model.errors, options, source.names, judged)
    aside = [name for name in (options.id, target) if name is not None]
    request = Request(
        texts=(*aside, *model.columns.categories),
        numbers=(
            *(() if radius_column is None else (radius_column,)),
            *(() if errors is None else errors.names),
        ),
        features=model.columns.numeric,
        dates=model.columns.dates,
        optional=frozenset([model.target, model.radius_column or model.target]),
    )
    table = read_table(source, request)
    measured = model.errors is not None
    X = model.columns.encode(table, gaps=model.gives_verdicts, dense=measured)
    usable = np.ones(table.n, dtype=bool)
    if not model.fills_gaps:
        for hole in feature_holes(table, model.columns).values():
            usable &= ~hole
    _tell(~usable, "lack a value", source.name)
    bars = standard = None
    if errors is not None:
        with located(options.data):
            cells = errors.cells(table, model.columns, options.reading())
        cells = errors.filled(cells, X, model.columns)
        lacking = errors.holes(cells)
        _tell(lacking & usable, "lack an error", source.name)
        usable &= ~lacking
        cells = tuple(map(np.nan_to_num, cells))
        if model.gives_verdicts:
            standard = errors.standard(cells)
        else:
            X, bars = errors.sets(cells, X)
    _tell_unseen(model.columns.unseen(table), source.name)
    ids = range(1, table.n + 1) if options.id is None else table.texts[options.id]
    applied = Applied(table, X, usable, [options.id or "row", "prediction"], [ids])
    applied.bars, applied.cells = bars if judged else None, standard
    applied.columns.append(applied.answers(model.pipeline.predict))
    if model.gives_verdicts:
        with blamed_on_data():
            applied.judge(model, options.confidence)
    return applied


def _tell(rows: np.ndarray, why: str, where: str) -> None:
    """Say which rows get no answer."""
    numbers = np.flatnonzero(rows)
    if numbers.size:
        first = ", ".join(str(k + 1) for k in numbers[:5])
        more = ", …" if numbers.size > 5 else ""
        output.warn(
            f"{where}: {numbers.size} of {len(rows)} rows {why} and get no answer "
            f"(rows {first}{more})."
        )


def _tell_unseen(unseen: dict[str, Counter], where: str) -> None:
    """Name categories that the model has not met, and what becomes of their rows."""
    for name, counts in unseen.items():
        values = [value for value, _ in counts.most_common()]
        output.warn(
            f"{where}: column {quoted(name)} of {counts.total()} rows holds "
            f"{listed(values, 3)}, which the model has not met in training; they count "
            "as none of its categories."
        )
