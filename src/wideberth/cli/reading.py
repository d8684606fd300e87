"""From a table to rows with radii.

With --memory the rows stay in their file and are read in pieces; see `Rows`.
"""

from __future__ import annotations

from dataclasses import replace

from wideberth.cli.errors import UserError, blamed_on_data, located
from wideberth.cli.measured import ErrorColumns
from wideberth.cli.population import of_population
from wideberth.cli.prepare import (
    Columns,
    PreparedRows,
    label_values,
    row_counts,
    training_rows,
)
from wideberth.cli.tables import Opened
from wideberth.cli.uncertainty import (
    Uncertainty,
    averaged,
    in_errors,
    measured,
    of_columns,
    of_rows,
)
from wideberth.data.errors import listed
from wideberth.data.sources import TableSource, error_names, named_errors
from wideberth.data.table import Plan

#: Most different labels that are kept in mind while a column is read; no classifier has
#: as many classes, and a column of measurements would fill the memory (a choice).
_TOO_MANY = 100_000


def training_data(opened: Opened) -> tuple[PreparedRows, Uncertainty]:
    """Rows of a table to train on, and how far they may be off."""
    options, errors, table = opened.options, opened.errors, opened.table
    assert table is not None
    with located(opened.reader.name):
        rows = training_rows(table, options)
        if options.measured:
            rows, given = of_population(options, errors, table, rows)
        elif errors is not None:
            rows, given = measured(options, errors, table, rows)
        else:
            find = of_rows if options.replicates is None else averaged
            rows, given = find(options, table, rows)
    if (named := options.id or options.replicates) is not None:
        rows = replace(rows, names=table.texts[named][rows.kept])
    opened.table = None  # rows are held once
    return rows, given


def data_in_pieces(opened: Opened, memory: str) -> tuple[PreparedRows, Uncertainty]:
    """The same of a file that is never held whole; only its labels are read here."""
    options, reader, errors = opened.options, opened.reader, opened.errors
    distinct: set[str] = set()
    n = 0
    with blamed_on_data():
        plan = reader.plan(opened.request)
        tables: list[list[str | None]] = []
        if errors is not None:
            plan, tables = _measured_in_pieces(opened, errors, plan)
        target = str(options.target)
        beside = {"y": target, "radius": options.radius_column}
        beside["weight"] = options.weight_column
        source = TableSource(reader, plan, beside, memory, errors=tables, texts=True)
        for texts, _ in source.labels():
            distinct.update(texts.tolist())
            n += len(texts)
            if len(distinct) > _TOO_MANY:
                raise UserError(
                    f"{reader.name}: the target column holds more than {_TOO_MANY} "
                    f"different values ({listed(distinct, 3)}); it must hold a class."
                )
    with located(reader.name):
        source.values = label_values(distinct, n, target)
    names = tuple(plan.features[: source.d])
    columns = Columns(names, dates=plan.dates)
    given = of_columns(options, columns)
    if errors is not None:
        exact = [name for name in names if name not in errors.columns]
        facts = {"errors": None, "exact": exact, "errors_filled_in": 0}
        given = in_errors(options, errors, facts)
    given.radius = None if source.brings_radii else given.radius
    return PreparedRows(source, None, columns, row_counts(n)), given


def _measured_in_pieces(
    opened: Opened, errors: ErrorColumns, plan: Plan
) -> tuple[Plan, list[list[str | None]]]:
    """What to read of a table, and the columns that hold the errors of features."""
    if errors.file is not None:
        raise UserError(
            "--errors with a file of its own needs the whole table; put the errors "
            "into the table, or leave out --memory."
        )
    own: dict = dict.fromkeys(plan.features)
    own |= {name: (columns[0], columns[-1]) for name, columns in errors.columns.items()}
    tables = named_errors(own, opened.options.data)
    numbers = dict.fromkeys((*plan.numbers, *error_names(tables)))
    return replace(plan, numbers=tuple(numbers)), tables
