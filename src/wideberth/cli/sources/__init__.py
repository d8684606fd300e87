"""Tables from files of all kinds, or from standard input.

`open_table` is the only place where a data source is read whole; a new kind of source
is one more line there and a module that returns a `Table`. What kind a file is of is
for `wideberth.data.kinds` to say.
"""

from __future__ import annotations

import os

from wideberth.cli.errors import UserError
from wideberth.cli.sources.arrays import read_npy, read_npz
from wideberth.cli.sources.columnar import read_columnar
from wideberth.cli.sources.delimited import read_delimited
from wideberth.cli.sources.libsvm import read_libsvm
from wideberth.cli.sources.streams import Source, open_source
from wideberth.cli.sources.table import Format, Request, Table, refuse_infinite
from wideberth.data import kinds

__all__ = ["FORMATS", "Format", "Request", "Source", "Table", "kind_of", "open_table"]

FORMATS = kinds.KINDS
_READERS = {
    "csv": read_delimited,
    "tsv": read_delimited,
    "parquet": read_columnar,
    "arrow": read_columnar,
    "libsvm": read_libsvm,
    "npz": read_npz,
    "npy": read_npy,
}


def open_table(path: str, request: Request, form: Format) -> tuple[Table, Source]:
    """Read the columns that `request` asks for; say how they were read.

    `path` is a file, a folder of Parquet or Arrow files, or "-" for standard input.
    """
    kind = form.kind or kind_of(path)
    if os.path.isdir(path) and _READERS[kind] is not read_columnar:
        raise UserError(
            f"{path} is a folder of {kind} files; only wideberth fit --memory reads "
            "these as one table. Name one of them."
        )
    with open_source(path) as source:
        source.kind = kind
        table = _READERS[kind](source, request, form)
    refuse_infinite(table, source.name)
    if table.n == 0:
        raise UserError(f"{source.name} holds no rows; there is nothing to work on.")
    return table, source


def kind_of(path: str) -> str:
    """The format that a name stands for; standard input is CSV unless told."""
    kind = "csv" if path == "-" else kinds.kind_of(path)
    if kind is None:
        raise UserError(
            f"{path}: cannot tell the format from this name; say which it is with "
            f"--format {'|'.join(FORMATS)}."
        )
    return kind
