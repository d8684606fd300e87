"""Where chunks come from: arrays, files, Dask, and whatever yields them.

A `Source` puts questions to every chunk of its rows, `map(question)`. Rows of a Dask
collection answer where they live; only answers travel. A task there depends on its
partition and on the question alone, so one that is lost with its worker is computed
again, by Dask, with the same result.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from wideberth.data.arrays import check_length, load_npy
from wideberth.data.errors import DataError, agree, listed, quoted
from wideberth.data.files import chunk_bytes, parse_bytes, room
from wideberth.data.samples import Checksum, Samples, checksum
from wideberth.data.table import Plan, Reader, Table
from wideberth.noise.reading import in_order_of
from wideberth.problem.arrays import host, is_foreign, like, namespace
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
#: choice: with it covtype in float32 kept to caps of 280 and 400 MB with version 0.2).
_VECTORS = 30
#: Chunks that are held while the data is read: the next, the present one and copies
#: (the same run: peaks were up to 2 % below a cap of 280 MB).
_CHUNKS = 4
_DASK = "X, a Dask collection"


class Source(ABC):
    """Rows that can be read again and again, chunk by chunk.

    Every pass must find the same rows, because a certificate combines results of
    several passes. Changed files are detected by their size and modification time,
    other changed data by a checksum of every chunk.
    """

    #: Rows, where that is known before the first read, and features.
    n: int | None = None
    d: int
    #: Bytes of a row, errors included.
    row_bytes: float
    #: Names of the features, where the data has them.
    names: list[str] | None = None
    #: Whether rows bring radii of their own; of chunks that is known once all are read.
    brings_radii = False
    #: Whether chunks bring the errors of their values.
    brings_errors = False
    #: Whether cells may be missing (NaN); otherwise they are refused.
    gaps = False
    #: Whether rows have labels; and how to give them, for a message.
    labelled = True
    _wanted = "give one label per row of X"
    #: Whether the rows are in memory all the time.
    stays = False
    #: Bytes that a row takes once it is read, divided by those that are read.
    growth = 1.0
    #: The kind of the data and where it is, for `repr`.
    _what = ""
    #: Files that hold X, with size and time of change; None where X is in no file.
    _stamps: dict[str, tuple[int, int]] | None = None

    def __init__(self, memory=None):
        self.memory, self.room = parse_bytes(memory), room(memory)
        self._reads = 0  # of all rows
        self._first: dict[int, Checksum] = {}
        self._chunks: int | None = None

    def require_labels(self) -> None:
        """Say what to give where rows have no labels, and those are needed."""
        if not self.labelled:
            raise DataError(f"y is missing; {self._wanted}.")

    @abstractmethod
    def chunks(self) -> Iterator[Samples]:
        """All chunks, in the same order each time."""

    def map(self, question: Callable[[Samples], T]) -> Iterator[T]:
        """Put a question to every chunk; the next one is read meanwhile."""
        count = 0
        for chunk in _ahead(self._recognised()):
            yield question(chunk)
            count += 1
        self._log_read(count)
        self._chunks = self._chunks or count
        if count != self._chunks:
            raise DataError(
                f"The data changed while it was read: it came in {count} chunks, and "
                f"in {self._chunks} at the first read."
            )

    def _log_read(self, chunks: int) -> None:
        """Count a read of all rows, and log it."""
        self._reads += 1
        _log.info("read %d of %r: %d chunks", self._reads, self, chunks)

    def labels(self) -> Iterator[tuple[Any, Any]]:
        """Labels and weights of all chunks, read without the features if possible."""
        for chunk in self._recognised():
            yield chunk.y, chunk.weight

    def some_labels(self) -> Iterator[Any]:
        """Labels alone, chunk by chunk; a caller may stop before the end."""
        for y, _ in self.labels():
            yield y

    def _recognised(self) -> Iterator[Samples]:
        """All chunks, each compared with what it was at the first read."""
        self._check_files()
        for chunk in self.chunks():
            if not self.stays:
                found = checksum(chunk, rows=self._stamps is None)
                self._recognise(chunk.number, found, chunk.origin)
            yield chunk
        self._check_files()

    def _check_files(self) -> None:
        for path, stamp in (self._stamps or {}).items():
            if _stamp(path) != stamp:
                raise DataError(
                    f"{path}: the data changed while it was read; the file was "
                    "written to or replaced. Start again when it is complete."
                )

    def _recognise(self, number: int, found: Checksum, origin: str) -> None:
        if self._first.setdefault(number, found) != found:
            raise DataError(
                f"{origin}, chunk {number}: the data changed while it was read; this "
                "chunk is not what it was at the first read. Give data that yields "
                "the same values in the same order each time: no shuffling, no random "
                "augmentation."
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
        _, drawn = self.draw(size, random_state)
        parts = {"X": drawn.X, "y": drawn.y, "sample_weight": drawn.weight}
        parts |= {"radius": drawn.radius, "X_err": drawn.X_err}
        return {name: part for name, part in parts.items() if part is not None}

    def draw(self, size: int, random_state: int = 0) -> tuple[np.ndarray, Samples]:
        """The rows of `sample`, with their numbers; every row has the same chance."""
        check_number(size, "size", whole=True)
        n, keys, drawn = 0, np.empty((2, 0)), None
        for count, more, rows in self.map(_RandomRows(int(size), int(random_state))):
            more[1] += n
            n, keys = n + count, np.hstack([keys, more])
            drawn = rows if drawn is None else drawn.joined(rows)
            if keys.shape[1] > 2 * size:
                keys, drawn = _smallest(keys, drawn, size)
        if drawn is None:
            raise DataError("The data holds no rows; there is nothing to draw from.")
        self.n, (keys, drawn) = n, _smallest(keys, drawn, size)
        return keys[1].astype(int), drawn

    def capacity(self, copies: float = _COPIES, item: float | None = None) -> int:
        """How many rows may be held in memory, with what solving on them takes.

        `item` is the size of a row in bytes, if not that of the data. A quarter of the
        memory is for results, one value or two per row of the data.
        """
        row = copies * (self.row_bytes if item is None else item) + 8 * _VECTORS
        free = 0.75 * self.room - _CHUNKS * self.chunk_bytes
        return max(int(free / row), 1)

    @property
    def chunk_bytes(self) -> int:
        """How much is read at a time."""
        return max(int(chunk_bytes(self.memory) / self.growth), 1)

    def spares(self, size: int) -> bool:
        """Whether this many bytes may be held on top."""
        return size <= self.room // 4

    def __repr__(self):
        n = "?" if self.n is None else self.n
        columns = "" if self.names is None else f"columns {listed(self.names)}"
        parts = [self._what, f"{n} rows × {self.d} features", columns]
        return f"<{type(self).__name__}: {', '.join(filter(None, parts))}>"


def logged(callback: Callable[[dict], bool | None] | None, verbose: bool = False):
    """A callback that tells the logger of every certified point, then the user's.

    If `verbose` a line on standard error says it, too.
    """

    def certified(entry: dict) -> bool | None:
        text = (
            f"after {entry['passes']:g} reads: objective {entry['primal']:.6g}, gap "
            f"{entry['gap']:.2e}, {entry['free']} rows undecided, "
            f"{entry['seconds']:.1f} s"
        )
        _log.info(text)
        if verbose:
            print(text, file=sys.stderr)
        return None if callback is None else callback(entry)

    return certified


def _ahead(items: Iterator[T]) -> Iterator[T]:
    """The same items, the next being fetched while the last is used."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item


