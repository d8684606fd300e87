"""Parquet files, and folders of them, through pyarrow (extra `cli`)."""

from __future__ import annotations

import os

import numpy as np

from wideberth.cli.errors import UserError, listed, require
from wideberth.cli.sources.room import check_room
from wideberth.cli.sources.streams import Source
from wideberth.cli.sources.table import Format, Request, Table, as_texts, check_names

__all__ = ["read_parquet"]


def read_parquet(source: Source, request: Request, form: Format) -> Table:
    """Read the columns asked for, column by column."""
    require("pyarrow", "a Parquet file")
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    try:
        if os.path.isdir(source.path):
            folder = ds.dataset(source.path, format="parquet")
            schema, read = folder.schema, lambda names: folder.to_table(columns=names)
            rows = folder.count_rows()
        else:
            file = pq.ParquetFile(source.whole())
            schema, read = file.schema_arrow, lambda names: file.read(columns=names)
            rows = file.metadata.num_rows
        check_names(schema.names, source.name, request.dropped)
        plan = request.plan(schema.names, source.name)
        wanted = [*plan.features, *plan.numbers]
        _refuse_text([n for n in wanted if not _numeric(schema.field(n).type)], source)
        check_room(8 * rows * len([*wanted, *plan.texts]), source.name)
        X = np.empty((0, 0))
        for j, name in enumerate(plan.features):
            values = _numbers(read([name]).column(0))
            if j == 0:
                X = np.empty((len(values), len(plan.features)))
            X[:, j] = values
        texts = {n: as_texts(_objects(read([n]).column(0))) for n in plan.texts}
        numbers = {n: _numbers(read([n]).column(0)) for n in plan.numbers}
        if {len(column) for column in (*texts.values(), *numbers.values())} - {len(X)}:
            raise ValueError("its columns differ in length")
        return Table(plan.features, X, texts, numbers)
    except (pa.ArrowException, ValueError, OSError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise UserError(f"{source.name} cannot be read as Parquet: {reason}.") from None


def _numeric(kind) -> bool:
    import pyarrow.types as types

    return any(
        test(kind)
        for test in (
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_decimal,
            types.is_null,
        )
    )


def _refuse_text(columns: list[str], source: Source) -> None:
    if columns:
        raise UserError(
            f"{source.name}: {listed(columns)} hold no numbers, and features must be "
            "numbers; leave them out with --drop, or turn them into columns of 0 and "
            "1 with --one-hot."
        )


def _numbers(column) -> np.ndarray:
    """A column as float64, null as NaN."""
    import pyarrow as pa

    return column.cast(pa.float64()).to_numpy()


def _objects(column) -> np.ndarray:
    values = np.empty(len(column), dtype=object)
    values[:] = column.to_pylist()
    return values
