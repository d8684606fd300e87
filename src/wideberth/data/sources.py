"""Where chunks come from: arrays, and whatever yields them; files: `file_source.py`."""

from __future__ import annotations

import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from wideberth.data.arrays import check_length, load_npy
from wideberth.data.beside import Layout, errors_beside, joined_chunk
from wideberth.data.chunks import Checksum, Chunk, checksum
from wideberth.data.errors import DataError, listed
from wideberth.data.memory import chunk_bytes, parse_bytes, room
from wideberth.data.sampling import Drawn, KeyedDraw
from wideberth.noise.reading import in_order_of
from wideberth.problem.arrays import is_foreign, namespace
from wideberth.problem.limits import DEVICE_ENTRIES
from wideberth.problem.validation import check_number, refuse_masked

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
        self._reads = 0  # of all rows
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
        self._reads += 1
        _log.info("read %d of %r: %d chunks", self._reads, self, chunks)

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

    def sample(self, size: int, random_state: int = 0) -> dict[str, Any]:
        """Draw rows evenly, in one read, for what needs data in memory.

        Parameters
        ----------
        size : int
            How many rows; all of them where there are fewer.
        random_state : int, default=0
            Which ones; the same number draws the same rows.

        Returns
        -------
        dict
            "X", and "y", "sample_weight", "radius" and "X_err" where the data has
            them: what `fit` takes, `search.fit(**data.sample(100_000))`. Losses are
            summed over rows, so a C chosen on m of n rows is C·m/n for all of them.
        """
        check_number(size, "size", whole=True)
        found: Drawn | None = None
        for part in self.map(KeyedDraw(int(size), int(random_state))):
            found = part if found is None else found.joined(part)
            if len(found.keys) > 2 * size:
                found = found.smallest(size)
        if found is None:
            raise DataError("The data holds no rows; there is nothing to draw from.")
        self.n, drawn = found.n, dict(found.smallest(size).parts)
        if self.layout is not None:
            drawn["X"], drawn["X_err"] = self.layout.split(drawn["X"])
        return drawn

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


class ReadingLine:
    """One line on standard error: reads done, the chunk being read, the gap.

    It is the callback of a run over a source, and calls the user's next.
    """

    def __init__(self, source: Source, callback):
        self.callback, self.reads, self.gap = callback, 0, float("nan")
        self.live = sys.stderr.isatty()
        source.watch = self.watch if self.live else None

    def watch(self, chunks: int) -> None:
        """Show how far the present read is."""
        text = f"read {self.reads + 1}, chunk {chunks}"
        if self.gap == self.gap:
            text += f", relative gap {self.gap:.1e}"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()

    def __call__(self, entry: dict) -> bool | None:
        """Show a certified point."""
        self.reads = int(entry["passes"])
        self.gap = entry["gap"] / entry["primal"] if entry["primal"] > 0 else 0.0
        start = "\r\x1b[K" if self.live else ""
        sys.stderr.write(
            f"{start}read {self.reads}: objective {entry['primal']:.6g}, relative gap "
            f"{self.gap:.1e}, {entry['free']} rows undecided\n"
        )
        return None if self.callback is None else self.callback(entry)


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
        self.vectors = [per_row(part, self.n, name) for name, part in given]

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
            errors = in_order_of(errors, X)
            X = X if sp.issparse(X) or is_foreign(X) else np.asarray(X)
            if X.ndim != 2:
                raise DataError(
                    f"X, chunk {number}: the rows have shape {X.shape}; they "
                    "must have two dimensions: samples × features. If X holds rows, "
                    "not chunks (X, y), give y beside it."
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


def per_row(value, n: int | None, name: str):
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