@dataclass(frozen=True)
class _RandomRows:
    """A question to chunks: which of their rows have the smallest random keys."""

    size: int
    seed: int

    def __call__(self, chunk: Samples) -> tuple[int, np.ndarray, Samples]:
        """The number of rows, and keys, places and samples of those drawn."""
        keys = np.random.default_rng((self.seed, chunk.number)).random(chunk.n)
        keys = np.stack([keys, np.arange(chunk.n)])
        y, weight, radius = (
            None if part is None else host(part)
            for part in (chunk.y, chunk.weight, chunk.radius)
        )
        here = replace(chunk, y=y, weight=weight, radius=radius)
        return chunk.n, *_smallest(keys, here, self.size)


def _smallest(keys: np.ndarray, rows: Samples, size: int) -> tuple[np.ndarray, Samples]:
    """At most so many rows, those of the smallest keys, in their order."""
    if keys.shape[1] <= size:
        return keys, rows
    kept = np.sort(np.argpartition(keys[0], size - 1)[:size])
    return keys[:, kept], rows.take(kept)


class ArraySource(Source):
    """Rows of an array that stays where it is, taken in slices.

    It is held by reference and nothing is read twice, so no checksum is taken: like a
    NumPy array in memory, it changes only if the program that passed it changes it.
    """

    n: int
    stays = True

    def __init__(self, X, y, weight=None, radius=None, X_err=None):
        super().__init__()
        self.n, self.d = X.shape
        self.brings_radii, self.brings_errors = radius is not None, X_err is not None
        self.row_bytes = 8 * self.d * (1 + self.brings_errors)
        #: Rows of a slice, as many as fit on the device with the errors.
        self.step = max(16 * DEVICE_ENTRIES // max(self.row_bytes, 1), 1)
        given = zip(ROLES, (y, weight, radius), strict=True)
        vectors = {role: per_row(v, self.n, ROLES[role]) for role, v in given}
        errors = () if X_err is None else (_errors_like(X, X_err),)
        self.whole = Samples(X, **vectors, errors=errors, origin="X")

    def chunks(self):
        step = max(int(self.step / self.growth), 1)
        for number, start in enumerate(range(0, self.n, step)):
            rows = slice(start, min(start + step, self.n))
            yield replace(self.whole.take(rows), number=number)

    def map(self, question):
        for chunk in self.chunks():
            yield question(chunk)

    def capacity(self, copies=_COPIES, item=None):
        return min(self.n, self.step // 2)

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
        self.d, self.labelled = first.d, first.y is not None
        self.brings_errors = bool(first.errors)
        self.row_bytes = 8 * self.d
        if not is_foreign(first.X):
            held = first.X.data if sp.issparse(first.X) else first.X
            self.row_bytes = held.nbytes / max(first.n, 1)
        self.row_bytes *= 1 + len(first.errors)

    def chunks(self):
        for number, parts in enumerate(self._start()):
            chunk = self._chunk(number, parts)
            self.brings_radii |= chunk.radius is not None
            if chunk.n:
                yield chunk

    def _chunk(self, number: int, parts) -> Samples:
        """One of the chunks, checked."""
        where = f"X, chunk {number}"
        if sp.issparse(parts) or getattr(parts, "ndim", 0) == 2:
            parts = (parts, None)
        if not isinstance(parts, tuple | list) or not 2 <= len(parts) <= 5:
            raise DataError(
                f"{where}: each must be a tuple {_CHUNK}; received "
                f"{type(parts).__name__}."
            )
        for name, part in zip(("X", "y", "weight", "radius"), parts, strict=False):
            refuse_masked(part, name)
        X, *vectors, errors = (*parts, None, None, None)[:5]
        errors = error_tables(in_order_of(errors, X))
        X = _plain(X)
        if X.ndim != 2:
            raise DataError(
                f"{where}: the rows have shape {X.shape}; they must have two "
                "dimensions: samples × features. If X holds rows, not chunks "
                "(X, y), give y beside it."
            )
        if errors and is_foreign(X):
            raise DataError(
                f"{where}: errors go with NumPy and SciPy arrays; its rows are a "
                f"{type(X).__name__}."
            )
        tables = tuple(map(_plain, errors))
        for table in tables:
            check_errors(table, X.shape, where)
        y, weight, radius = map(_plain, vectors)
        return Samples(X, y, weight, radius, tables, number, "X")


def _plain(part):
    """A NumPy array, CSR matrix or array of another library; None stays None."""
    if part is None or is_foreign(part):
        return part
    if sp.issparse(part):
        return part.tocsr()
    return part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)


class TableSource(Source):
    """Rows of a file: features in columns, the rest beside them.

    Labels, weights and radii are names of columns, or vectors of one value per row.
    Labels of columns have the type that the file gives them; with `texts` they are
    text, which `values`, once it is filled, says the values of. Each table of `errors`
    is an array that gives rows from start to stop, or a list of the columns that hold
    the errors of each feature, None where it is exact (`named_errors`).
    """

    #: Whether nobody said which columns are features.
    guessed = False
    #: Whether values whose error is 0 are exact; otherwise such an error is refused.
    zero_is_exact = True

    def __init__(
        self,
        reader: Reader,
        plan: Plan,
        beside: dict,
        memory=None,
        *,
        errors=(),
        texts=False,
    ):
        super().__init__(memory)
        self.reader, self.plan, self.texts = reader, plan, texts
        self.errors, self.brings_errors = errors, bool(errors)
        self._what = f"{reader.kind}, {reader.name}"
        self.values: dict[str, Any] = {}
        self.n, self.d = reader.n, len(plan.features)
        self.row_bytes = reader.row_bytes(plan) * (1 + len(errors))
        named = reader.kind not in ("npy", "libsvm")
        self.names = list(plan.features) if named and not texts else None
        self.beside = {}
        for role, name in ROLES.items():
            value = beside.get(role)
            if not (isinstance(value, str) and value in (*plan.texts, *plan.numbers)):
                value = per_row(value, self.n, name)  # no column
            self.beside[role] = value
        self._stamps = {path: _stamp(path) for path in reader.paths}
        self.brings_radii = self.beside["radius"] is not None
        self.labelled = self.beside["y"] is not None

    def require_labels(self):
        if not self.labelled:
            raise no_labels(self.reader)

    def labels(self):
        y, weight = self.beside["y"], self.beside["weight"]
        if not any(isinstance(part, str) for part in (y, weight)):
            yield y, weight
            return
        numbers = tuple(n for n in self.plan.numbers if n in (y, weight))
        for chunk in self.chunks(Plan(self.plan.texts, numbers)):
            yield chunk.y, chunk.weight

    def chunks(self, plan: Plan | None = None) -> Iterator[Samples]:
        """All chunks, with the features of this plan if not of all."""
        start, number, plan = 0, 0, plan or self.plan
        for table in self.reader.tables(plan, self.chunk_bytes, not self.texts):
            if not table.n:
                continue
            rows, columns = slice(start, start + table.n), table.texts | table.numbers

            def part(value, rows=rows, columns=columns):
                named = value is None or isinstance(value, str)
                return columns.get(value or "") if named else np.array(value[rows])

            if plan is self.plan and not self.zero_is_exact:
                self._refuse_zeros(table)
            errors = tuple(
                error_cells(own, columns, table.n) if isinstance(own, list)
                else own[rows]
                for own in (self.errors if plan is self.plan else ())
            )  # fmt: skip
            vectors = {role: part(value) for role, value in self.beside.items()}
            chunk = Samples(
                table.X, **vectors, errors=errors, number=number, origin=table.origin
            )
            self._check_complete(chunk, plan)
            if self.guessed and plan is self.plan:
                self._warn_of_numbers(chunk)
            yield self._with_values(chunk) if self.texts else chunk
            start, number = rows.stop, number + 1

    def _refuse_zeros(self, table: Table) -> None:
        """Name the place of the first error of 0."""
        for name in error_names(self.errors):
            if not (cells := table.numbers[name]).all():
                raise DataError(
                    f"{table.origin}, {table.where(int(np.argmin(cells != 0)))}: the "
                    f"error in column {quoted(name)} is 0; add absent=exact to "
                    "--errors if such values are exact."
                )

    def _warn_of_numbers(self, chunk: Samples) -> None:
        """Remark, once, on columns that number the rows and were not asked for."""
        self.guessed = False
        if sp.issparse(chunk.X) or chunk.n < 3:
            return
        steps = np.all(chunk.X[1:] - chunk.X[:-1] == 1, axis=0)
        if steps.any():
            names = [self.plan.features[k] for k in np.flatnonzero(steps).tolist()]
            numbers = agree(len(names), "numbers the rows and is used as a feature",
                            "number the rows and are used as features")  # fmt: skip
            warnings.warn(
                f"{self.reader.name}: {listed(names)} {numbers}; say which columns "
                "are features: open_data(path, y, columns=[...]).",
                stacklevel=2,
            )

    def _check_complete(self, chunk: Samples, plan: Plan) -> None:
        """Name the place of the first value that is missing or infinite."""
        if self.gaps or sp.issparse(chunk.X) or np.isfinite(chunk.X.sum()):
            return
        for row, column in np.argwhere(~np.isfinite(chunk.X))[:1]:
            what = "no value" if np.isnan(chunk.X[row, column]) else "no finite number"
            raise chunk.error(
                f"row {row} has {what} in column {plan.features[column]!r}; impute or "
                "drop such rows first."
            )

    def _with_values(self, chunk: Samples) -> Samples:
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


class DaskSource(Source):
    """Rows of a Dask collection; partitions must be split by rows alone.

    Partitions are kept in the cluster's memory if the user persisted them, and computed
    anew at every read if not. `errors` is a collection like X, or where X is a frame a
    list of the columns that hold the errors of each feature, None where it is exact;
    `names` are features.
    """

    _wanted = "give a Dask array or series of labels"

    def __init__(
        self, X, y, weight=None, radius=None, memory=None, *, errors=None, names=None
    ):
        super().__init__(memory)
        self.names, self.d = names, X.shape[1] if names is None else len(names)
        self.brings_errors = errors is not None
        self.row_bytes = 8 * self.d * (1 + self.brings_errors)
        self.brings_radii, self.labelled = radius is not None, y is not None
        self.blocks = _partitions(X, "X")
        #: Rows of each partition, NaN where that is not known.
        self.lengths = getattr(X, "chunks", [(math.nan,) * len(self.blocks)])[0]
        n = sum(self.lengths)
        self.n = None if math.isnan(n) else int(n)
        #: Partitions of labels, weights, radii and errors; None where there are none,
        #: and a list of columns in each partition of X where these hold errors.
        self.beside: list[list | None] = []
        given = {"y": y, "sample_weight": weight, "radius": radius, "X_err": errors}
        for name, value in given.items():
            parts = None
            if isinstance(value, list):
                parts = [value] * len(self.blocks)
            elif value is not None:
                parts = _partitions(value, name)
            if parts is not None and len(parts) != len(self.blocks):
                raise DataError(
                    f"{name} has {len(parts)} partitions where X has "
                    f"{len(self.blocks)}; split both alike (rechunk, repartition)."
                )
            self.beside.append(parts)

    def map(self, question):
        import dask

        ask, tasks = dask.delayed(_answer, pure=False), []
        for number in range(len(self.blocks)):
            asked = question.part(number) if hasattr(question, "part") else question
            tasks.append(ask(asked, *self.parts(number)))
        for number, (answer, found) in enumerate(_as_they_come(tasks)):
            self._recognise(number, found, _DASK)
            if answer is not None:  # an empty partition
                yield answer
        self._log_read(len(tasks))

    def parts(self, number: int) -> list:
        """What `_partition` makes a chunk of."""
        beside = [None if part is None else part[number] for part in self.beside]
        return [number, self.names, self.blocks[number], *beside]

    def chunks(self):
        yield from self.map(lambda chunk: chunk)

    def labels(self):
        yield from self.map(lambda chunk: (chunk.y, chunk.weight))

    def some_labels(self):
        for part in self.beside[0] or ():  # one by one: the first often does
            y = _plain(part.compute())
            if y.shape[0]:
                yield y

    def answered(self, question, name: str, dtype, width: tuple):
        """A Dask array of one answer per row, computed when it is asked for.

        `question` answers with a dict of arrays, of which that of this name is taken.
        """
        import dask
        import dask.array as da

        ask = dask.delayed(_named_answer, pure=False)
        parts = [
            da.from_delayed(ask(question, name, *self.parts(k)), (n, *width), dtype)
            for k, n in enumerate(self.lengths)
        ]
        return da.concatenate(parts, allow_unknown_chunksizes=True)


def _as_they_come(tasks: list):
    """Answers in order; on a cluster those that are early wait there."""
    import dask

    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        yield from dask.compute(*tasks)
        return
    futures = client.compute(tasks)
    try:
        while futures:
            yield futures[0].result()
            futures.pop(0).release()
    finally:
        for future in futures:
            future.cancel()


def _answer(question, *parts):
    """In a worker: what one partition answers, and its checksum."""
    chunk = _partition(*parts)
    return question(chunk) if chunk.n else None, checksum(chunk)


def _named_answer(question, name: str, *parts):
    return question(_partition(*parts))[name]


def _partition(number: int, names, X, y, weight, radius, errors) -> Samples:
    tables = () if errors is None else (
        error_cells(errors, X, len(X)) if isinstance(errors, list) else _plain(errors),
    )  # fmt: skip
    X = _plain(X if names is None else X[names])
    y, weight, radius = map(_plain, (y, weight, radius))
    return Samples(X, y, weight, radius, tables, number, _DASK)


def _partitions(data, name: str) -> list:
    if not hasattr(data, "to_delayed"):
        raise DataError(
            f"{name} is a {type(data).__name__}; beside a Dask collection it must be "
            "one too, split alike."
        )
    if hasattr(data, "npartitions") and not hasattr(data, "chunks"):
        # Optimised, columns of one frame may come in fewer partitions than others.
        return list(data.to_delayed(optimize_graph=False))
    if data.ndim == 2 and data.numblocks[1] > 1:
        data = data.rechunk({1: -1})
    return data.to_delayed().ravel().tolist()


class ChangedSource(Source):
    """The rows of another source, of which a function makes others, chunk by chunk.

    Rows are changed where they live, each time that they are read. `change` makes a
    chunk of d features of a chunk; `brings_radii` says whether with radii per row.
    """

    def __init__(self, source: Source, change, d: int, brings_radii: bool):
        self.memory, self.room = source.memory, source.room
        self.n, self.d, self.row_bytes = source.n, d, 8.0 * d
        self.labelled, self.brings_radii = source.labelled, brings_radii
        self._what, self._change = f"made of {source!r}", change
        self._source = copy(source)  # in chunks of another size
        self._source.growth = max(self.row_bytes / source.row_bytes, 1.0)
        self._source._first, self._source._chunks = {}, None

    def chunks(self):
        for chunk in self._source.chunks():
            yield self._change(chunk)

    def map(self, question):
        return self._source.map(_OfChanged(self._change, question))

    def labels(self):
        yield from self._source.labels()

    def some_labels(self):
        yield from self._source.some_labels()


@dataclass(frozen=True)
class _OfChanged:
    """A question to what a function makes of chunks."""

    change: Callable[[Samples], Samples]
    question: Callable[[Samples], Any]

    def __call__(self, chunk: Samples) -> Any:
        """What the question answers; a chunk that the data ends with may be empty."""
        return self.question(self.change(chunk))

    def part(self, number: int) -> _OfChanged:
        """What of the question concerns one chunk."""
        if not hasattr(self.question, "part"):
            return self
        return replace(self, question=self.question.part(number))


# -- what goes with the rows -----------------------------------------------------------


def no_labels(reader: Reader, y=None) -> DataError:
    """An error that says how to give the labels of a file."""
    if reader.kind == "npy":
        return DataError(f"y is missing; give the labels that go with {reader.name}.")
    return DataError(
        f"y={y!r} must be the name of the column of {reader.name} that holds the "
        f"labels; there are {listed(reader.names, 8)}."
    )


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


def error_tables(errors) -> tuple:
    """No table of errors, one, or two of lower and upper ones."""
    if errors is None:
        return ()
    pair = isinstance(errors, tuple | list) and len(errors) == 2
    if pair and all(isinstance(e, str | PathLike) or np.ndim(e) == 2 for e in errors):
        return tuple(errors)
    return (errors,)


def check_errors(table, shape, where: str = "X") -> None:
    """Refuse errors that are not one for every cell."""
    if tuple(table.shape) != tuple(shape):
        raise DataError(
            f"X_err has shape {tuple(table.shape)}; it must have one error for every "
            f"cell of {where}, shape {tuple(shape)}."
        )


def _errors_like(X, X_err):
    """Errors where X lives, an array of another library, and of its kind of number."""
    if isinstance(X_err, tuple | list) or X_err.ndim != 2:
        raise DataError(
            f"X is a {type(X).__name__}; X_err beside it must be one error for every "
            f"cell, of shape {tuple(X.shape)}. Pairs (down, up) and covariances are "
            "for data in memory: copy X and X_err to NumPy."
        )
    check_errors(X_err, X.shape)
    errors = like(X_err, X)
    return errors if errors.dtype == X.dtype else namespace(X).astype(errors, X.dtype)


def named_errors(X_err, where: str) -> list[list[str | None]]:
    """The columns that hold the errors of each feature; two lists where some differ.

    `X_err` maps each feature to its column of errors, to a pair (down, up) of them, or
    to None where it is exact.
    """
    if not isinstance(X_err, dict) or not X_err:
        raise DataError(
            f"X is {where}, so X_err must say which columns of it hold the errors: a "
            "dict of feature to error column, {'mass': 'mass_err'}."
        )
    pairs = []
    for feature, value in X_err.items():
        pair = (value, value) if value is None or isinstance(value, str) else value
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise DataError(
                f"X_err has {value!r} for {quoted(feature)}; it must be the name of a "
                "column, a pair of them (down, up), or None where values are exact."
            )
        pairs.append(pair)
    down, up = map(list, zip(*pairs, strict=True))
    if both := [name for name in (*down, *up) if name in X_err]:
        raise DataError(
            f"X_err names {quoted(both[0])} as a feature and as errors of another; it "
            "can be one thing only."
        )
    return [down] if down == up else [down, up]


def error_names(errors: list[list[str | None]]) -> tuple[str, ...]:
    """All columns that hold errors, each once."""
    return tuple(dict.fromkeys(n for table in errors for n in table if n is not None))


def error_cells(names: list[str | None], columns, n: int) -> np.ndarray:
    """A table of errors from columns of n rows by name; exact features have error 0."""
    zeros = np.zeros(n)
    return np.column_stack([zeros if n is None else columns[n] for n in names])


def _stamp(path: str) -> tuple[int, int]:
    """Size of a file and time of its last change."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    return status.st_size, status.st_mtime_ns
