"""From DATA to a table, before the libraries that train are loaded.

What is wrong with a file, its columns or its cells is said without waiting for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from wideberth.cli.errors import blamed_on_data
from wideberth.cli.options import AUTO, FitOptions
from wideberth.cli.output import Progress, warn
from wideberth.data import DataError, Request
from wideberth.data.opening import open_reader, read_table
from wideberth.data.table import Reader, Table, gap_codes

if TYPE_CHECKING:
    from wideberth.cli.uncertainty import ErrorColumns


@dataclass
class Opened:
    """A file, what the options mean by its columns, and its rows if they are read."""

    options: FitOptions
    reader: Reader
    errors: ErrorColumns | None = None  # where the errors of features are
    unused: tuple[str, ...] = ()  # columns with errors of what is no feature
    target_errors: tuple[str, ...] = ()  # columns with errors of the target, if wanted
    table: Table | None = None

    @property
    def request(self) -> Request:
        """Which columns to read."""
        options, errors = self.options, self.errors
        texts = (options.target, options.replicates, options.id, *options.one_hot)
        numbers = (options.radius_column, options.weight_column)
        known = () if errors is None else errors.names
        known = (*known, *self.target_errors)
        return Request(
            texts=tuple(name for name in texts if name is not None),
            numbers=(*(name for name in numbers if name is not None), *known),
            dropped=(*options.drop, *self.unused),
            dates=options.read.dates,
            limits=options.limits or options.limits is not None,
        )


def _gaps_too(opened: Opened) -> str:
    """What a table with text will need beside --one-hot auto, in the same message."""
    options, reader = opened.options, opened.reader
    if options.one_hot or options.measured or options.missing is not None:
        return ""
    asked = replace(options, one_hot=(AUTO,))
    opened = replace(opened, options=asked.with_columns(reader))
    try:
        table = read_table(reader, opened.request)
    except DataError:
        return ""
    if sp.issparse(table.X):
        return ""
    gaps = int(np.isnan(table.X).any(axis=1).sum())
    if 10 * gaps <= table.n:
        return ""
    return (
        f" {gaps} of {table.n} rows lack numbers as well; add --missing median to fill "
        "them in."
    )


def open_training_data(options: FitOptions) -> Opened:
    """Open DATA, and read it unless it is to be read in pieces."""
    options = options.with_target()
    memory = options.memory
    with blamed_on_data():
        reader = open_reader(options.data, options.read, memory)
        opened = Opened(options.with_columns(reader), reader)
    if options.errors is not None:
        from wideberth.cli.uncertainty import find_error_columns

        found = find_error_columns(opened.options, reader.others(()))
        opened.errors, opened.unused, opened.target_errors = found
    elif options.limits is not None:
        from wideberth.cli.uncertainty import ErrorColumns

        opened.errors = ErrorColumns({})
    if memory is None:
        with Progress(options.json) as progress:
            reader.watch = progress.reading(options.data)
            try:
                opened.table = read_table(reader, opened.request)
            except DataError as error:
                raise DataError(f"{error}{_gaps_too(opened)}") from None
        reader.remarks += gap_codes(opened.table, reader)
    for remark in reader.remarks:
        warn(remark)
    return opened
