"""LIBSVM (svmlight) files: `label index:value index:value …`, one row a line.

scikit-learn parses the pairs. What it lacks is done here: labels that are text or
missing, and telling the row, the line and the column of what is wrong.
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
from wideberth.data.files import ScratchFolder
from wideberth.data.memory import chunk_bytes
from wideberth.data.names import Names
from wideberth.data.streams import LABEL, check_room, lines_of
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
    paths = ()

    def __init__(self, path, memory: int | None = None):
        super().__init__(path, "libsvm")
        self._kept: list = []
        self._folder = None
        self.n = self.entries = 0
        self._numeric = True  # whether all labels are numbers
        if memory is not None:
            self._folder = ScratchFolder()
        try:
            with self.open() as stream:
                self.indices = self._parse(stream, memory)
        except BaseException:
            if self._folder is not None:
                self._folder.remove()
            raise
        self.columns = {LABEL: None}
        self.features = Names(numbers=self.indices)

    def _parse(self, stream: BinaryIO, memory: int | None) -> np.ndarray | range:
        """Parse everything; return the indices of the features."""
        size = AT_ONCE if memory is None else chunk_bytes(memory)
        indices = np.empty(0, dtype=np.int64)
        for batch in _batches(stream, self.name, size):
            X, labels = _parsed(batch, self.n, self.name)
            indices = np.union1d(indices, X.indices)
            self.n, self.entries = self.n + X.shape[0], self.entries + X.nnz
            self._numeric &= labels.dtype.kind == "f"
            self._kept.append(self._keep(X, labels))
        if not self.n:
            raise DataError(f"{self.name} holds no rows; there is nothing to read.")
        lowest = 0 if 0 in indices[:1] else 1
        highest = int(indices.max(initial=lowest))
        if memory is not None and _FEATURE_BYTES * highest > memory:
            raise DataError(
                f"{self.name} has features up to number {highest}; vectors as long "
                f"do not fit into {memory} bytes. Raise memory, or number the features "
                "anew."
            )
        if memory is None and highest >= _FEW:
            return indices
        return range(lowest, highest + 1)

    def _keep(self, X: sp.csr_array, labels: np.ndarray):
        """Rows and labels themselves, or the names of the files that hold them."""
        if self._folder is None:
            check_room(16 * self.entries, self.name)
            return X, labels
        path = self._folder.path / str(len(self._kept))
        files = path.with_suffix(".npz"), path.with_suffix(".npy")
        sp.save_npz(files[0], X, compressed=False)
        np.save(files[1], labels)
        return files

    def row_bytes(self, plan: Plan) -> float:
        return 12 * self.entries / self.n + 8

    def pieces(self, plan, size, matrix):
        for X, labels in self._kept:
            labels = np.load(labels) if isinstance(labels, Path) else labels
            if not matrix:
                X = sp.csr_array((len(labels), 0))
            else:
                X = self._numbered(sp.load_npz(X) if isinstance(X, Path) else X)
            if not self._numeric:
                labels = as_texts(labels)
                labels[labels == ""] = None
            yield X, {LABEL: labels}

    def _numbered(self, X) -> sp.csr_array:
        """The same rows, with a column for each feature."""
        if isinstance(self.indices, range):
            places = X.indices - self.indices.start
        else:
            places = np.searchsorted(self.indices, X.indices)
        shape = X.shape[0], len(self.indices)
        return sp.csr_array((X.data, places, X.indptr), shape=shape)

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
    from sklearn.datasets import load_svmlight_file

    labels, pairs = [], []
    for _, line in batch:
        first, *rest = line.split(None, 1)
        unlabelled = b":" in first
        labels.append(b"" if unlabelled else first)
        pairs.append(line if unlabelled else b"".join(rest))
    text = b"".join(b"0 %b\n" % row for row in pairs)
    try:
        X, _ = load_svmlight_file(
            io.BytesIO(text), n_features=_LARGEST + 1, zero_based=True
        )
        trouble = b"_" in text or not np.isfinite(X.data).all()
    except (ValueError, OverflowError):
        trouble = True
    if trouble:
        for k, ((number, _), row) in enumerate(zip(batch, pairs, strict=True), 1):
            _check(f"{where}, row {start + k} (line {number})", row.split())
        raise DataError(f"{where} is not LIBSVM text.")
    try:
        values = np.array([float(token or b"nan") for token in labels])
    except ValueError:
        values = np.array(list(map(_label, labels)))
    return sp.csr_array(X), values


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
        if not _is_finite(value):
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


def _is_finite(token: bytes) -> bool:
    try:
        return b"_" not in token and math.isfinite(float(token))
    except ValueError:
        return False
