"""From DATA to rows with radii.

With --memory the rows stay in their file and are read in pieces; see `Rows`.
"""

from __future__ import annotations

import os
from dataclasses import replace

from wideberth.cli.commands import FitOptions
from wideberth.cli.errors import UserError, blamed_on_data, located
from wideberth.cli.measured import ErrorColumns, find_error_columns
from wideberth.cli.output import Progress
from wideberth.cli.population import of_population
from wideberth.cli.prepare import (
    Columns,
    Rows,
    label_values,
    row_counts,
    training_rows,
)
from wideberth.cli.training_options import TrainingOptions
from wideberth.cli.uncertainty import (
    Uncertainty,
    averaged,
    in_errors,
    measured,
    of_columns,
    of_rows,
)
from wideberth.data import Reader, Request, TableSource, open_reader, read_table
from wideberth.data.beside import Layout, named_errors
from wideberth.data.errors import listed
from wideberth.data.memory import parse_bytes, room

#: Most different labels that are kept in mind while a column is read; no classifier has
#: as many classes, and a column of measurements would fill the memory (a choice).
_TOO_MANY = 100_000


def read_training_data(
    options: TrainingOptions, progress: Progress
) -> tuple[Rows, Uncertainty, Reader]:
    """Read DATA as the options ask: rows to train on, and how far they may be off."""
    progress.show(f"reading {options.data}")
    reader = open_reader(options.data, options.reading())
    options = options.with_columns(reader)
    errors: ErrorColumns | None = None
    beside: tuple = ()
    if options.errors is not None:
        errors, unused = find_error_columns(options, reader.names)
        beside = (errors.names, unused)
    table = read_table(reader, _request(options, *beside))
    with located(reader.name):
        rows = training_rows(table, options)
        if options.missing == "model":
            rows, given = of_population(options, errors, table, rows)
        elif errors is not None:
            rows, given = measured(options, errors, table, rows)
        else:
            find = of_rows if options.replicates is None else averaged
            rows, given = find(options, table, rows)
    if (named := options.id or options.replicates) is not None:
        rows = replace(rows, names=table.texts[named][rows.kept])
    return rows, given, reader


def open_in_pieces(
    options: FitOptions, progress: Progress
) -> tuple[Rows, Uncertainty, Reader]:
    """The same of a file that is never held whole; only its labels are read here."""
    if not os.path.exists(options.data):
        raise UserError(f"{options.data}: there is no such file.")
    progress.show(f"reading {options.data}")
    distinct: set[str] = set()
    n = 0
    with blamed_on_data():
        room(options.memory)  # some readers read all of a file
        limit = parse_bytes(options.memory)
        reader = open_reader(options.data, options.reading(), limit)
        options = options.with_columns(reader)
        request, layout, target = _request(options), None, str(options.target)
        if options.errors is not None:
            errors, layout, request = _measured_in_pieces(options, reader.names)
        plan = reader.plan(request)
        beside = {"y": target, "radius": options.radius_column}
        beside["weight"] = options.weight_column
        source = TableSource(reader, plan, beside, options.memory, texts=True)
        source.measured(layout)
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
    names = plan.features[: source.d]
    columns = Columns(names, dates=plan.dates)
    given = of_columns(options, columns)
    if layout is not None:
        exact = [name for name in names if name not in errors.columns]
        facts = {"errors": None, "exact": exact, "errors_filled_in": 0}
        given = in_errors(options, errors, facts)
    given.radius = None if source.brings_radii else given.radius
    return Rows(source, None, columns, row_counts(n)), given, reader


def _measured_in_pieces(
    options: TrainingOptions, names: list[str]
) -> tuple[ErrorColumns, Layout, Request]:
    """Where errors are, and what to read of a table with these columns for them."""
    errors, unused = find_error_columns(options, names)
    if errors.file is not None:
        raise UserError(
            "--errors with a file of its own needs the whole table; put the errors "
            "into the table, or leave out --memory."
        )
    aside = {*options.beside(), *unused, *errors.names}
    own: dict = {name: None for name in names if name not in aside}
    own |= {name: (columns[0], columns[-1]) for name, columns in errors.columns.items()}
    features, layout = named_errors(own, options.data)
    return errors, layout, replace(_request(options), features=tuple(features))


def _request(
    options: TrainingOptions,
    errors: tuple[str, ...] = (),
    unused: tuple[str, ...] = (),
) -> Request:
    """Which columns to read; `errors` of the features, and not `unused` ones."""
    texts = (options.target, options.replicates, options.id, *options.one_hot)
    numbers = (options.radius_column, options.weight_column, *errors)
    return Request(
        texts=tuple(name for name in texts if name is not None),
        numbers=tuple(name for name in numbers if name is not None),
        dropped=(*options.drop, *unused),
        dates=options.dates,
    )
