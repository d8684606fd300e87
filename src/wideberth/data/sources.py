"""Where chunks come from: arrays, .npy files, and whatever else yields them."""

from __future__ import annotations

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
import scipy.sparse as sp

from wideberth.data.checksums import Checksum, checksum
from wideberth.data.chunks import Chunk, DataError
from wideberth.data.memory import parse_bytes, resident
from wideberth.problem.arrays import is_foreign
from wideberth.problem.validation import refuse_masked

__all__ = [
    "ArraySource",
    "ChunkSource",
    "MapSource",
    "NpySource",
    "Source",
    "read_vector",
]

T = TypeVar("T")
#: float64 vectors as long as its rows that a problem in memory takes besides them.
_VECTORS = 40
#: Entries of a chunk of an array on a device, less where the array is so large that
#: memory must be short, and rows that all chunks may hand over.
_DEVICE_ENTRIES, _LESS_ENTRIES, _LARGE = 1 << 30, 1 << 29, 1 << 33
_DEVICE_ROWS = 4_000_000


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
    #: Whether the rows are in memory all the time.
    stays = False
    #: Told how many chunks of a read are done.
    watch: Callable[[int], None] | None = None

    def __init__(self, memory=None):
        self.memory = parse_bytes(memory)
        self._first: dict[int, Checksum] = {}
        self._chunks: int | None = None

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
        self._check_count(count)

    def labels(self) -> Iterator[tuple[Any, Any]]:
        """Labels and weights of all chunks, read without the features if possible."""
        for chunk in self._recognised():
            yield chunk.y, chunk.weight

    def some_labels(self) -> Iterator[Any]:
        """Labels alone, for who may stop before the end."""
        for y, _ in self.labels():
            yield y

    def _recognised(self) -> Iterator[Chunk]:
        """All chunks, each compared with what it was at the first read."""
        for chunk in self.chunks():
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

    def _check_count(self, chunks: int) -> None:
        """Note how many chunks a whole read found; all must find as many."""
        if self._chunks is None:
            self._chunks = chunks
        if chunks != self._chunks:
            raise DataError(
                f"The data changed while it was read: it came in {chunks} chunks, and "
                f"in {self._chunks} at the first read."
            )

    def capacity(self) -> int:
        """How many rows may be held in memory, with what solving on them takes."""
        free = self.memory - resident() - 4 * self.chunk_bytes
        row = max(2 * self.row_bytes, self.row_bytes + 8 * _VECTORS)
        return max(int(free / row), 20 * self.d, 1000)

    @property
    def chunk_bytes(self) -> int:
        """How much is read at a time."""
        return min(max(self.memory // 32, 1 << 20), 1 << 26)

    @property
    def chunk_rows(self) -> int:
        """How many rows are read at a time."""
        return max(int(self.chunk_bytes / max(self.row_bytes, 1)), 1)

    def spares(self, size: int) -> bool:
        """Whether this many bytes may be held on top."""
        return size <= self.memory // 4


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

    def __init__(self, X, y, weight=None, radius=None):
        super().__init__()
        self.columns = X, y, weight, radius
        self.brings_radii = radius is not None
        self.n, self.d = X.shape
        self.row_bytes = 8 * self.d
        for name, part in (("y", y), ("sample_weight", weight), ("radius", radius)):
            if part is not None and tuple(part.shape) != (self.n,):
                raise DataError(
                    f"{name} has shape {tuple(part.shape)}; it must be one number per "
                    f"row of X, shape ({self.n},)."
                )

    def chunks(self):
        for number, start in enumerate(range(0, self.n, self.chunk_rows)):
            rows = slice(start, min(start + self.chunk_rows, self.n))
            X, *vectors = self.columns
            parts = [None if part is None else part[rows] for part in vectors]
            yield Chunk.of(X[rows, :], parts, number, "X")

    def map(self, question):
        for chunk in self.chunks():
            yield question(chunk)

    @property
    def chunk_rows(self):
        entries = _DEVICE_ENTRIES if self.n * self.d < _LARGE else _LESS_ENTRIES
        return max(entries // max(self.d, 1), 1)

    def capacity(self):
        return _DEVICE_ROWS

    def spares(self, size):
        return True


class ChunkSource(Source):
    """Any object that yields (X, y[, weight, radius]) from the start when iterated.

    A function that returns such an iterator will do as well.
    """

    def __init__(self, data: Iterable | Callable[[], Iterable], memory=None):
        super().__init__(memory)
        self._start = data if callable(data) else lambda: iter(data)
        if not callable(data) and _iterator(data) is data:
            raise DataError(
                "X is an iterator, which can be read only once; give the function that "
                "makes it, or an object that starts anew each time it is iterated."
            )
        for chunk in self.chunks():
            self.d = chunk.X.shape[1]
            self.row_bytes = 8 * self.d
            if not is_foreign(chunk.X):
                held = chunk.X.data if sp.issparse(chunk.X) else chunk.X
                self.row_bytes = held.nbytes / max(chunk.n, 1)
            break
        else:
            raise DataError("X yields no chunk; at least one is needed.")

    def chunks(self):
        for number, parts in enumerate(self._start()):
            if not isinstance(parts, tuple | list) or not 2 <= len(parts) <= 4:
                raise DataError(
                    f"X, chunk {number}: each must be a tuple (X, y), (X, y, weight) "
                    f"or (X, y, weight, radius); received {type(parts).__name__}."
                )
            X, *vectors = parts
            for name, part in zip(("X", "y", "weight", "radius"), parts, strict=False):
                refuse_masked(part, name)
            X = X if sp.issparse(X) or is_foreign(X) else np.asarray(X)
            if X.ndim != 2:
                raise DataError(
                    f"X, chunk {number}: the rows have {X.ndim} dimension(s); they "
                    "must have two: samples × features. If X holds rows, not chunks "
                    "(X, y), give y beside it."
                )
            vectors = [
                part if is_foreign(part) else np.asarray(part) for part in vectors
            ]
            chunk = Chunk.of(X, vectors, number, "X")
            self.brings_radii |= chunk.radius is not None
            if chunk.n:
                yield chunk


def _iterator(data: Iterable) -> Iterator:
    try:
        return iter(data)
    except (TypeError, NotImplementedError) as error:
        raise DataError(
            f"X is a {type(data).__name__}, which yields no chunks ({error}); give an "
            "array with y beside it, or what yields (X, y)."
        ) from None


class _RowSource(Source):
    """Rows that can be taken by their numbers, with vectors of one number per row."""

    n: int

    def __init__(self, name: str, shape, dtype, memory):
        super().__init__(memory)
        if len(shape) != 2:
            raise DataError(
                f"{name} holds an array of shape {shape}; it must have two "
                "dimensions: samples × features."
            )
        self.n, self.d = shape
        if self.n < 1 or self.d < 1:
            raise DataError(
                f"{name} holds an array of shape {shape}; it needs at least one "
                "row and one column."
            )
        if dtype.kind not in "biuf":
            raise DataError(f"{name} holds {dtype}; its entries must be real numbers.")
        self.name, self.dtype = name, dtype
        self.row_bytes = self.d * dtype.itemsize

    def _attach(self, y, weight, radius) -> None:
        named = (("y", y), ("sample_weight", weight), ("radius", radius))
        self.vectors = [read_vector(value, self.n, name) for name, value in named]
        self.brings_radii = radius is not None

    @abstractmethod
    def _blocks(self, stops: Iterator[tuple[int, int]]) -> Iterator[np.ndarray]:
        """Copies of the rows from start to stop, one after the other."""

    def _stops(self) -> Iterator[tuple[int, int]]:
        for start in range(0, self.n, self.chunk_rows):
            yield start, min(start + self.chunk_rows, self.n)

    def chunks(self):
        stops = enumerate(self._stops())
        for (number, (start, stop)), X in zip(
            stops, self._blocks(self._stops()), strict=True
        ):
            parts = [
                None if part is None else np.array(part[start:stop])
                for part in self.vectors
            ]
            yield Chunk.of(X, parts, number, f"{self.name} (from row {start})")

    def labels(self):
        yield self.vectors[0], self.vectors[1]


class NpySource(_RowSource):
    """Rows of a .npy file, read piece by piece; nothing is mapped into memory."""

    def __init__(self, path, y, weight=None, radius=None, memory=None):
        self.path = Path(path)
        with self.path.open("rb") as file:
            shape, dtype, self.offset = _header(file, self.path)
        super().__init__(str(self.path), shape, dtype, memory)
        size = self.path.stat().st_size - self.offset
        if size < self.n * self.row_bytes:
            raise DataError(
                f"{self.path} is cut short: its header promises {self.n} rows of "
                f"{self.d} columns, but there are only {size // self.row_bytes}."
            )
        self._attach(y, weight, radius)

    def _blocks(self, stops):
        with self.path.open("rb") as file:
            file.seek(self.offset)
            for start, stop in stops:
                X = np.fromfile(file, self.dtype, (stop - start) * self.d)
                yield X.reshape(-1, self.d)


class MapSource(_RowSource):
    """Rows of a memory map, copied piece by piece from the array as it is.

    Never from its file: that may hold something else, where the map is copy-on-write
    and was written to, or where another file took its name. Pages that were read are
    handed back, so that a map takes no more memory than its file would; those of a
    copy-on-write map stay, since what was written to them is nowhere else.
    """

    def __init__(self, X: np.memmap, y, weight=None, radius=None, memory=None):
        super().__init__("X, a memory map", X.shape, X.dtype, memory)
        self.X = X
        self._attach(y, weight, radius)

    def _blocks(self, stops):
        pages = getattr(self.X, "_mmap", None)
        shared = self.X.mode in ("r", "r+", "w+") and hasattr(pages, "madvise")
        for start, stop in stops:
            yield np.array(self.X[start:stop], order="C", subok=False)
            if shared:
                pages.madvise(mmap.MADV_DONTNEED)  # type: ignore[union-attr]


def _header(file: BinaryIO, path: Path):
    """Shape, dtype and offset of the data of a .npy file."""
    try:
        version = np.lib.format.read_magic(file)
        read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
        shape, fortran, dtype = read(file)
    except Exception as error:  # whatever a damaged header makes of NumPy's parser
        raise _not_npy(path, error) from None
    if fortran and len(shape) == 2 and min(shape) > 1:
        raise DataError(
            f"{path} is stored column by column; store it row by row: "
            "np.save(path, np.ascontiguousarray(X))."
        )
    return shape, dtype, file.tell()


def _not_npy(path: Path, error: Exception) -> DataError:
    why = " ".join(str(error).split())
    return DataError(f"{path} is not a .npy file: {why}.")


def _mapped(path: Path):
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise
    except Exception as error:  # whatever a damaged file makes of NumPy's reader
        raise _not_npy(path, error) from None


def read_vector(value, n: int, name: str):
    """One number per row, from an array or a .npy file; None if it is one for all."""
    if value is None:
        return None
    refuse_masked(value, name)
    if isinstance(value, str | Path):
        value = _mapped(Path(value))
    value = value if isinstance(value, np.ndarray) else np.asarray(value)
    if value.shape != (n,):
        raise DataError(
            f"{name} has shape {value.shape}; it must be one number per row of X, "
            f"shape ({n},)."
        )
    return value
