"""From DATA to a table, before the libraries that train are loaded.

What is wrong with a file, its columns or its cells is said without waiting for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wideberth.cli.errors import blamed_on_data
from wideberth.cli.options import TrainingOptions
from wideberth.cli.output import Progress, warn
from wideberth.data import Request
from wideberth.data.memory import parse_bytes, room
from wideberth.data.opening import open_reader, read_table
from wideberth.data.table import Reader, Table, gap_codes

if TYPE_CHECKING:
    from wideberth.cli.measured import ErrorColumns


@dataclass
class Opened:
    """A file, what the options mean by its columns, and its rows if they are read."""

    options: TrainingOptions
    reader: Reader
    errors: ErrorColumns | None = None  # where the errors of features are
    unused: tuple[str, ...] = ()  # columns with errors of what is no feature
    table: Table | None = None

    @property
    def request(self) -> Request:
        """Which columns to read."""
        options, errors = self.options, self.errors
        texts = (options.target, options.replicates, options.id, *options.one_hot)
        numbers = (options.radius_column, options.weight_column)
        known = () if errors is None else errors.names
        return Request(
            texts=tuple(name for name in texts if name is not None),
            numbers=(*(name for name in numbers if name is not None), *known),
            dropped=(*options.drop, *self.unused),
            dates=options.reading.dates,
        )


def open_training_data(options: TrainingOptions) -> Opened:
    """Open DATA, and read it unless it is to be read in pieces."""
    options = options.with_target()
    memory = getattr(options, "memory", None)
    with blamed_on_data():
        if memory is not None:
            room(memory)  # some readers read all of a file
        limit = None if memory is None else parse_bytes(memory)
        reader = open_reader(options.data, options.reading.as_format(), limit)
        opened = Opened(options.with_columns(reader), reader)
    if options.errors is not None:
        from wideberth.cli.measured import find_error_columns

        found = find_error_columns(opened.options, reader.others(()))
        opened.errors, opened.unused = found
    if memory is None:
        with Progress(options.json) as progress:
            reader.watch = progress.reading(options.data)
            opened.table = read_table(reader, opened.request)
        reader.remarks += gap_codes(opened.table, reader)
    for remark in reader.remarks:
        warn(remark)
    return opened
