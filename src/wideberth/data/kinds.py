"""What kind of file a table is in, and what its columns are called if it names none.

Everything that opens a file asks here, so that a file is the same table however it is
read: whole or in pieces, from Python or from the command line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from wideberth.data.errors import DataError
from wideberth.data.streams import HEAD, File, explained

__all__ = ["KINDS", "LABEL", "feature_names", "guess_kind", "kind_of"]

#: The kinds of files that hold tables; "arrow" includes Feather, which is the same.
KINDS = ("csv", "tsv", "parquet", "arrow", "libsvm", "npz", "npy")
#: Stands for a kind that only the content tells: a table of text, or LIBSVM.
_TEXT = "text"
#: What endings of names stand for.
_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": _TEXT,
    ".dat": _TEXT,
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".feather": "arrow",
    ".libsvm": "libsvm",
    ".svm": "libsvm",
    ".svmlight": "libsvm",
    ".npz": "npz",
    ".npy": "npy",
}
#: Kinds of which a folder of files is one table.
_IN_FOLDERS = ("parquet", "arrow", "csv", "tsv")
#: The column of the labels in a LIBSVM file, which has no names.
LABEL = "label"
_COMPRESSED = (".gz", ".bz2", ".xz")
#: A line of a LIBSVM file: a label, which may be missing, and pairs of index:value.
_SPARSE_LINE = re.compile(rb"(?:[^\s:]+|\d+:\S+)(?:\s+\d+:\S+)*")


def kind_of(path: str | PathLike) -> str:
    """The kind of a file or folder, one of `KINDS`; standard input (-) is CSV."""
    kind = "csv" if str(path) == "-" else guess_kind(path)
    if kind is None:
        raise DataError(
            f"{path}: cannot tell the format from this name; known are the endings "
            f"{', '.join(_ENDINGS)}. On the command line say which it is with --format "
            f"{'|'.join(KINDS)}."
        )
    return kind


def guess_kind(path: str | PathLike) -> str | None:
    """The kind of a file or folder; None if it cannot be told.

    The ending of the name decides. Where text of several kinds goes by the same ending
    (.txt, .dat) the first lines do.
    """
    if os.path.isdir(path):
        return _kind_of_folder(Path(path))
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    while suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = _ENDINGS.get(suffixes[-1] if suffixes else "")
    if kind != _TEXT:
        return kind
    return "libsvm" if os.path.isfile(path) and _is_libsvm(path) else "csv"


def _kind_of_folder(folder: Path) -> str:
    """The kind of its files; the first in `_IN_FOLDERS` where there are several."""
    found = {_ENDINGS.get(file.suffix.lower()) for file in folder.rglob("*")}
    return next((kind for kind in _IN_FOLDERS if kind in found), "parquet")


def _is_libsvm(path: str | PathLike) -> bool:
    """Whether the first lines all are `label index:value …`, and some has a pair."""
    try:
        with explained(str(path)), File(path).open() as stream:
            start = stream.read(HEAD)
    except DataError:
        return False  # whoever reads the file will say what is wrong with it
    whole = start[: start.rfind(b"\n") + 1] if len(start) == HEAD else start
    lines = [line.partition(b"#")[0].strip() for line in whole.splitlines()]
    lines = [line for line in lines if line]
    pairs = any(re.search(rb"\s\d+:", line) for line in lines)
    return pairs and all(_SPARSE_LINE.fullmatch(line) for line in lines)


def feature_names(indices: Iterable[int]) -> list[str]:
    """Names of features that have numbers only: x1, x2, … (x0 where they start at 0).

    Columns of arrays count from 1, features of LIBSVM files have their own numbers.
    """
    return [f"x{k}" for k in indices]
