"""What users may give for data that is not one array in memory, and what reads it."""

from __future__ import annotations

import logging
import warnings
from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from wideberth.data.arrays import (
    ArrayReader,
    LibsvmReader,
    StoredRows,
    load_npy,
)
from wideberth.data.columnar import ColumnarReader
from wideberth.data.delimited import DelimitedReader
from wideberth.data.errors import DataError, listed, no_columns
from wideberth.data.files import (
    LABEL,
    File,
    Format,
    explained,
    kind_of,
    parse_bytes,
    room,
)
from wideberth.data.sources import (
    ArraySource,
    ChunkSource,
    DaskSource,
    Source,
    TableSource,
    check_errors,
    error_names,
    error_tables,
    named_errors,
    no_labels,
)
from wideberth.data.table import Reader, Request, Table
from wideberth.noise.reading import in_order_of
from wideberth.problem.arrays import is_dask, is_foreign
from wideberth.problem.limits import CACHED_ENTRIES

_log = logging.getLogger(__name__)
#: Kinds of files whose features have no names of their own.
_NAMELESS = ("npy", "libsvm")


def is_scaled(X, y=None) -> bool:
    """Whether data is read in chunks: not one NumPy array, SciPy matrix or frame."""
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return False
    if isinstance(X, str | PathLike | Source) or is_dask(X):
        return True
    if is_foreign(X):  # a small one is solved as a NumPy copy of it
        return X.ndim == 2 and X.shape[0] * X.shape[1] > CACHED_ENTRIES
    if y is not None or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return False  # rows; without y that will be an error
    return callable(X) or hasattr(X, "__iter__")


def errors_in_memory(X_err, X, scaled: bool = False):
    """Error bars in the order of the rows of X; refused unless both are in memory.

    X may be `scaled`, too large for that.
    """
    for name, values in {"X": X, "X_err": X_err}.items():
        chunks = isinstance(values, str | PathLike | Source) or is_dask(values)
        if chunks or is_foreign(values) or (scaled and values is X):
            raise ValueError(
                "X_err is for data in memory, as NumPy or SciPy arrays or frames; "
                f"{name} is a {type(values).__name__}, read in chunks or kept by "
                "another library. Load it into such an array, or give radius and noise "
                "in place of X_err."
            )
    return in_order_of(X_err, X)


def names_values(X, value) -> bool:
    """Whether a value beside X is the name of a column or a file, not a number."""
    return isinstance(X, str | PathLike) and isinstance(value, str | PathLike)


def open_data(
    X, y=None, *, sample_weight=None, radius=None, X_err=None, memory=None, columns=None
) -> Source:
    """Open data that is read in chunks.

    Parameters
    ----------
    X : path, array, Dask collection, iterable or function
        A .npy file; a Parquet, Arrow, Feather, CSV or TSV file, or a folder of them; a
        LIBSVM file; an array of another library, such as PyTorch or CuPy; a Dask array
        or frame; or an iterable or function that yields (X, y), (X, y, weight), (X, y,
        weight, radius) or (X, y, weight, radius, X_err) from the beginning each time;
        weight and radius may be None.
    y, sample_weight, radius : optional
        One value per row of X (not needed to predict): for a .npy file an array or
        another .npy file; for a table the name of a column; for an array an array or
        frame like X. LIBSVM files and iterables contain their labels.
    X_err : optional
        Error bars. For a table or a Dask frame: a dict of feature to error column, to a
        pair (down, up) of columns, or to None; only its features are read. For a .npy
        file: an array or another .npy file of the same shape, or a pair of them. For a
        Dask array: one with the same blocks. For an array of another library: one of
        the same shape. Pairs are not supported for Dask.
    memory : int or str, optional
        Memory that the whole process may hold, such as "2GB". By default it may take a
        quarter of the free memory of the machine in addition. Data on disk may be
        larger.
    columns : list of str, optional
        Columns of a table to use as features; by default all that have no other role.
        The `repr` and the `names` of the result list them, and so does a message of the
        logger "wideberth".

    Returns
    -------
    Source
    """
    beside = {"y": y, "weight": sample_weight, "radius": radius}
    return _open(X, beside, X_err, memory, columns)


