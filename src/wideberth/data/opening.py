"""What users may give for data that is not one array in memory, and what reads it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from wideberth.data.arrays import ArrayReader, MappedRows, open_arrays
from wideberth.data.columnar import ColumnarReader
from wideberth.data.delimited import DelimitedReader
from wideberth.data.errors import DataError, listed
from wideberth.data.libsvm import LABEL, LibsvmReader
from wideberth.data.memory import parse_bytes, room
from wideberth.data.sources import ArraySource, ChunkSource, Source, TableSource
from wideberth.data.streams import File, explained, kind_of
from wideberth.data.table import Format, Reader, Request, Table
from wideberth.problem.arrays import is_dask, is_foreign
from wideberth.problem.limits import CACHED_ENTRIES


def is_scaled(X, y=None, memory=None) -> bool:
    """Whether data is read in chunks: not one NumPy array, SciPy matrix or frame."""
    if isinstance(X, np.memmap):
        return memory is not None and X.nbytes > parse_bytes(memory)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return False
    if isinstance(X, str | PathLike | Source) or is_dask(X):
        return True
    if is_foreign(X):  # a small one is solved as a NumPy copy of it
        return X.ndim == 2 and X.shape[0] * X.shape[1] > CACHED_ENTRIES
    if y is not None or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return False  # rows; without y that will be an error
    return callable(X) or hasattr(X, "__iter__")


def refuse_errors_elsewhere(X_err, X, scaled: bool = False) -> None:
    """Refuse error bars unless they and X, which may be `scaled`, are in memory."""
    for name, values in {"X": X, "X_err": X_err}.items():
        chunks = isinstance(values, str | PathLike | Source) or is_dask(values)
        if chunks or is_foreign(values) or (scaled and values is X):
            raise ValueError(
                "X_err is for data in memory, as NumPy or SciPy arrays or frames; "
                f"{name} is a {type(values).__name__}, read in chunks or kept by "
                "another library. Load it into such an array, or give radius and noise "
                "in place of X_err."
            )


def names_values(X, value) -> bool:
    """Whether a value beside X is the name of a column or a file, not a number."""
    return isinstance(X, str | PathLike) and isinstance(value, str | PathLike)


def beside_errors(X, X_err):
    """Data in chunks whose columns are followed by those of their errors.

    Of a table `X_err` names the column of errors of every feature; of Dask arrays it is
    one of the same rows. Returns the data and the columns of a table to read.
    """
    if isinstance(X, str | PathLike):
        if not isinstance(X_err, dict):
            raise DataError(
                f"X is the path {str(X)!r}, so X_err must say which columns of it hold "
                "the errors: a dict of feature to error column, {'mass': 'mass_err'}."
            )
        return X, [*X_err.keys(), *X_err.values()]
    if is_dask(X) and is_dask(X_err) and not hasattr(X, "columns"):
        from dask.array import concatenate

        if X.shape[1] != X_err.shape[1] or X.chunks[0] != X_err.chunks[0]:
            raise DataError(
                f"X_err has shape {X_err.shape} and blocks of {X_err.chunks[0][:3]} … "
                f"rows; it must have those of X, {X.shape} and {X.chunks[0][:3]} …"
            )
        return concatenate([X, X_err], axis=1).rechunk({1: -1}), None
    raise DataError(
        "X_err goes with data in memory, with tables by the names of their columns, "
        "and with Dask arrays beside Dask arrays. Put X and the errors into one table "
        "(Parquet, Arrow, CSV), or load them."
    )


def open_data(
    X, y=None, *, sample_weight=None, radius=None, memory=None, columns=None
) -> Source:
    """Open data that is read in chunks.

    Parameters
    ----------
    X : path, array, Dask collection, iterable or function
        A .npy file; a Parquet, Arrow, Feather, CSV or TSV file, or a folder of them;
        a LIBSVM file; an array of another library, such as PyTorch or CuPy; a Dask
        array or frame; or whatever yields (X, y), (X, y, weight) or (X, y, weight,
        radius) from the start each time it is iterated or called.
    y, sample_weight, radius : optional
        One value per row of X: an array or another .npy file beside a .npy file; the
        name of a column of a table; an array or frame like X beside an array. LIBSVM
        files and iterables bring their own labels.
    memory : int or str, optional
        Bytes that the process may hold, such as "2GB", what it holds already included;
        by default a quarter of the memory that it leaves of the machine's is used
        besides. Data on disk may be any size.
    columns : list of str, optional
        Columns of a table to use as features; by default all others.

    Returns
    -------
    Source
    """
    beside = {"y": y, "weight": sample_weight, "radius": radius}
    given = [name for name, value in beside.items() if value is not None]
    if isinstance(X, Source):
        if given:
            raise DataError(
                f"X is open already, so {' and '.join(given)} must have been given to "
                "open_data with it."
            )
        return X
    if y is None and (isinstance(X, np.memmap) or is_foreign(X)):
        raise DataError("y is missing; give one label per row of X.")
    if isinstance(X, np.memmap):
        reader = ArrayReader("X, a memory map", "npy", MappedRows(X))
        return TableSource(reader, reader.plan(Request()), beside, memory)
    if isinstance(X, str | PathLike):
        return _open_path(Path(X), beside, memory, columns)
    if is_dask(X):
        from wideberth.data.dask import DaskSource

        return DaskSource(X, **beside, memory=memory)
    if is_foreign(X):
        return ArraySource(X, **beside)
    if given:
        raise DataError(
            f"X yields chunks, so {' and '.join(given)} must come with them: "
            "(X, y, weight, radius)."
        )
    return ChunkSource(X, memory)


def _open_path(path: Path, beside: dict, memory, columns) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    room(memory)  # some readers read all of a file
    reader = open_reader(path, Format(), parse_bytes(memory))
    y, request = beside["y"], Request()
    if reader.kind == "npy":
        if y is None:
            raise DataError(f"y is missing; give the labels that go with {path}.")
    elif reader.kind == "libsvm":
        if y not in (None, LABEL):
            raise DataError(
                f"y={y!r} is not a column of {path}; its labels are called {LABEL!r}. "
                "Leave y out."
            )
        request, beside["y"] = Request(texts=(LABEL,)), LABEL
    else:
        if not isinstance(y, str):
            raise DataError(
                f"y={y!r} must be the name of the column of {path} that holds the "
                f"labels; there are {listed(reader.names, 8)}."
            )
        numbers = (beside["weight"], beside["radius"])
        request = Request(
            texts=(y,),
            numbers=tuple(name for name in numbers if name is not None),
            features=None if columns is None else tuple(columns),
        )
    return TableSource(reader, reader.plan(request), beside, memory)


def open_reader(path, form: Format, memory: int | None = None) -> Reader:
    """The reader of a file or folder, or of standard input ("-").

    With `memory`, in bytes, it is to be read piece by piece.
    """
    file, kind = File(path), form.kind or kind_of(path)
    if memory is not None and file.is_compressed:
        raise DataError(
            f"{path} is compressed, and such files are not read in pieces; decompress "
            "it first, or read it whole (without --memory on the command line)."
        )
    if memory is not None and kind == "npz":
        raise DataError(
            f"{path} is an archive, which is not read in pieces; store its arrays as "
            ".npy files: np.save(path, X)."
        )
    if file.is_folder and kind in ("libsvm", "npy", "npz"):
        raise DataError(
            f"{path} is a folder of {kind} files; folders are read of Parquet, Arrow, "
            "CSV and TSV files. Name one of them."
        )
    with explained(file.name):
        if kind in ("csv", "tsv"):
            return DelimitedReader(path, kind, form)
        if kind in ("parquet", "arrow"):
            return ColumnarReader(path, kind)
        if kind == "libsvm":
            return LibsvmReader(path, memory)
        return open_arrays(path, kind, whole=memory is None)


def open_table(path: str, request: Request, form: Format) -> tuple[Table, Reader]:
    """Read the columns that `request` asks for, of all rows; say how they were read."""
    reader = open_reader(path, form)
    return read_table(reader, request), reader


def read_table(reader: Reader, request: Request) -> Table:
    """Read the columns that `request` asks for, of all rows."""
    with explained(reader.name):
        return reader.read(reader.plan(request))
