"""Matrices with columns beside them: .npy and LIBSVM files.

A .npy file holds a matrix of rows and features, which are called x1, x2, … Further
columns are .npy files beside it, which go by their paths: `--target labels.npy`.
Nothing is ever unpickled.

LIBSVM (svmlight) files have a row on each line: `label index:value index:value …`.
scikit-learn parses them. Labels that are text or missing are cut off here before, and
where it fails the row, the line and the column of what is wrong are found.
"""

from __future__ import annotations

import io
import math
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError, quoted
from wideberth.data.files import (
    LABEL,
    File,
    check_room,
    chunk_bytes,
    explained,
    lines_of,
)
from wideberth.data.table import (
    AT_ONCE,
    Plan,
    Reader,
    Request,
    Table,
    as_text,
    as_texts,
)

_NPY = "a .npy file of one plain array"
#: Highest index of a feature of a LIBSVM file; scikit-learn counts in 32 bits.
_LARGEST_INDEX = int(np.iinfo(np.int32).max)
#: Features of a table in memory up to which those that no row has get a name, too; a
#: few bytes could ask for any number of names (1 << 20 were measured at 130 MB).
_FEW = 1 << 20
#: Number of bytes of memory that every feature needs: a choice, 40 float64 vectors as
#: long as the features, of which solving takes at least ten.
_FEATURE_BYTES = 320
_DIGITS = re.compile(rb"\d{1,18}")
_Line = tuple[int, bytes]


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
                f"{self.name} holds only numbers; dates are read from CSV, Parquet and "
                "Arrow tables."
            )
        asked = {*request.texts, *request.numbers, *request.dropped}
        others = () if self.sparse else tuple(n for n in self.columns if n not in asked)
        plan = super().plan(replace(request, dropped=(*request.dropped, *others)))
        for name in plan.texts:
            if name not in self.columns:
                raise DataError(
                    f"{self.name}: {quoted(name)} is a feature and cannot be a class; "
                    "store classes in a file or a column of their own."
                )
        for name in self.columns:
            if name in plan.features:
                raise DataError(
                    f"{self.name}: {quoted(name)} is not in X; features must be."
                )
        return plan

    def tables(self, plan, size, native=False):
        taken = None
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


# -- NumPy -----------------------------------------------------------------------------


class ArrayReader(MatrixReader):
    """Rows that can be sliced, and columns of one value per row.

    `rows` is an array, or whatever gives the rows from start to stop as
    `rows[start:stop]` and has a shape and a dtype.
    """

    n: int

    def __init__(self, path, kind: str, rows):
        super().__init__(path, kind)
        self.rows, self.columns = rows, {}
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
        self.features = tuple(f"x{k}" for k in range(1, d + 1))

    def plan(self, request: Request) -> Plan:
        """A .npy file beside this one is a column, if the request names it."""
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
    """Rows of a .npy file, read when they are asked for.

    Nothing is mapped: a file that is cut short while it is mapped kills the process.
    """

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


# -- LIBSVM ----------------------------------------------------------------------------