def open_rows(
    X, beside: dict, X_err=None, *, memory=None, columns=None, d: int, gaps: bool
) -> Source:
    """Open rows that a model is asked about, which knows d features, maybe by name.

    `beside` may have "y", "weight" and "radius", as `open_data` takes them; `gaps` says
    whether cells may be missing.
    """
    beside = {"y": None, "weight": None, "radius": None} | beside
    if isinstance(X_err, dict) and columns is not None:
        _there(list(X_err), columns, "The model")
        X_err, columns = {name: X_err.get(name) for name in columns}, None
    source = _open(X, beside, X_err, memory, columns, d)
    if isinstance(source, TableSource) and source is not X:
        source.gaps = gaps
    return source


def in_chunks(X) -> bool:
    """Whether X is read in chunks where labels may be missing, so is not rows."""
    if isinstance(X, tuple | list):
        first = X[0] if len(X) else None
        return isinstance(first, tuple | list) and np.ndim(first[0]) == 2
    return not is_foreign(X) and is_scaled(X)


def open_measurements(X, y=None, X_err=None) -> Source:
    """Open data whose cells may be missing (NaN), and its labels too."""
    beside = {"y": y, "weight": None, "radius": None}
    source = _open(X, beside, X_err, None, None)
    source.gaps = True
    return source


def open_labelled(X, y, *, memory=None, X_err=None, **beside) -> Source:
    """Open data to train on, as `open_data` takes it, which must have labels."""
    given = {"y": y, "weight": beside["sample_weight"], "radius": beside["radius"]}
    source = _open(X, given, X_err, memory, None, labelled=True)
    source.require_labels()
    return source


def _open(
    X,
    beside: dict,
    X_err,
    memory,
    columns,
    d: int | None = None,
    labelled: bool = False,
) -> Source:
    """What `open_data` returns; there must be d features, where that is known.

    Tables that must be `labelled` are not looked into further if they are not.
    """
    values = {**beside, "X_err": X_err}
    extras = " and ".join(name for name in values if values[name] is not None)
    if isinstance(X, Source):
        if extras:
            raise DataError(
                f"X is open already, so {extras} must have been given to open_data "
                "with it."
            )
        return X
    if isinstance(X, str | PathLike):
        return _open_path(Path(X), beside, memory, columns, X_err, d, labelled)
    if is_dask(X):
        return _open_dask(X, beside, memory, columns, X_err)
    if is_foreign(X):
        if beside["y"] is None:
            raise DataError("y is missing; give one label per row of X.")
        return ArraySource(X, **beside, X_err=X_err)
    if extras:
        raise DataError(
            f"X yields chunks, so {extras} must come with them: (X, y, weight, radius, "
            "X_err)."
        )
    return ChunkSource(X, memory)


def _error_rows(X_err, rows) -> list:
    """Tables of errors beside an array of rows, which give rows in slices."""
    tables: list = []
    for table in error_tables(X_err):
        if isinstance(table, dict):
            raise DataError(
                "X_err names columns, and those of X have no names; give errors in an "
                "array or a .npy file of the same shape."
            )
        if isinstance(table, str | PathLike):
            if kind_of(table) != "npy":
                raise DataError(
                    f"X_err is the file {table}; beside an array it must be a .npy "
                    "file of the same shape."
                )
            table = StoredRows(table)
        else:
            errors_in_memory(table, None)
            table = table.toarray() if sp.issparse(table) else np.asarray(table)
        check_errors(table, rows.shape)
        tables.append(table)
    return tables


def _open_dask(X, beside: dict, memory, columns, X_err) -> Source:
    frame, errors, names = hasattr(X, "columns"), X_err, None
    if isinstance(X_err, tuple | list):
        raise DataError(
            "X_err is a pair (down, up); beside a Dask collection it must be one error "
            "for every cell, such as the larger of the two."
        )
    if frame and isinstance(X_err, dict):
        tables = named_errors(X_err, "a Dask frame")
        if len(tables) > 1:
            raise DataError(
                "X_err has pairs (down, up) of columns; a Dask frame takes one column "
                "of errors for each feature, such as that of the larger errors."
            )
        errors, columns = tables[0], list(X_err)
    elif X_err is not None and (frame or not is_dask(X_err)):
        raise DataError(
            "X_err goes with a Dask frame by the names of its columns, {'mass': "
            "'mass_err'}, and with a Dask array as another of the same blocks."
        )
    elif X_err is not None and (
        X.shape[1] != X_err.shape[1] or X.chunks[0] != X_err.chunks[0]
    ):
        raise DataError(
            f"X_err has shape {X_err.shape} and blocks of {X_err.chunks[0][:3]} … "
            f"rows; it must have those of X, {X.shape} and {X.chunks[0][:3]} …"
        )
    if frame:
        names = list(X.columns) if columns is None else list(columns)
        aside = error_names([errors] if errors else [])
        X = X[_there([*names, *aside], list(X.columns), "X, a Dask frame,")]
    return DaskSource(X, **beside, memory=memory, errors=errors, names=names)


