"""Dask arrays and frames: every question is one task per partition.

Partitions answer where they live; only answers travel. A task depends on its partition
and on the question alone, so one that is lost with its worker is computed again, by
Dask, with the same result. Partitions are kept in the cluster's memory if the user
persisted them, and computed anew at every read if not.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from wideberth.data.errors import DataError
from wideberth.data.samples import Samples, checksum
from wideberth.data.sources import ROLES, Source, error_cells

_ORIGIN = "X, a Dask collection"


class DaskSource(Source):
    """Rows of a Dask collection; partitions must be split by rows alone.

    Each of `errors` is a collection like X, or where X is a frame a list of the columns
    that hold the errors of each feature, None where it is exact; `names` are features.
    """

    _wanted = "give a Dask array or series of labels"

    def __init__(
        self, X, y, weight=None, radius=None, memory=None, *, errors=(), names=None
    ):
        super().__init__(memory)
        self.names, self.d = names, X.shape[1] if names is None else len(names)
        self.brings_errors = bool(errors)
        self.row_bytes = 8 * self.d * (1 + len(errors))
        n = sum(X.chunks[0]) if hasattr(X, "chunks") else math.nan
        self.n = None if math.isnan(n) else int(n)
        self.brings_radii = radius is not None
        self.blocks = _partitions(X, "X")
        self.labelled = y is not None
        #: Rows of each partition, NaN where that is not known.
        self.lengths = X.chunks[0] if hasattr(X, "chunks") else ()
        #: Partitions of labels, weights, radii and errors; None where there are none,
        #: and a list of columns in each partition of X where these hold errors.
        self.beside: list[list | None] = []
        names = (*ROLES.values(), *["X_err"] * len(errors))
        for name, value in zip(names, (y, weight, radius, *errors), strict=True):
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
            self._recognise(number, found, _ORIGIN)
            if answer is not None:  # an empty partition
                yield answer
            if self.watch is not None:
                self.watch(number + 1)
        self._log_read(len(tasks))

    def parts(self, number: int) -> list:
        """What `_chunk` makes a chunk of."""
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


def answered(source: DaskSource, question, name: str, dtype, width: tuple):
    """A Dask array of one answer per row, computed when it is asked for.

    `question` answers with a dict of arrays, of which that of this name is taken.
    """
    import dask
    import dask.array as da

    ask = dask.delayed(_named_answer, pure=False)
    lengths = source.lengths or (math.nan,) * len(source.blocks)
    parts = [
        da.from_delayed(ask(question, name, *source.parts(k)), (n, *width), dtype)
        for k, n in enumerate(lengths)
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
    chunk = _chunk(*parts)
    return question(chunk) if chunk.n else None, checksum(chunk)


def _named_answer(question, name: str, *parts):
    return question(_chunk(*parts))[name]


def _chunk(number: int, names: list | None, X, y, weight, radius, *errors) -> Samples:
    tables = tuple(
        error_cells(part, X, len(X)) if isinstance(part, list) else _plain(part)
        for part in errors
    )
    y, weight, radius = (
        None if part is None else _plain(part) for part in (y, weight, radius)
    )
    X = _plain(X if names is None else X[names])
    return Samples(X, y, weight, radius, tables, number, _ORIGIN)


def _plain(part):
    """A NumPy array or CSR matrix from what a partition holds."""
    if sp.issparse(part):
        return part.tocsr()
    return part.to_numpy() if hasattr(part, "to_numpy") else np.asarray(part)


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
