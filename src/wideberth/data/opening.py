"""What users may give for data that is not one array in memory, and what reads it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from wideberth.data.chunks import DataError
from wideberth.data.kinds import ENDINGS, is_compressed, kind_of
from wideberth.data.memory import parse_bytes
from wideberth.data.sources import (
    ArraySource,
    ChunkSource,
    MapSource,
    NpySource,
    Source,
)
from wideberth.problem.arrays import is_dask, is_foreign
from wideberth.problem.validation import refuse_masked

__all__ = ["is_scaled", "is_small", "names_values", "open_data"]

#: Kinds of files that are read in pieces as tables of named columns.
_TABLES = ("parquet", "arrow", "csv", "tsv")
#: Entries up to which an array of another library is copied to NumPy and solved there:
#: no more than the few rows that leave a device while a large one is solved.
_SMALL_ENTRIES = 1 << 18


def is_small(X) -> bool:
    """Whether an array of another library is solved as a NumPy copy of it."""
    return is_foreign(X) and (X.ndim != 2 or X.shape[0] * X.shape[1] <= _SMALL_ENTRIES)


def is_scaled(X, y=None, memory=None) -> bool:
    """Whether data is read in chunks: not one NumPy array, SciPy matrix or frame."""
    if isinstance(X, np.memmap):
        return memory is not None and X.nbytes > parse_bytes(memory)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return False
    if isinstance(X, str | PathLike | Source) or is_dask(X):
        return True
    if is_foreign(X):
        return not is_small(X)
    if y is not None or hasattr(X, "__array__") or hasattr(X, "__dataframe__"):
        return False  # rows; without y that will be an error
    return callable(X) or hasattr(X, "__iter__")


def names_values(X, value) -> bool:
    """Whether a value beside X is the name of a column or a file, not a number."""
    return isinstance(X, str | PathLike) and isinstance(value, str | PathLike)


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
        Bytes that the process may hold, such as "2GB"; by default a quarter of the
        machine's memory. Data on disk may be any size.
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
    if isinstance(X, np.memmap):
        if y is None:
            raise DataError("y is missing; give one label per row of X.")
        return MapSource(X, **beside, memory=memory)
    if isinstance(X, str | PathLike):
        return _open_path(Path(X), beside, memory, columns)
    if is_dask(X):
        from wideberth.data.dask import DaskSource

        return DaskSource(X, **beside, memory=memory)
    if is_foreign(X):
        if y is None:
            raise DataError("y is missing; give one label per row of X.")
        return ArraySource(X, **{k: _beside(v, k) for k, v in beside.items()})
    if given:
        raise DataError(
            f"X yields chunks, so {' and '.join(given)} must come with them: "
            "(X, y, weight, radius)."
        )
    return ChunkSource(X, memory)


def _open_path(path: Path, beside: dict, memory, columns) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    kind = kind_of(path)
    if is_compressed(path):
        raise DataError(
            f"{path} is compressed, and such files are not read in pieces; decompress "
            "it first."
        )
    if kind == "npy":
        if beside["y"] is None:
            raise DataError(f"y is missing; give the labels that go with {path}.")
        return NpySource(path, **beside, memory=memory)
    if kind in _TABLES:
        from wideberth.data.tables import TableSource

        return TableSource(path, **beside, memory=memory, columns=columns)
    if kind == "libsvm":
        from wideberth.data.libsvm import LibsvmSource

        return LibsvmSource(path, **beside, memory=memory)
    if kind == "npz":
        raise DataError(
            f"{path} is an archive, which is not read in pieces; store the array as a "
            ".npy file: np.save(path, X)."
        )
    known = ", ".join(end for end in ENDINGS if end != ".npz")
    raise DataError(
        f"{path} has the ending {path.suffix!r}, which says nothing about its format; "
        f"known are {known} and folders of tables."
    )


def _beside(values, name: str):
    """Values per row beside an array: an array too, of whatever library."""
    if values is None or is_foreign(values):
        return values
    refuse_masked(values, name)
    return np.asarray(values)
