"""NumPy arrays: .npy files, .npz archives and memory maps; nothing is ever unpickled.

An archive holds `X`, a matrix of rows and features or a sparse matrix saved by SciPy;
its other one-dimensional arrays are columns under their own names, such as `y`.
`feature_names` names the features, which are x1, x2, … without it.

A .npy file holds such a matrix alone. Further columns are .npy files beside it, which
go by their paths: `--target labels.npy`.
"""

from __future__ import annotations

import math
import mmap
import os
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError, listed, quoted
from wideberth.data.files import File, check_room, explained
from wideberth.data.table import Plan, Reader, Request, Table, as_texts, check_names

_SPARSE = {"data", "indices", "indptr", "shape", "format"}
_NPY = "a .npy file of one plain array"
#: Most rows and most columns of a sparse matrix in an archive. Each takes memory even
#: if it is empty, so that a few bytes could ask for any amount (a choice; 128 MB for
#: rows, 270 MB for names of columns).
_LARGEST = (1 << 24, 1 << 22)


class MatrixReader(Reader):
    """A matrix, whose columns are `features`, and `columns` of values beside it."""

    features: tuple[str, ...]
    columns: dict[str, Any]
    #: Finds the line that each row ends in, where the file is text.
    find_lines: Callable[[], np.ndarray] | None = None

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns beside the matrix, and its own."""
        return (*self.columns, *self.features)

    @abstractmethod
    def pieces(self, plan: Plan, size: int, matrix: bool) -> Iterator[tuple[Any, dict]]:
        """Rows of the matrix, if that is needed, and of the columns beside it."""

    def plan(self, request: Request) -> Plan:
        """Columns beside the matrix are no features; further arrays are left out."""
        if request.dates:
            raise DataError(
                f"{self.name} holds numbers alone; dates are read of CSV, Parquet and "
                "Arrow tables."
            )
        asked = {*request.texts, *request.numbers, *request.dropped}
        others = () if self.sparse else tuple(n for n in self.columns if n not in asked)
        plan = super().plan(replace(request, dropped=(*request.dropped, *others)))
        for name in plan.texts:
            if name not in self.columns:
                raise DataError(
                    f"{self.name}: {quoted(name)} is a feature, and those hold "
                    "numbers; it must be an array or a column of its own to be a class."
                )
        for name in self.columns:
            if name in plan.features:
                raise DataError(
                    f"{self.name}: {quoted(name)} is no column of X; features must be."
                )
        return plan

    def tables(self, plan, size, native=False):
        at, taken = {}, None
        if plan.features != self.features:
            at = {name: k for k, name in enumerate(self.features)}
            absent = len(self.features)  # features that no row has are zero
            taken = [at.get(name, absent) for name in plan.features]
        start = 0
        for X, columns in self.pieces(plan, size, bool(plan.features or plan.numbers)):
            n = X.shape[0]
            for name in plan.numbers:
                if name not in columns:
                    columns[name] = X[:, [self.features.index(name)]]
            if taken is not None:
                X = _columns(X, taken)
            texts = {name: columns[name] for name in plan.texts}
            yield Table(
                plan.features,
                X,
                texts if native else {n: as_texts(v) for n, v in texts.items()},
                {name: self._numbers(name, columns[name]) for name in plan.numbers},
                find_lines=self.find_lines,
                origin=f"{self.name} (from row {start})",
            )
            start += n

    def _numbers(self, name: str, values) -> np.ndarray:
        if values.dtype.kind not in "biuf":
            raise DataError(
                f"{self.name}: column {quoted(name)} is of type {values.dtype}; it "
                "must hold numbers."
            )
        values = values.toarray() if sp.issparse(values) else values
        return values.ravel().astype(np.float64)


def _columns(X, taken: list[int]):
    """Columns of a matrix; one behind the last of a sparse one is zero."""
    if X.shape[1] in taken:
        X = sp.csr_array((X.data, X.indices, X.indptr), (X.shape[0], X.shape[1] + 1))
    return X[:, taken]


class ArrayReader(MatrixReader):
    """Rows that can be sliced, and columns of one value per row.

    `rows` is an array, a CSR matrix, or whatever gives the rows from start to stop as
    `rows[start:stop]` and has a shape and a dtype.
    """

    n: int

    def __init__(self, path, kind: str, rows, columns=None, names=None):
        super().__init__(path, kind)
        self.rows, self.columns = rows, {} if columns is None else columns
        if len(rows.shape) != 2 or min(rows.shape) < 1:
            raise DataError(
                f"{self.name} holds an array of shape {rows.shape}; it must have two "
                "dimensions, samples × features, and at least one of each."
            )
        if rows.dtype.kind not in "biuf":
            raise DataError(
                f"{self.name} holds {rows.dtype}; its entries must be real numbers."
            )
        self.n, d = rows.shape
        self.features = names or tuple(f"x{k}" for k in range(1, d + 1))

    @property
    def paths(self):
        return None if isinstance(self.rows, MappedRows) else super().paths

    def plan(self, request: Request) -> Plan:
        """A .npy file beside this one is a column, if the request names it."""
        if self.kind == "npy":
            for name in (*request.texts, *request.numbers):
                there = os.path.isfile(name) or name not in request.optional
                if name.endswith(".npy") and there:
                    self.columns[name] = load_npy(name)
                    check_length(self.columns[name], self.n, name, self.name)
        return super().plan(request)

    def row_bytes(self, plan: Plan) -> float:
        return len(plan.features) * self.rows.dtype.itemsize

    def pieces(self, plan, size, matrix):
        step = max(int(size / max(self.row_bytes(plan), 1)), 1)
        for start in range(0, self.n, step):
            span = slice(start, min(start + step, self.n))
            X = np.empty((span.stop - start, 0))
            if matrix:
                X = self.rows[span]
                X = X if X.dtype == np.float32 else X.astype(np.float64, copy=False)
            yield X, {name: values[span] for name, values in self.columns.items()}


def check_length(values, n: int | None, name: str, where: str = "X") -> None:
    """Refuse what is not one value per row."""
    if tuple(values.shape) != (n,):
        raise DataError(
            f"{name} has shape {tuple(values.shape)}; it must hold one value per row "
            f"of {where}, shape ({n},)."
        )


def load_npy(path, *, mapped: bool = False) -> np.ndarray:
    """The array in a .npy file."""
    file = File(path)
    with explained(file.name, _NPY), file.seekable() as stream:
        shape, _, kind, _ = _header(stream, file.name)
        if mapped:
            return np.load(path, mmap_mode="r", allow_pickle=False)
        check_room(math.prod(shape) * kind.itemsize, file.name)
        stream.seek(0)
        return np.load(stream, allow_pickle=False)


class StoredRows:
    """Rows of a .npy file, read when they are asked for; nothing is mapped."""

    def __init__(self, path):
        self.path = path
        with explained(str(path), _NPY), open(path, "rb") as stream:
            self.shape, fortran, self.dtype, self.start = _header(stream, str(path))
        if fortran and len(self.shape) == 2 and min(self.shape) > 1:
            raise DataError(
                f"{self.path} is stored column by column; store it row by row: "
                "np.save(path, np.ascontiguousarray(X))."
            )

    def __getitem__(self, rows: slice) -> np.ndarray:
        d = self.shape[1]
        offset = self.start + rows.start * d * self.dtype.itemsize
        count = (rows.stop - rows.start) * d
        return np.fromfile(self.path, self.dtype, count, offset=offset).reshape(-1, d)


class MappedRows:
    """Rows of a memory map, copied from the array as it is.

    Never from its file: that may hold something else, where the map is copy-on-write
    and was written to, or where another file took its name. Pages that were read are
    handed back, so that a map takes no more memory than its file would; those of a
    copy-on-write map stay, since what was written to them is nowhere else.
    """

    def __init__(self, X: np.memmap):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self._hand_back()

    def __getitem__(self, rows: slice) -> np.ndarray:
        copy = np.array(self.X[rows], order="C", subok=False)
        self._hand_back()
        return copy

    def _hand_back(self) -> None:
        pages = getattr(self.X, "_mmap", None)
        if self.X.mode in ("r", "r+", "w+") and hasattr(pages, "madvise"):
            pages.madvise(mmap.MADV_DONTNEED)  # type: ignore[union-attr]


def _header(stream: BinaryIO, where: str):
    """Shape, order, type and start of an array that is there in full, and fits."""
    version, _ = np.lib.format.read_magic(stream)
    read = getattr(np.lib.format, f"read_array_header_{version}_0")
    shape, fortran, kind = read(stream)
    start, size = stream.tell(), math.prod(shape) * kind.itemsize
    if size > stream.seek(0, os.SEEK_END) - start:
        raise DataError(
            f"{where} is cut short: its header promises an array of shape {shape}."
        )
    return shape, fortran, kind, start


def open_archive(path) -> ArrayReader:
    """Read an .npz archive, of which `X` is the matrix."""
    file = File(path)
    with (
        explained(file.name, "an .npz archive of plain arrays"),
        file.seekable() as stream,
        np.load(stream, allow_pickle=False) as archive,
    ):
        if isinstance(archive, np.ndarray):
            raise ValueError("it is a single array")
        size = sum(part.file_size for part in archive.zip.infolist())
        check_room(size, file.name)
        arrays = {name: archive[name] for name in archive.files}
        if not all(isinstance(array, np.ndarray) for array in arrays.values()):
            raise ValueError("it holds other files")
    X, names = _matrix(arrays, file.name), None
    if "feature_names" in arrays:
        names = tuple(map(str, arrays["feature_names"].ravel()))
        if len(names) != X.shape[1]:
            raise DataError(
                f"{file.name}: feature_names holds {len(names)} names for "
                f"{X.shape[1]} features; give one for each."
            )
        check_names(names, file.name)
    reader = ArrayReader(path, "npz", X, names=names)
    for name, array in arrays.items():
        if array.shape == (reader.n,) and name not in reader.features:
            reader.columns[name] = array
    return reader


def checked_sparse(kind: type, data, indices, indptr, shape: tuple):
    """A sparse matrix from parts of unknown origin; a ValueError if they are none.

    SciPy's routines trust the indices, and its check of them trusts `indptr`.
    """
    rising = indptr.dtype.kind in "iu" and np.all(indptr[1:] >= indptr[:-1])
    if len(shape) != 2 or not rising or not 0 <= indptr[-1] <= len(indices):
        raise ValueError("its parts are not those of a sparse matrix")
    matrix = kind((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _matrix(arrays: dict, where: str):
    if set(arrays) >= _SPARSE:
        with explained(where, "a sparse matrix in CSR or CSC form"):
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            kind = {b"csr": sp.csr_array, b"csc": sp.csc_array}[arrays["format"].item()]
            matrix = checked_sparse(kind, *parts, tuple(arrays["shape"].tolist()))
            if np.greater(matrix.shape, _LARGEST).any():
                raise ValueError(f"its shape is {matrix.shape}, beyond {_LARGEST}")
            return sp.csr_array(matrix, dtype=np.float64)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    name = "X" if "X" in matrices else (matrices[0] if len(matrices) == 1 else None)
    if name is None:
        raise DataError(
            f"{where} needs a matrix of features called 'X'; it holds "
            f"{listed(arrays, 12)}."
        )
    return arrays[name]
