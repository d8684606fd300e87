"""LIBSVM (svmlight) files: `label index:value index:value …`, one row a line.

scikit-learn parses the pairs. What it lacks is done here: labels that are text or
missing, and telling the row, the line and the column of what is wrong.
"""

from __future__ import annotations

import io
import math
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError, quoted
from wideberth.data.kinds import LABEL, feature_names
from wideberth.data.memory import chunk_bytes
from wideberth.data.reader import AT_ONCE, Reader
from wideberth.data.streams import LONGEST_LINE, check_room, explained
from wideberth.data.table import Plan, Request, Table, as_texts

__all__ = ["LibsvmReader"]

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


class LibsvmReader(Reader):
    """Sparse rows; features are called x1, x2, … after their indices.

    The text is parsed once. What comes of it is kept in memory or, where `memory` is
    limited to some bytes, piece by piece in a temporary folder. That folder goes with
    the reader, or with the interpreter at the latest.
    """

    n: int
    sparse = True

    def __init__(self, path, memory: int | None = None):
        super().__init__(path, "libsvm")
        self._pieces: list = []
        self._folder = None
        self.n = self.entries = 0
        self._numbers = True  # whether all labels are
        if memory is not None:
            self._folder = tempfile.TemporaryDirectory(prefix="wideberth-")
        try:
            with explained(self.name), self.open() as stream:
                self.kept = self._parse(stream, memory)
        except BaseException:
            if self._folder is not None:
                self._folder.cleanup()
            raise
        self.names = [LABEL, *feature_names(self.kept)]

    def _parse(self, stream: BinaryIO, memory: int | None) -> list[int] | range:
        """Parse everything; return the indices of the features."""
        size = AT_ONCE if memory is None else chunk_bytes(memory)
        indices = np.empty(0, dtype=np.int64)
        for batch in _batches(_lines(stream, self.name), size):
            X, labels = _parsed(batch, self.n, self.name)
            indices = np.union1d(indices, X.indices)
            self._keep(X, labels)
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
            return indices.tolist()
        return range(lowest, highest + 1)

    def _keep(self, X: sp.csr_array, labels: np.ndarray) -> None:
        self.n, self.entries = self.n + X.shape[0], self.entries + X.nnz
        self._numbers &= labels.dtype.kind == "f"
        if self._folder is None:
            check_room(16 * self.entries, self.name)
            self._pieces.append((X, labels))
            return
        path = Path(self._folder.name) / str(len(self._pieces))
        sp.save_npz(path.with_suffix(".npz"), X, compressed=False)
        np.save(path.with_suffix(".npy"), labels)
        self._pieces.append(path)

    def _kept_pieces(self, features: bool) -> Iterator[tuple]:
        for piece in self._pieces:
            if isinstance(piece, tuple):
                yield piece
                continue
            labels = np.load(piece.with_suffix(".npy"))
            path = piece.with_suffix(".npz")
            yield sp.load_npz(path) if features else np.empty(len(labels)), labels

    def plan(self, request: Request) -> Plan:
        plan = super().plan(request)
        if any(name != LABEL for name in plan.texts) or LABEL in plan.features:
            raise DataError(f"{self.name}: columns of a LIBSVM file hold numbers.")
        return plan

    def row_bytes(self, plan: Plan) -> float:
        return 12 * self.entries / self.n + 8

    def tables(self, plan, size=AT_ONCE, *, native=False) -> Iterator[Table]:
        start, at = 0, {name: k for k, name in enumerate(self.names[1:])}
        everything = list(plan.features) == self.names[1:]
        needed = bool(plan.features or plan.numbers)
        for X, labels in self._kept_pieces(needed):
            n, numbers = len(labels), {}
            if needed and not (everything and not plan.numbers):
                # One column more, of zeros, for features that do not occur here.
                X = sp.csc_array(self._numbered(X, len(self.kept) + 1))
                numbers = {m: X[:, [at[m]]].toarray()[:, 0] for m in plan.numbers}
                taken = [at.get(name, len(self.kept)) for name in plan.features]
                X = sp.csr_array(X[:, taken])
            elif needed:
                X = self._numbered(X, len(self.kept))
            else:
                X = sp.csr_array((n, 0))
            texts = {LABEL: self._labels(labels, native)} if plan.texts else {}
            yield Table(
                plan.features,
                X,
                texts,
                numbers,
                self._line_numbers,
                f"{self.name} (from row {start})",
            )
            start += n

    def _numbered(self, X, width: int) -> sp.csr_array:
        """The same rows, with columns in the order of `kept`."""
        if isinstance(self.kept, range):
            places = X.indices - self.kept.start
        else:
            places = np.searchsorted(self.kept, X.indices)
        return sp.csr_array((X.data, places, X.indptr), shape=(X.shape[0], width))

    def _labels(self, labels: np.ndarray, native: bool) -> np.ndarray:
        """Labels are numbers first of all: +1, 1 and 1.0 are the same."""
        if native and self._numbers:
            return labels
        if labels.dtype.kind == "f":
            return as_texts(labels)
        texts = np.empty(len(labels), dtype=object)
        texts[:] = [_label(token) for token in labels.tolist()]
        return texts

    def _line_numbers(self) -> np.ndarray:
        with self.open() as stream:
            return np.array([number for number, _ in _lines(stream, self.name)])


def _lines(stream: BinaryIO, where: str) -> Iterator[_Line]:
    """Lines that hold something, without comments, and their numbers."""
    number = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE:
            raise DataError(f"{where}, line {number} does not end.")
        line = line.partition(b"#")[0].strip()
        if line:
            yield number, line


def _batches(lines: Iterator[_Line], size: int) -> Iterator[list[_Line]]:
    """Lines that take so many bytes together."""
    batch: list[_Line] = []
    length = 0
    for line in lines:
        batch.append(line)
        length += len(line[1])
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
        values = np.array(labels, dtype=np.bytes_)
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
                f"{row} holds {_quoted(pair)}, which is not index:value with a whole "
                f"index from 0 to {_LARGEST}."
            )
        if index <= last:
            raise DataError(
                f"{row}, index {index} comes after {last}; indices must ascend."
            )
        if not _is_finite(value):
            raise DataError(
                f"{row}, column x{index} holds {_quoted(value)}, which is not a finite "
                "number."
            )
        last = index


def _label(token: bytes) -> str | None:
    text = token.decode("utf-8", "replace")
    try:
        return as_texts(np.array([float(text)]))[0]
    except ValueError:
        return text or None


def _quoted(token: bytes) -> str:
    return quoted(token.decode("utf-8", "replace"))


def _is_finite(token: bytes) -> bool:
    try:
        return b"_" not in token and math.isfinite(float(token))
    except ValueError:
        return False