def _there(wanted: list, names: list, who: str) -> list:
    """The columns wanted, all of which must be there."""
    if absent := [name for name in wanted if name not in names]:
        raise DataError(no_columns(who, absent, names))
    return wanted


def _open_path(
    path: Path, beside: dict, memory, columns, X_err, d: int | None, labelled: bool
) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    reader = open_reader(path, Format(), memory, pieces=True)
    y, request, errors = beside["y"], Request(), []
    guessed = columns is None and X_err is None and reader.kind not in _NAMELESS
    if isinstance(reader, ArrayReader):
        errors = _error_rows(X_err, reader.rows)
    elif isinstance(reader, LibsvmReader):
        if X_err is not None:
            raise DataError(
                f"{path} is a LIBSVM file, which has no place for errors; put X and "
                "the errors into one table (Parquet, Arrow, CSV), or load them."
            )
        if y not in (None, LABEL):
            raise DataError(
                f"y={y!r} is not a column of {path}; its labels are called {LABEL!r}. "
                "Leave y out."
            )
        features = None if d is None else reader.first_features(d)
        request, beside["y"] = Request(texts=(LABEL,), features=features), LABEL
    else:
        if not isinstance(y, str) and (labelled or y is not None):
            raise no_labels(reader, y)
        if X_err is not None:
            if columns is not None:
                raise DataError(
                    "columns and X_err both say which columns are features; name them "
                    "all in X_err, with None for those that are exact."
                )
            errors = named_errors(X_err, f"the path {str(path)!r}")
            columns = list(X_err)
        numbers = (beside["weight"], beside["radius"], *error_names(errors))
        request = Request(
            texts=() if y is None else (y,),
            numbers=tuple(name for name in numbers if name is not None),
            features=None if columns is None else tuple(columns),
        )
    others = reader.others((*request.texts, *request.numbers))
    if guessed and d not in (None, len(others)):
        raise DataError(
            f"The model has {d} features and no names for them, and {path} has "
            f"{len(others)} columns, {listed(others, 12)}; say which are features: "
            "open_data(path, columns=[...])."
        )
    plan = reader.plan(request)
    if guessed:
        _log.info("%s: the features are %s", path, listed(plan.features, 12))
        for remark in reader.remarks:
            warnings.warn(remark, stacklevel=2)
    source = TableSource(reader, plan, beside, memory, errors=errors)
    source.guessed = guessed
    return source


def open_reader(path, form: Format, limit=None, pieces: bool = False) -> Reader:
    """The reader of a file or folder, or of standard input ("-").

    It is read in `pieces` where the memory has a `limit`, as people write that.
    """
    memory = None
    if limit is not None or pieces:
        room(limit)  # some readers read all of a file
        memory = parse_bytes(limit)
    file, kind = File(path), form.kind or kind_of(path)
    if memory is not None and file.is_compressed:
        raise DataError(
            f"{path} is compressed, and such files are not read in pieces; decompress "
            "it first, or read it whole (without --memory on the command line)."
        )
    if file.is_folder and kind in ("libsvm", "npy"):
        raise DataError(
            f"{path} is a folder of {kind} files; only folders of Parquet, Arrow, CSV "
            "and TSV files are read. Name one file."
        )
    with explained(file.name):
        if kind in ("csv", "tsv"):
            return DelimitedReader(path, kind, form)
        if kind in ("parquet", "arrow"):
            return ColumnarReader(path, kind)
        if kind == "libsvm":
            return LibsvmReader(path, memory)
        rows = load_npy(path) if memory is None else StoredRows(path)
        return ArrayReader(path, kind, rows)


def open_table(path: str, request: Request, form: Format) -> tuple[Table, Reader]:
    """Read the columns that `request` asks for, of all rows; say how they were read."""
    reader = open_reader(path, form)
    return read_table(reader, request), reader


def read_table(reader: Reader, request: Request) -> Table:
    """Read the columns that `request` asks for, of all rows."""
    with explained(reader.name):
        return reader.read(reader.plan(request))
