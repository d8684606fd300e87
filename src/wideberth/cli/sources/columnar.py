"""Parquet and Arrow files, and folders of them, through pyarrow (extra `cli`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from wideberth.cli.errors import UserError, listed, require
from wideberth.cli.sources.room import check_room
from wideberth.cli.sources.streams import Source
from wideberth.cli.sources.table import Format, Request, Table, as_texts, check_names
from wideberth.data.tables import as_floats, is_number

__all__ = ["read_columnar"]

_NAMES = {"parquet": "Parquet", "arrow": "Arrow"}


def read_columnar(source: Source, request: Request, form: Format) -> Table:
    """Read the columns asked for, column by column."""
    name = _NAMES[source.kind]
    require("pyarrow", f"a file in {name} format")
    import pyarrow as pa

    try:
        schema, rows, read = _opened(source)
        check_names(schema.names, source.name, request.dropped)
        plan = request.plan(schema.names, source.name)
        wanted = [*plan.features, *plan.numbers]
        _refuse_text([n for n in wanted if not is_number(schema.field(n).type)], source)
        check_room(8 * rows * len([*wanted, *plan.texts]), source.name)
        X = np.empty((0, 0))
        for j, feature in enumerate(plan.features):
            values = as_floats(read([feature]).column(0))
            if j == 0:
                X = np.empty((len(values), len(plan.features)))
            X[:, j] = values
        texts = {n: as_texts(_objects(read([n]).column(0))) for n in plan.texts}
        numbers = {n: as_floats(read([n]).column(0)) for n in plan.numbers}
        if {len(column) for column in (*texts.values(), *numbers.values())} - {len(X)}:
            raise ValueError("its columns differ in length")
        return Table(plan.features, X, texts, numbers)
    except (pa.ArrowException, ValueError, OSError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UserError(f"{source.name} cannot be read as {name}: {reason}.") from None


def _opened(source: Source) -> tuple[Any, int, Callable]:
    """Schema, number of rows, and what reads columns as a table."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    if os.path.isdir(source.path):
        kind = {"parquet": "parquet", "arrow": "ipc"}[source.kind]
        folder = ds.dataset(source.path, format=kind)

        def read(names):
            found = folder.to_table(columns=names)
            found.validate(full=True)
            return found

        return folder.schema, folder.count_rows(), read
    if source.kind == "parquet":
        file = pq.ParquetFile(source.whole())
        rows = file.metadata.num_rows
        return file.schema_arrow, rows, lambda names: file.read(columns=names)
    with source.whole() as stream:
        table = pa.ipc.open_file(pa.py_buffer(stream.read())).read_all()
    table.validate(full=True)  # Arrow files are used as they are, damaged or not
    return table.schema, table.num_rows, table.select


def _refuse_text(columns: list[str], source: Source) -> None:
    if columns:
        raise UserError(
            f"{source.name}: {listed(columns)} hold no numbers, and features must be "
            "numbers; leave them out with --drop, or turn them into columns of 0 and "
            "1 with --one-hot."
        )


def _objects(column) -> np.ndarray:
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values
