"""LIBSVM (svmlight) files: `label index:value index:value …`, one row a line.

scikit-learn parses them. Labels that are text or missing are cut off here before, and
where it fails the row, the line and the column of what is wrong are found.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from wideberth.data.arrays import MatrixReader
from wideberth.data.errors import DataError, quoted
from wideberth.data.files import LABEL, ScratchFolder, check_room, lines_of
from wideberth.data.memory import chunk_bytes
from wideberth.data.table import AT_ONCE, Plan, as_text, as_texts

#: Highest index of a feature; scikit-learn counts in 32 bits.
_LARGEST = int(np.iinfo(np.int32).max)
#: Features of a table in memory up to which those that no row has get a name, too; a
#: few bytes could ask for any number of names (1 << 20 were measured at 130 MB).
_FEW = 1 << 20
#: Number of bytes of memory that every feature needs: a choice, 40 float64 vectors as
#: long as the features, of which solving takes at least ten.
_FEATURE_BYTES = 320
_DIGITS = re.compile(rb"\d{1,18}")
_Line = tuple[int, bytes]


class LibsvmReader(MatrixReader):
    """Sparse rows; features are called x1, x2, … after their indices.

    The text is parsed once. What comes of it is kept in memory or, where `memory` is
    limited to some bytes, piece by piece in a temporary folder. That folder goes with
    the reader, or with the interpreter at the latest.
    """

    n: int
    sparse = True
    indices: np.ndarray

    def __init__(self, path, memory: int | None = None):
        super().__init__(path, "libsvm")
        self.n = self.entries = 0
        self._kept: list[tuple] = []  # rows and labels, or files that hold them
        self._numeric = True  # whether all labels are numbers
        self._folder = None if memory is None else ScratchFolder()
        try:
            with self.open() as stream:
                self._parse(stream, AT_ONCE if memory is None else chunk_bytes(memory))
        except BaseException:
            if self._folder is not None:
                self._folder.remove()
            raise
        lowest = 0 if 0 in self.indices[:1] else 1
        highest = int(self.indices.max(initial=lowest))
        if memory is not None and _FEATURE_BYTES * highest > memory:
            raise DataError(
                f"{self.name} has features up to number {highest}; vectors as long "
                f"do not fit into {memory} bytes. Raise memory, or number the features "
                "anew."
            )
        self._lowest, self._gaps = lowest, memory is None and highest >= _FEW
        if not self._gaps:
            self.indices = np.arange(lowest, highest + 1)
        self.columns = {LABEL: None}
        self.features = tuple(f"x{index}" for index in self.indices.tolist())

    def _parse(self, stream: BinaryIO, size: int) -> None:
        """Parse and keep everything; find out which `indices` features have."""
        self.indices = np.empty(0, dtype=np.int64)
        for batch in _batches(stream, self.name, size):
            X, labels = _parsed(batch, self.n, self.name)
            self.indices = np.union1d(self.indices, X.indices)
            self.n, self.entries = self.n + X.shape[0], self.entries + X.nnz
            self._numeric &= labels.dtype.kind == "f"
            if self._folder is None:
                check_room(16 * self.entries, self.name)
                self._kept.append((X, labels))
                continue
            path = self._folder.path / str(len(self._kept))
            files = path.with_suffix(".npz"), path.with_suffix(".npy")
            sp.save_npz(files[0], X, compressed=False)
            np.save(files[1], labels)
            self._kept.append(files)
        if not self.n:
            raise DataError(f"{self.name} holds no rows; there is nothing to read.")

    @property
    def paths(self):
        return []  # nothing is read again

    def row_bytes(self, plan: Plan) -> float:
        return 12 * self.entries / self.n + 8

    def pieces(self, plan, size, matrix):
        for X, labels in self._kept:
            labels = np.load(labels) if isinstance(labels, Path) else labels
            shape = len(labels), len(self.indices) if matrix else 0
            if not matrix:
                X = sp.csr_array(shape)
            else:
                X = sp.load_npz(X) if isinstance(X, Path) else X
                places = X.indices - self._lowest
                if self._gaps:
                    places = np.searchsorted(self.indices, X.indices)
                X = sp.csr_array((X.data, places, X.indptr), shape=shape)
            if not self._numeric:
                labels = as_texts(labels)
                labels[labels == ""] = None
            yield X, {LABEL: labels}

    def first_features(self, d: int) -> tuple[str, ...]:
        """The names of d features; what no row has is zero."""
        start, stop = int(self.indices[0]), int(self.indices[-1]) + 1
        if stop - start > d:
            raise DataError(
                f"{self.name} has features up to number {stop - 1}, and the model "
                f"knows {d}; leave the others out."
            )
        return tuple(f"x{k}" for k in range(start, start + d))

    def find_lines(self) -> np.ndarray:
        with self.open() as stream:
            batches = _batches(stream, self.name, AT_ONCE)
            return np.array([number for batch in batches for number, _ in batch])


def _batches(stream: BinaryIO, where: str, size: int) -> Iterator[list[_Line]]:
    """Lines that hold something, without comments, so many bytes of them at a time."""
    batch: list[_Line] = []
    length = 0
    for number, line in enumerate(lines_of(stream, where), 1):
        if text := line.partition(b"#")[0].strip():
            batch.append((number, text))
            length += len(text)
        if length >= size:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def _parsed(batch: list[_Line], start: int, where: str):
    """Rows and labels of some lines, the first of which is row `start` (from 0)."""
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
            io.BytesIO(text), n_features=_LARGEST + 1, zero_based=True
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
        index = int(digits) if _DIGITS.fullmatch(digits) else _LARGEST + 1
        if index > _LARGEST:
            raise DataError(
                f"{row} holds {quoted(pair)}, which is not index:value with a whole "
                f"index from 0 to {_LARGEST}."
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
