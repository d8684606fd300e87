"""Where chunks come from: files, arrays, and whatever else yields them."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from os import PathLike
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from wideberth.data.arrays import check_length, load_npy
from wideberth.data.beside import Layout, errors_beside, joined_chunk
from wideberth.data.chunks import Checksum, Chunk, checksum
from wideberth.data.errors import DataError, listed
from wideberth.data.memory import chunk_bytes, parse_bytes, room
from wideberth.data.table import Plan, Reader
from wideberth.problem.arrays import is_foreign, namespace
from wideberth.problem.limits import DEVICE_ENTRIES
from wideberth.problem.validation import refuse_masked

_log = logging.getLogger(__name__)
T = TypeVar("T")
#: What vectors beside the rows are called in a chunk, and by users.
ROLES = {"y": "y", "weight": "sample_weight", "radius": "radius"}
#: What a chunk is given as.
_CHUNK = (
    "(X, y), (X, y, weight), (X, y, weight, radius) or (X, y, weight, radius, X_err)"
)
#: Copies of the rows in memory at a time: those handed over, a working set of them, and
#: one under way (with 2, 150 000 × 200 float32 in a room of 60 MB take 78 MB).
_COPIES = 3.0
#: float64 vectors that solving takes beside the rows, as long as those are many (a
#: choice: with it `python -m benchmarks.caps` keeps to its caps where it was run).
_VECTORS = 30
#: Chunks that are held while the data is read: the next, the present one and copies
#: (the same benchmark: peaks are up to 2 % below a cap of 280 MB).
_CHUNKS = 4


class Source(ABC):
    """Rows that can be read again and again, chunk by chunk.

    Every read must find the same: chunks are recognised by their checksums, and one
    that is not what it was at the first read is an error. Answers about different data
    would be put together as one proof.
    """

    #: Rows, where that is known before the first read, and features.
    n: int | None = None
    d: int
    #: Bytes of a row.
    row_bytes: float
    #: Names of the features, where the data has them.
    names: list[str] | None = None
    #: Whether rows bring radii of their own; of chunks that is known once all are read.
    brings_radii = False
    #: Where chunks have the errors of their values, which are d columns then.
    layout: Layout | None = None
    #: Whether cells may be missing; who reads them must know what to do about it.
    gaps = False
    #: Whether rows have labels.
    labelled = True
    #: How to give labels, for who forgot them.
    _wanted = "give one label per row of X"
    #: Whether the rows are in memory all the time.
    stays = False
    #: Told how many chunks of a read are done.
    watch: Callable[[int], None] | None = None
    #: The kind of the data and where it is, for who prints it.
    _what = ""

    def __init__(self, memory=None):
        self.memory, self.room = parse_bytes(memory), room(memory)
        self.reads = 0  # of all rows
        self._first: dict[int, Checksum] = {}
        self._chunks: int | None = None

    def measured(self, layout: Layout | None) -> Self:
        """This source, where some of its columns are errors of others."""
        if layout is not None:
            self.layout, self.d = layout, layout.d
            self.names = None if self.names is None else self.names[: layout.d]
        return self

    def require_labels(self) -> None:
        """Say what to give where rows have no labels, and those are needed."""
        if not self.labelled:
            raise DataError(f"y is missing; {self._wanted}.")

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """All chunks, in the same order each time."""

    def map(self, question: Callable[[Chunk], T]) -> Iterator[T]:
        """Put a question to every chunk; the next one is read meanwhile."""
        count = 0
        for count, chunk in enumerate(_ahead(self._recognised()), 1):
            yield question(chunk)
            if self.watch is not None:
                self.watch(count)
        self._log_read(count)
        if self._chunks is None:
            self._chunks = count
        if count != self._chunks:
            raise DataError(
                f"The data changed while it was read: it came in {count} chunks, and "
                f"in {self._chunks} at the first read."
            )

    def _log_read(self, chunks: int) -> None:
        """Tell whoever listens that the data was read once more."""
        self.reads += 1
        _log.info("read %d of %r: %d chunks", self.reads, self, chunks)

    def labels(self) -> Iterator[tuple[Any, Any]]:
        """Labels and weights of all chunks, read without the features if possible."""
        for chunk in self._recognised():
            yield chunk.y, chunk.weight

    def some_labels(self) -> Iterator[Any]:
        """Labels alone, for who may stop before the end."""
        for y, _ in self.labels():
            yield y

    def _recognised(self) -> Iterator[Chunk]:
        """All chunks, each compared with what it was at the first read.

        Rows that stay in memory are not read anew.
        """
        for chunk in self.chunks():
            if not self.stays:
                self._recognise(chunk.number, checksum(chunk), chunk.origin)
            yield chunk

    def _recognise(self, number: int, found: Checksum, origin: str) -> None:
        if self._first.setdefault(number, found) != found:
            raise DataError(
                f"{origin}, chunk {number}: the data changed while it was read; this "
                "chunk is not what it was at the first read. Give data that yields "
                "the same values in the same order each time: no shuffling, no random "
                "augmentation, no file that is being written."
            )

    def capacity(self, copies: float = _COPIES, item: float | None = None) -> int:
        """How many rows may be held in memory, with what solving on them takes.

        `item` is the size of a row in bytes, if not that of the data. A quarter of the
        room is for results, one value or two per row of the data.
        """
        row = copies * (self.row_bytes if item is None else item) + 8 * _VECTORS
        free = 0.75 * self.room - _CHUNKS * self.chunk_bytes
        return max(int(free / row), 1)

    @property
    def chunk_bytes(self) -> int:
        """How much is read at a time."""
        return chunk_bytes(self.memory)

    @property
    def chunk_rows(self) -> int:
        """How many rows are read at a time."""
        return max(int(self.chunk_bytes / max(self.row_bytes, 1)), 1)

    def spares(self, size: int) -> bool:
        """Whether this many bytes may be held on top."""
        return size <= self.room // 4

    def __repr__(self):
        n = "?" if self.n is None else self.n
        columns = "" if self.names is None else f"columns {listed(self.names)}"
        parts = [self._what, f"{n} rows × {self.d} features", columns]
        return f"<{type(self).__name__}: {', '.join(filter(None, parts))}>"


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next being fetched while the last is used."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item


class ArraySource(Source):
    """Rows of an array that stays where it is, taken in slices.

    It is held by reference and nothing is read twice, so no checksum is taken: like a
    NumPy array in memory, it changes only if the program that passed it changes it.
    """

    n: int
    stays = True

    def __init__(self, X, y, weight=None, radius=None, X_err=None):
        super().__init__()
        self.tables = [X] if X_err is None else [X, errors_beside(X, X_err)]
        self.brings_radii = radius is not None
        self.n, self.d = X.shape
        self.measured(None if X_err is None else Layout.of(self.d))
        self.row_bytes = 8 * self.d * len(self.tables)
        given = zip(ROLES.values(), (y, weight, radius), strict=True)
        self.vectors = [_per_row(part, self.n, name) for name, part in given]

    def chunks(self):
        for number, start in enumerate(range(0, self.n, self.chunk_rows)):
            rows = slice(start, min(start + self.chunk_rows, self.n))
            parts = [None if part is None else part[rows] for part in self.vectors]
            tables = [table[rows, :] for table in self.tables]
            X = tables[0]
            if len(tables) > 1:
                X = namespace(X).concat(tables, axis=1)
            yield Chunk.of(X, parts, number, "X")

    def map(self, question):
        for chunk in self.chunks():
            yield question(chunk)

    @property
    def chunk_rows(self):
        return max(2 * DEVICE_ENTRIES // max(self.d * len(self.tables), 1), 1)

    def capacity(self, copies=_COPIES, item=None):
        return min(self.n, self.chunk_rows // 2)

    def spares(self, size):
        return True


class ChunkSource(Source):
    """Any object that yields (X, y[, weight, radius, X_err]) anew when iterated.

    A function that returns such an iterator will do as well. Chunks of rows without
    labels may be X alone.
    """

    _wanted = f"X must yield {_CHUNK}, not rows alone"

    def __init__(self, data: Iterable | Callable[[], Iterable], memory=None):
        super().__init__(memory)
        self._start = data if callable(data) else lambda: iter(data)
        try:
            once = not callable(data) and iter(data) is data
        except (TypeError, NotImplementedError) as error:
            raise DataError(
                f"X is a {type(data).__name__}, which yields no chunks ({error}); give "
                "an array with y beside it, or what yields (X, y)."
            ) from None
        if once:
            raise DataError(
                "X is an iterator, which can be read only once; give the function that "
                "makes it, or an object that starts anew each time it is iterated."
            )
        first = next(self.chunks(), None)
        if first is None:
            raise DataError("X yields no chunk; at least one is needed.")
        self.d, self.labelled = first.X.shape[1], first.y is not None
        self.row_bytes = 8 * self.d
        if not is_foreign(first.X):
            held = first.X.data if sp.issparse(first.X) else first.X
            self.row_bytes = held.nbytes / max(first.n, 1)
        self.measured(self.layout)

    def chunks(self):
        for number, parts in enumerate(self._start()):
            if sp.issparse(parts) or getattr(parts, "ndim", 0) == 2:
                parts = (parts, None)
            if not isinstance(parts, tuple | list) or not 2 <= len(parts) <= 5:
                raise DataError(
                    f"X, chunk {number}: each must be a tuple {_CHUNK}; received "
                    f"{type(parts).__name__}."
                )
            (X, *vectors), errors = parts[:4], (*parts, None, None, None)[4]
            for name, part in zip(("X", "y", "weight", "radius"), parts, strict=False):
                refuse_masked(part, name)
            X = X if sp.issparse(X) or is_foreign(X) else np.asarray(X)
            if X.ndim != 2:
                raise DataError(
                    f"X, chunk {number}: the rows have {X.ndim} dimension(s); they "
                    "must have two: samples × features. If X holds rows, not chunks "
                    "(X, y), give y beside it."
                )
            if errors is not None:
                where = f"X, chunk {number}"
                if is_foreign(X):
                    raise DataError(
                        f"{where}: errors go with NumPy and SciPy arrays; its rows are "
                        f"a {type(X).__name__}."
                    )
                X, layout = joined_chunk(X, errors, where)
                self.layout = self.layout or layout
            vectors = [
                part if part is None or is_foreign(part) else np.asarray(part)
                for part in vectors
            ]
            chunk = Chunk.of(X, vectors, number, "X")
            self.brings_radii |= chunk.radius is not None
            if chunk.n:
                yield chunk


class TableSource(Source):
    """Rows of a file, or of a memory map: features in columns, the rest beside them.

    Labels, weights and radii are names of columns, or vectors of one value per row.
    Labels of columns have the type that the file gives them; with `texts` they are
    text, which `values`, once it is filled, says the values of.
    """

    def __init__(
        self, reader: Reader, plan: Plan, beside: dict, memory=None, *, texts=False
    ):
        super().__init__(memory)
        self.reader, self.plan, self.texts = reader, plan, texts
        self._what = f"{reader.kind}, {reader.name}"
        self.values: dict[str, Any] = {}
        self.n, self.d = reader.n, len(plan.features)
        self.row_bytes = reader.row_bytes(plan)
        named = reader.kind not in ("npy", "libsvm")
        self.names = list(plan.features) if named and not texts else None
        aside = (*plan.texts, *plan.numbers)
        self.beside = {}
        for role, name in ROLES.items():
            value = beside.get(role)
            if not (isinstance(value, str) and value in aside):  # a column
                value = _per_row(value, self.n, name)
            self.beside[role] = value
        self.brings_radii = self.beside["radius"] is not None
        self.labelled = self.beside["y"] is not None

    def require_labels(self):
        if self.labelled:
            return
        name, names = self.reader.name, self.reader.names
        if self.names is None:
            raise DataError(f"y is missing; give the labels that go with {name}.")
        raise DataError(
            f"y=None must be the name of the column of {name} that holds the labels; "
            f"there are {listed(names, 8)}."
        )

    def labels(self):
        y, weight = self.beside["y"], self.beside["weight"]
        if not any(isinstance(part, str) for part in (y, weight)):
            yield y, weight
            return
        numbers = tuple(n for n in self.plan.numbers if n == weight)
        for chunk in self.chunks(Plan(self.plan.texts, numbers, ())):
            yield chunk.y, chunk.weight

    def chunks(self, plan: Plan | None = None) -> Iterator[Chunk]:
        """All chunks, with the features of this plan if not of all."""
        start, number, plan = 0, 0, plan or self.plan
        for table in self.reader.tables(plan, self.chunk_bytes, not self.texts):
            if not table.n:
                continue
            rows = slice(start, start + table.n)
            columns = table.texts | table.numbers
            vectors = []
            for part in self.beside.values():
                if isinstance(part, str):
                    vectors.append(columns.get(part))
                else:
                    vectors.append(None if part is None else np.array(part[rows]))
            chunk = Chunk.of(table.X, vectors, number, table.origin)
            self._check_complete(chunk, plan)
            yield self._with_values(chunk) if self.texts else chunk
            start, number = rows.stop, number + 1

    def _check_complete(self, chunk: Chunk, plan: Plan) -> None:
        """Name the place of the first value that is missing or infinite."""
        if self.gaps or sp.issparse(chunk.X) or np.isfinite(chunk.X.sum()):
            return
        wrong = np.argwhere(~np.isfinite(chunk.X))
        if wrong.size:
            row, column = wrong[0]
            what = "no value" if np.isnan(chunk.X[row, column]) else "no finite number"
            raise chunk.error(
                f"row {row} has {what} in column {plan.features[column]!r}; impute or "
                "drop such rows first."
            )

    def _with_values(self, chunk: Chunk) -> Chunk:
        """The chunk with values for labels of text, where these are known."""
        texts = chunk.y.tolist()
        if None in texts:
            raise chunk.error(
                f"row {texts.index(None)} has no label; leave such rows out of the "
                "file, or leave out --memory."
            )
        if not self.values:
            return chunk
        if not self.values.keys() >= set(texts):
            raise chunk.error("its labels changed since they were first read.")
        return replace(chunk, y=np.array([self.values[text] for text in texts]))


def _per_row(value, n: int | None, name: str):
    """One value per row, from an array or a .npy file; None if there is none."""
    if value is None:
        return None
    refuse_masked(value, name)
    if isinstance(value, str | PathLike):
        value = load_npy(value, mapped=True)
    elif not isinstance(value, np.ndarray) and not is_foreign(value):
        value = np.asarray(value)
    check_length(value, n, name)
    return value
