"""NumPy archives (.npz) and arrays (.npy); nothing is ever unpickled.

An archive holds `X`, a matrix of rows and features or a sparse matrix saved by SciPy;
its other one-dimensional arrays are columns under their own names, such as `y`.
`feature_names` names the features, which are x1, x2, … without it.

A .npy file holds such a matrix alone. Further columns are .npy files beside it, which
go by their paths: `--target labels.npy`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from wideberth.cli.errors import UserError, listed, quoted
from wideberth.cli.sources.room import check_room
from wideberth.cli.sources.streams import Source
from wideberth.cli.sources.table import (
    Format,
    Request,
    Table,
    as_numbers,
    as_texts,
    check_names,
)
from wideberth.data.kinds import feature_names

__all__ = ["read_npy", "read_npz"]

_SPARSE = {"data", "indices", "indptr", "shape", "format"}
_NAMES = "feature_names"
#: Most rows and columns of a sparse matrix: each takes memory, whether it is empty.
_LARGEST = 1 << 24


def read_npz(source: Source, request: Request, form: Format) -> Table:
    """Read an .npz archive."""
    return _table(_load(source), source, request)


def read_npy(source: Source, request: Request, form: Format) -> Table:
    """Read a .npy file, and those beside it that the request names."""
    arrays = {"X": _load_array(source.whole, source.name)}
    if arrays["X"].ndim != 2:
        raise UserError(
            f"{source.name} holds an array of shape {arrays['X'].shape}; it must have "
            "two dimensions: rows and features."
        )
    for name in (*request.texts, *request.numbers):
        if name.endswith(".npy") and (os.path.isfile(name) or name == request.target):
            arrays[name] = _load_array(partial(open, name, "rb"), name)
            if arrays[name].shape != arrays["X"].shape[:1]:
                raise UserError(
                    f"{name} has shape {arrays[name].shape}; it must hold one value "
                    f"per row of {source.name}, shape {arrays['X'].shape[:1]}."
                )
    return _table(arrays, source, request)


def _load_array(opened: Callable, where: str) -> np.ndarray:
    try:
        with opened() as stream:
            _check_promise(stream, where)
            return np.load(stream, allow_pickle=False)
    except (MemoryError, UserError):
        raise
    except FileNotFoundError:
        raise UserError(f"{where}: there is no such file.") from None
    except Exception as error:  # whatever a damaged file makes of the reader
        reason = " ".join(str(error).split())
    raise UserError(f"{where} is not a .npy file of one plain array ({reason}).")


def _check_promise(stream: BinaryIO, where: str) -> None:
    """Refuse a header that promises more than follows it, or more than memory holds."""
    version, _ = np.lib.format.read_magic(stream)
    header = getattr(np.lib.format, f"read_array_header_{version}_0")
    shape, _, kind = header(stream)
    start, size = stream.tell(), math.prod(shape) * kind.itemsize
    if size > stream.seek(0, os.SEEK_END) - start:
        raise ValueError("it is cut short")
    check_room(size, where)
    stream.seek(0)


def _table(arrays: dict, source: Source, request: Request) -> Table:
    X = _matrix(arrays, source.name)
    names = _feature_names(arrays, X.shape[1], source.name)
    columns = {
        name: array
        for name, array in arrays.items()
        if array.shape == (X.shape[0],) and name not in names
    }
    asked = {*request.texts, *request.numbers, *request.dropped}
    others = tuple(name for name in columns if name not in asked)
    request = replace(request, dropped=(*request.dropped, *others))
    plan = request.plan([*columns, *names], source.name)
    at = {name: k for k, name in enumerate(names)}
    for name in (*plan.texts, *plan.numbers, *plan.features):
        if (name in at) != (name in plan.features):
            raise UserError(
                f"{source.name}: {quoted(name)} must be "
                f"{'an array of its own' if name in at else 'a column of X'}."
            )
    taken = [at[name] for name in plan.features]
    return Table(
        plan.features,
        X if taken == list(range(X.shape[1])) else X[:, taken],
        {name: as_texts(columns[name]) for name in plan.texts},
        {name: as_numbers(columns[name], name, source.name) for name in plan.numbers},
    )


def _load(source: Source) -> dict:
    where = source.name
    try:
        with source.whole() as stream, np.load(stream, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise ValueError("it is a single array")
            check_room(sum(part.file_size for part in archive.zip.infolist()), where)
            arrays = {name: archive[name] for name in archive.files}
            if all(isinstance(array, np.ndarray) for array in arrays.values()):
                return arrays
            reason = "it holds other files"
    except (MemoryError, UserError):
        raise
    except Exception as error:  # whatever a damaged archive makes of the reader
        reason = " ".join(str(error).split())
    raise UserError(f"{where} is not an .npz archive of plain arrays ({reason}).")


def _matrix(arrays: dict, where: str):
    if set(arrays) >= _SPARSE:
        try:
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            kind = {b"csr": sp.csr_array, b"csc": sp.csc_array}[arrays["format"].item()]
            matrix = kind(parts, shape=tuple(arrays["shape"].tolist()))
            matrix.check_format(full_check=True)  # SciPy's routines trust the indices
            _check_shape(matrix.shape)
            return sp.csr_array(matrix, dtype=np.float64)
        except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
            raise UserError(
                f"{where} is not a sparse matrix in CSR or CSC form ({error})."
            ) from None
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    name = "X" if "X" in matrices else (matrices[0] if len(matrices) == 1 else None)
    if name is None:
        raise UserError(
            f"{where} needs a matrix of features called 'X'; it holds "
            f"{listed(arrays, 12)}."
        )
    if arrays[name].dtype.kind not in "biuf":
        raise UserError(
            f"{where}: the array {quoted(name)} is of type {arrays[name].dtype}; "
            "features must be real numbers."
        )
    narrow = arrays[name].dtype == np.float32
    return arrays[name] if narrow else arrays[name].astype(np.float64, copy=False)


def _check_shape(shape: tuple[int, ...]) -> None:
    """What is stored bounds neither the rows of a CSC nor the columns of a CSR."""
    if max(shape) > _LARGEST:
        raise ValueError(f"its shape is {shape}, of at most {_LARGEST} each way")


def _feature_names(arrays: dict, d: int, where: str) -> list[str]:
    if _NAMES not in arrays:
        return feature_names(range(1, d + 1))
    names = [str(name) for name in arrays[_NAMES].ravel()]
    if len(names) != d:
        raise UserError(
            f"{where}: {_NAMES} holds {len(names)} names for {d} features; give one "
            "for each."
        )
    check_names(names, where, ())
    return names
