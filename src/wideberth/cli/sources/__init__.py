"""Tables from files: CSV, TSV, Parquet, LIBSVM and .npz, or from standard input.

`open_table` is the only place where a data source is opened; a new kind of source is
one more line there and a module that returns a `Table`.
"""

from __future__ import annotations

import os
from pathlib import Path

from wideberth.cli.errors import UserError
from wideberth.cli.sources.arrays import read_npz
from wideberth.cli.sources.delimited import read_delimited
from wideberth.cli.sources.libsvm import read_libsvm
from wideberth.cli.sources.parquet import read_parquet
from wideberth.cli.sources.streams import Source, open_source
from wideberth.cli.sources.table import Format, Request, Table, refuse_infinite

__all__ = ["FORMATS", "Format", "Request", "Source", "Table", "kind_of", "open_table"]

FORMATS = ("csv", "tsv", "parquet", "libsvm", "npz")
_READERS = {
    "csv": read_delimited,
    "tsv": read_delimited,
    "parquet": read_parquet,
    "libsvm": read_libsvm,
    "npz": read_npz,
}
_SUFFIXES = {
    ".csv": "csv",
    ".txt": "csv",
    ".dat": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".npz": "npz",
}
_COMPRESSED = (".gz", ".bz2", ".xz")


def open_table(path: str, request: Request, form: Format) -> tuple[Table, Source]:
    """Read the columns that `request` asks for; say how they were read.

    `path` is a file, a folder of Parquet files, or "-" for standard input.
    """
    kind = form.kind or kind_of(path)
    with open_source(path) as source:
        source.kind = kind
        table = _READERS[kind](source, request, form)
    refuse_infinite(table, source.name)
    if table.n == 0:
        raise UserError(f"{source.name} holds no rows; there is nothing to work on.")
    return table, source


def kind_of(path: str) -> str:
    """The format that a name stands for; standard input is CSV unless told."""
    if path == "-":
        return "csv"
    if os.path.isdir(path):
        return "parquet"
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = _SUFFIXES.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise UserError(
            f"{path}: cannot tell the format from this name; say which it is with "
            f"--format {'|'.join(FORMATS)}."
        )
    return kind
