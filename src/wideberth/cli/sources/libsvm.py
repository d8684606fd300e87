"""LIBSVM (svmlight) files: `label index:value index:value …`, one row a line."""

from __future__ import annotations

import math
import re

import numpy as np
import scipy.sparse as sp

from wideberth.cli.errors import UserError, quoted
from wideberth.cli.sources.room import check_room
from wideberth.cli.sources.streams import Source
from wideberth.cli.sources.table import Format, Request, Table, as_text
from wideberth.data.kinds import LABEL, feature_names

__all__ = ["read_libsvm"]

_BATCH = 1024
_LONGEST = 1 << 26
#: Highest index, and up to where features that no row has get a name and a weight.
_LARGEST, _FEW = (1 << 31) - 1, 1 << 20
_DIGITS = re.compile(rb"\d{1,18}")


def read_libsvm(source: Source, request: Request, form: Format) -> Table:
    """Read sparse rows; features are called x1, x2, … after their indices."""
    reader = _Reader(source.name)
    stream = source.bytes()
    batch: list[tuple[int, bytes]] = []
    number = 0
    while line := stream.readline(_LONGEST):
        number += 1
        if len(line) == _LONGEST:
            raise UserError(f"{source.name}, line {number} does not end.")
        line = line.split(b"#", 1)[0].strip()
        if line:
            batch.append((number, line))
        if len(batch) == _BATCH:
            reader.add(batch)
            batch = []
    reader.add(batch)
    return reader.table(request)


class _Reader:
    def __init__(self, where: str):
        self.where = where
        self.labels: list[str | None] = []
        self.lines: list[int] = []
        self.indices: list[np.ndarray] = [np.zeros(0, dtype=np.int64)]
        self.values: list[np.ndarray] = [np.zeros(0)]
        self.counts: list[int] = []
        self.entries = 0

    def add(self, batch: list[tuple[int, bytes]]) -> None:
        """Take a few lines; where something is wrong, find the first such place."""
        rows = [line.split() for _, line in batch]
        labels = [None if b":" in row[0] else row[0] for row in rows]
        pairs = [
            row if label is None else row[1:]
            for row, label in zip(rows, labels, strict=True)
        ]
        counts = [len(row) for row in pairs]
        flat = [pair.split(b":") for row in pairs for pair in row]
        try:
            indices = np.array([int(index) for index, _ in flat], dtype=np.int64)
            values = np.array([float(value) for _, value in flat], dtype=np.float64)
            plain = not any(b"_" in line for _, line in batch)
            good = (
                plain and _in_order(indices, counts) and bool(np.isfinite(values).all())
            )
        except (ValueError, OverflowError):
            good = False
        if not good:
            for k, ((line, _), row) in enumerate(zip(batch, pairs, strict=True), 1):
                self._check(f"row {len(self.lines) + k} (line {line})", row)
        self.lines += [line for line, _ in batch]
        self.labels += [None if label is None else _label(label) for label in labels]
        self.indices.append(indices)
        self.values.append(values)
        self.counts += counts
        self.entries += len(values)
        check_room(16 * self.entries, self.where)

    def _check(self, place: str, pairs: list[bytes]) -> None:
        row, last = f"{self.where}, {place}", -1
        for pair in pairs:
            # Bytes, as above: what text is a number depends on its type in Python.
            digits, _, value = pair.partition(b":")
            index = int(digits) if _DIGITS.fullmatch(digits) else _LARGEST + 1
            if index > _LARGEST:
                raise UserError(
                    f"{row} holds {_quoted(pair)}, which is not index:value with a "
                    f"whole index from 0 to {_LARGEST}."
                )
            if index <= last:
                raise UserError(
                    f"{row}, index {index} comes after {last}; indices must ascend."
                )
            if not _is_finite(value):
                raise UserError(
                    f"{row}, column x{index} holds {_quoted(value)}, which is not a "
                    "finite number."
                )
            last = index

    def table(self, request: Request) -> Table:
        """Put the rows together, with the columns that were asked for."""
        if not self.labels:
            raise UserError(f"{self.where} holds no rows; there is nothing to read.")
        indices = np.concatenate(self.indices)
        starts = np.concatenate([[0], np.cumsum(self.counts, dtype=np.int64)])
        n, highest = len(self.labels), int(indices.max(initial=0))
        lowest = 0 if indices.size and indices.min() == 0 else 1
        kept = np.arange(lowest, highest + 1) if highest < _FEW else np.unique(indices)
        names = [LABEL, *feature_names(kept.tolist())]
        plan = request.plan(names, self.where, sparse=True)
        at = {name: k for k, name in enumerate(names[1:])}
        # One column more, of zeros, for features that do not occur here.
        X = sp.csc_array(
            sp.csr_array(
                (np.concatenate(self.values), np.searchsorted(kept, indices), starts),
                shape=(n, len(kept) + 1),
            )
        )
        columns = [at.get(name, len(kept)) for name in plan.features]
        aside = {name: X[:, [at[name]]].toarray()[:, 0] for name in plan.numbers}
        labels = np.empty(n, dtype=object)
        labels[:] = self.labels
        texts = {name: labels for name in plan.texts if name == LABEL}
        if len(texts) < len(plan.texts):
            raise UserError(f"{self.where}: columns of a LIBSVM file hold numbers.")
        features = sp.csr_array(X[:, columns])
        return Table(plan.features, features, texts, aside, np.array(self.lines))


def _in_order(indices: np.ndarray, counts: list[int]) -> bool:
    """Whether indices ascend in every row and none is out of range."""
    if indices.size == 0:
        return True
    ends = np.cumsum(counts)[:-1]
    steps = np.diff(indices)
    inside = np.ones(len(steps), dtype=bool)
    inside[ends[(ends > 0) & (ends < len(indices))] - 1] = False
    return bool(
        indices.min() >= 0 and indices.max() <= _LARGEST and np.all(steps[inside] > 0)
    )


def _label(token: bytes) -> str | None:
    """Labels are numbers first of all: +1, 1 and 1.0 are the same."""
    text = token.decode("utf-8", "replace")
    try:
        return as_text(float(text))
    except ValueError:
        return text


def _quoted(token: bytes) -> str:
    return quoted(token.decode("utf-8", "replace"))


def _is_finite(token: bytes) -> bool:
    try:
        return b"_" not in token and math.isfinite(float(token))
    except ValueError:
        return False
