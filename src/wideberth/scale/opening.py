"""What users may give for data that is not one array in memory, and what reads it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from wideberth._arrays import is_foreign
from wideberth.scale.chunks import DataError
from wideberth.scale.memory import parse_bytes
from wideberth.scale.sources import (
    ArraySource,
    ChunkSource,
    MapSource,
    NpySource,
    Source,
)

__all__ = ["is_scaled", "open_data"]

_TABLES = {".parquet", ".pq", ".arrow", ".feather", ".ipc", ".csv"}
_TEXTS = {".svm", ".libsvm", ".svmlight", ".txt", ".dat"}


def is_scaled(X, y=None, memory=None) -> bool:
    """Whether data is for this package: not one NumPy array, SciPy matrix or frame."""
    if isinstance(X, np.memmap):
        return memory is not None and X.nbytes > parse_bytes(memory)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        return False
    if isinstance(X, str | PathLike | Source) or _is_dask(X) or is_foreign(X):
        return True
    return y is None and (callable(X) or hasattr(X, "__iter__"))


def open_data(
    X, y=None, *, sample_weight=None, radius=None, memory=None, columns=None
) -> Source:
    """Open data that is read in chunks.

    Parameters
    ----------
    X : path, array, Dask collection, iterable or function
        A .npy file; a Parquet, Arrow, Feather or CSV file, or a folder of them; a
        LIBSVM file; an array of another library, such as PyTorch or CuPy; a Dask array
        or frame; or whatever yields (X, y), (X, y, weight) or (X, y, weight, radius)
        from the start each time it is iterated or called.
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
    if isinstance(X, Source):
        return X
    beside = {"y": y, "weight": sample_weight, "radius": radius}
    if isinstance(X, np.memmap):
        if y is None:
            raise DataError("y is missing; give one label per row of X.")
        return MapSource(X, **beside, memory=memory)
    if isinstance(X, str | PathLike):
        return _open_path(Path(X), beside, memory, columns)
    if _is_dask(X):
        from wideberth.scale.dask import DaskSource

        return DaskSource(X, **beside, memory=memory)
    if is_foreign(X):
        if y is None:
            raise DataError("y is missing; give one label per row of X.")
        return ArraySource(X, **beside)
    given = [name for name, value in beside.items() if value is not None]
    if given:
        raise DataError(
            f"X yields chunks, so {' and '.join(given)} must come with them: "
            "(X, y, weight, radius)."
        )
    return ChunkSource(X, memory)


def _open_path(path: Path, beside: dict, memory, columns) -> Source:
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    suffix = path.suffix.lower()
    if suffix == ".npy":
        if beside["y"] is None:
            raise DataError(f"y is missing; give the labels that go with {path}.")
        return NpySource(path, **beside, memory=memory)
    if path.is_dir() or suffix in _TABLES:
        from wideberth.scale.tables import TableSource

        return TableSource(path, **beside, memory=memory, columns=columns)
    if suffix in _TEXTS:
        from wideberth.scale.libsvm import LibsvmSource

        return LibsvmSource(path, **beside, memory=memory)
    known = ", ".join(sorted({".npy", *_TABLES, *_TEXTS}))
    raise DataError(
        f"{path} has the ending {suffix!r}, which says nothing about its format; known "
        f"are {known} and folders of tables."
    )


def _is_dask(X) -> bool:
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")