class LibsvmReader(MatrixReader):
    """Sparse rows; features are called x1, x2, … after their indices.

    What is parsed stays in memory if it takes at most a quarter of the `memory` that is
    allowed, in bytes; otherwise every read parses the text anew.
    """

    n: int
    sparse = True

    def __init__(self, path, memory: int | None = None):
        super().__init__(path, "libsvm")
        self.n = self.entries = 0
        self._size = AT_ONCE if memory is None else chunk_bytes(memory)
        self._kept: list[tuple] | None = []
        self._numeric = True  # whether all labels are numbers
        indices = np.empty(0, dtype=np.int64)
        for X, labels in self._parsed():
            indices = np.union1d(indices, X.indices)
            self.n, self.entries = self.n + X.shape[0], self.entries + X.nnz
            self._numeric &= labels.dtype.kind == "f"
            if memory is None:
                check_room(16 * self.entries, self.name)
            elif 16 * self.entries > memory // 4:
                self._kept = None
            if self._kept is not None:
                self._kept.append((X, labels))
        if not self.n:
            raise DataError(f"{self.name} holds no rows; there is nothing to read.")
        self._lowest = lowest = 0 if 0 in indices[:1] else 1
        highest = int(indices.max(initial=lowest))
        if memory is not None and _FEATURE_BYTES * highest > memory:
            raise DataError(
                f"{self.name} has features up to number {highest}; a vector of that "
                f"length does not fit into {memory} bytes. Raise memory, or renumber "
                "the features."
            )
        self._gaps = memory is None and highest >= _FEW
        self.indices = indices if self._gaps else np.arange(lowest, highest + 1)
        self.columns = {LABEL: None}
        self.features = tuple(f"x{index}" for index in self.indices.tolist())

    def row_bytes(self, plan: Plan) -> float:
        return 12 * self.entries / self.n + 8

    def pieces(self, plan, size, matrix):
        for X, labels in self._parsed() if self._kept is None else self._kept:
            places = X.indices - self._lowest
            if self._gaps:
                places = np.searchsorted(self.indices, X.indices)
            shape = len(labels), len(self.indices)
            X = sp.csr_array((X.data, places, X.indptr), shape=shape)
            if not self._numeric:
                labels = as_texts(labels)
                labels[labels == ""] = None
            yield X if matrix else X[:, :0], {LABEL: labels}

    def first_features(self, d: int) -> tuple[str, ...]:
        """The names of d features; what no row has is zero."""
        start, stop = int(self.indices[0]), int(self.indices[-1]) + 1
        if stop - start > d:
            raise DataError(
                f"{self.name} has features up to number {stop - 1}, and the model "
                f"has {d}; remove the others."
            )
        return tuple(f"x{k}" for k in range(start, start + d))

    def find_lines(self) -> np.ndarray:
        return np.array([number for batch in self._lines() for number, _ in batch])

    def _parsed(self) -> Iterator[tuple[sp.csr_array, np.ndarray]]:
        """Rows and labels, some at a time."""
        n = 0
        for batch in self._lines():
            yield _rows_and_labels(batch, n, self.name)
            n += len(batch)

    def _lines(self) -> Iterator[list[_Line]]:
        """Lines that hold something, without comments, so many bytes at a time."""
        batch: list[_Line] = []
        length = 0
        for number, line in enumerate(lines_of(self.open(), self.name), 1):
            if text := line.partition(b"#")[0].strip():
                batch.append((number, text))
                length += len(text)
            if length >= self._size:
                yield batch
                batch, length = [], 0
        if batch:
            yield batch


def _rows_and_labels(batch: list[_Line], start: int, where: str):
    """What some lines hold, the first of which is row `start` (from 0)."""
    found = _loaded([line for _, line in batch])
    if found is not None:
        return found
    labels, pairs = [], []
    for _, line in batch:
        first, *rest = line.split(None, 1)
        unlabelled = b":" in first
        labels.append(b"nan" if unlabelled else first)
        pairs.append(line if unlabelled else b"".join(rest))
    found = _loaded([b"0 " + row for row in pairs])
    if found is None:
        for k, ((number, _), row) in enumerate(zip(batch, pairs, strict=True), 1):
            _check(f"{where}, row {start + k} (line {number})", row.split())
        raise DataError(f"{where} is not LIBSVM text.")
    try:
        return found[0], np.array([float(token) for token in labels])
    except ValueError:
        return found[0], np.array(list(map(_label, labels)))


def _loaded(lines: list[bytes]) -> tuple[sp.csr_array, np.ndarray] | None:
    """Rows and labels as scikit-learn reads them; None if something is wrong."""
    from sklearn.datasets import load_svmlight_file

    text = b"\n".join(lines)
    try:
        X, y = load_svmlight_file(
            io.BytesIO(text), n_features=_LARGEST_INDEX + 1, zero_based=True
        )
    except (ValueError, OverflowError):
        return None
    wrong = b"_" in text or b"qid" in text or not np.isfinite(X.data).all()
    return None if wrong or len(y) < len(lines) else (sp.csr_array(X), y)


def _check(row: str, pairs: list[bytes]) -> None:
    """Name the first pair of a row that is wrong."""
    last = -1
    for pair in pairs:
        # Bytes, as above: what text is a number depends on its type in Python.
        digits, _, value = pair.partition(b":")
        index = int(digits) if _DIGITS.fullmatch(digits) else _LARGEST_INDEX + 1
        if index > _LARGEST_INDEX:
            raise DataError(
                f"{row} holds {quoted(pair)}, which is not index:value with a whole "
                f"index from 0 to {_LARGEST_INDEX}."
            )
        if index <= last:
            raise DataError(
                f"{row}, index {index} comes after {last}; indices must ascend."
            )
        try:
            finite = b"_" not in value and math.isfinite(float(value))
        except ValueError:
            finite = False
        if not finite:
            raise DataError(
                f"{row}, column x{index} holds {quoted(value)}, which is not a finite "
                "number."
            )
        last = index


def _label(token: bytes) -> str:
    """Labels are numbers first of all: +1, 1 and 1.0 are the same."""
    text = token.decode("utf-8", "replace")
    try:
        return as_text(float(text)) or ""
    except ValueError:
        return text
