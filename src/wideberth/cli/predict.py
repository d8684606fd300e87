"""`wideberth predict`: the class of every row, and how models are applied to tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from wideberth.cli import output
from wideberth.cli.commands import ApplyOptions, PredictOptions
from wideberth.cli.errors import located
from wideberth.cli.measured import errors_to_apply
from wideberth.cli.model import Model, load_model
from wideberth.cli.prepare import feature_holes
from wideberth.data import Request, Table, open_reader, read_table
from wideberth.problem.error_bars import ErrorBars


def run(options: PredictOptions) -> int:
    """Write the table of predictions."""
    output.check_free([options.out], options.force)
    model = load_model(options.model)
    classes = model.classes.tolist()
    with output.Progress(options.json) as progress:
        applied = apply_model(model, options, progress)
    if options.scores:
        scored = classes[1:] if len(classes) == 2 else classes
        none = [None] * len(scored)
        scores = applied.answers(
            lambda X: model.pipeline.decision_function(X).reshape(X.shape[0], -1)
        )
        rows = (none if row is None else row for row in scores)
        applied.headings += [f"score {label}" for label in scored]
        applied.columns += zip(*rows, strict=True)
    summary = {
        "rows": applied.table.n,
        "predicted": int(applied.usable.sum()),
        "classes": classes,
    }
    lines = list(zip(*applied.columns, strict=True))
    output.deliver(options, applied.headings, lines, summary)
    return 0


@dataclass
class Applied:
    """Rows of a table as a model sees them, and the columns of answers to them."""

    table: Table
    X: np.ndarray | sp.csr_array
    usable: np.ndarray  # the others lack a value, or have a category unknown to it
    headings: list[str]
    columns: list
    bars: ErrorBars | None = None  # sets of the rows, where those have been read

    def answers(self, method: Callable) -> list:
        """What a method of the model says of every row; None of those not usable."""
        return self._spread(lambda rows: method(self.X[rows]))

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
    errors = errors_to_apply(model.errors, options, source.names, judged)
    aside = [name for name in (options.id, target) if name is not None]
    request = Request(
        texts=(*aside, *model.columns.categories),
        numbers=(
            *(() if radius_column is None else (radius_column,)),
            *(() if errors is None else errors.names),
        ),
        features=model.columns.numeric,
        optional=frozenset([model.target, model.radius_column or model.target]),
    )
    table = read_table(source, request)
    X, unknown = model.columns.encode(table)
    usable = ~unknown
    if not any(name == "simpleimputer" for name, _ in model.pipeline.steps):
        for hole in feature_holes(table, model.columns).values():
            usable &= ~hole
    _tell(~usable & ~unknown, "lack a value", source.name)
    bars = None
    if errors is not None:
        with located(options.data):
            cells = errors.cells(table, model.columns, options.reading())
        cells = errors.filled(cells, X, model.columns)
        lacking = errors.holes(cells)
        _tell(lacking & usable, "lack an error", source.name)
        usable &= ~lacking
        X, bars = errors.sets(tuple(map(np.nan_to_num, cells)), X)
    _tell(unknown, "are of a category unknown to the model", source.name)
    ids = range(1, table.n + 1) if options.id is None else table.texts[options.id]
    applied = Applied(table, X, usable, [options.id or "row", "prediction"], [ids])
    applied.bars = bars if judged else None
    applied.columns.append(applied.answers(model.pipeline.predict))
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
