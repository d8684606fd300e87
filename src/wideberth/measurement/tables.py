"""Tables of measurements that EM reads again and again, in memory or in chunks.

A table answers questions part by part, `question(number, part, labels)`. Whatever has
to be chosen (units, the strength of priors, where EM starts) is chosen on a sample of
its rows, which does not depend on how they are divided into parts; EM itself needs sums
over all rows, and parts add up.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import starmap
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array
from sklearn.utils.multiclass import type_of_target

from wideberth.data.samples import Samples
from wideberth.data.sources import Source
from wideberth.measurement.population import Measurements, Population, Sums, sums_of
from wideberth.noise.reading import check_squares, read_covariances, read_table
from wideberth.problem.validation import check_number, float_array

#: Rows of one block of sums: many times LANES of `kernels/lanes.h`, few beside a table.
#: A sample has as many of each class.
BLOCK = 4096

Question = Callable[[int, Measurements, np.ndarray | None], Any]


@dataclass(frozen=True)
class Units:
    """x becomes (x − centre) / scale in the columns that vary; others are left out."""

    centre: np.ndarray
    scale: np.ndarray
    varying: np.ndarray

    def of(self, part: Measurements) -> Measurements:
        """A part in these units."""
        scaled, columns = part.scaled(self.centre, self.scale), self.varying
        if columns.all():
            return scaled
        return Measurements(
            np.ascontiguousarray(scaled.values[:, columns]),
            np.ascontiguousarray(scaled.variances[:, columns]),
            np.ascontiguousarray(scaled.covariances[:, columns][:, :, columns]),
        )


class MeasurementTable(ABC):
    """Rows that are measurements, with the numbers of their classes or without."""

    #: Features.
    d: int

    @abstractmethod
    def map(self, question: Question) -> Iterator[Any]:
        """Put a question to all parts, in order."""

    @abstractmethod
    def in_units(self, units: Units) -> MeasurementTable:
        """The same rows in other units."""

    def sample(self) -> ClassSample:
        """An even sample of each class, and what only all rows can tell."""
        found = list(self.map(_overview))
        numbers = [each.number for each in found]
        counts = np.zeros((len(found), max(len(each.counts) for each in found)), int)
        for row, each in zip(counts, found, strict=True):
            row[: len(each.counts)] = each.counts
        before = dict(zip(numbers, np.cumsum(counts, axis=0) - counts, strict=True))
        strides = np.maximum(-(-counts.sum(axis=0) // BLOCK), 1)
        pieces = list(self.map(_EveryNth(before, strides)))
        return ClassSample(
            Measurements.joined([piece[0] for piece in pieces]),
            np.concatenate([piece[1] for piece in pieces]),
            np.concatenate([piece[2] for piece in pieces]),
            counts.sum(axis=0),
            np.fmin.reduce([each.low for each in found]),
            np.fmax.reduce([each.high for each in found]),
            any(each.measured for each in found),
        )

    @abstractmethod
    def unlabelled(self) -> MeasurementTable:
        """The same rows without classes."""

    def e_step(self, n_jobs=None) -> Callable[[Population], Sums]:
        """Sums over all rows at a population; its Gaussians are those of the classes.

        Without classes all rows may come from any Gaussian.
        """

        def sums(population: Population) -> Sums:
            return reduce(add, self.map(_EStep(population, n_jobs)))

        return sums


@dataclass(frozen=True)
class ClassSample:
    """Rows of a table, at most BLOCK of each class; all of them where there are few."""

    part: Measurements
    labels: np.ndarray
    even: np.ndarray  # rows that are a sample of the whole table
    counts: np.ndarray  # rows of each class, of all
    low: np.ndarray
    high: np.ndarray
    measured: bool  # whether any value has an error

    @property
    def whole(self) -> bool:
        """Whether these are all rows."""
        return len(self.part) == self.counts.sum()

    @property
    def table(self) -> MemoryTable:
        """These rows, with their classes."""
        return MemoryTable(self.part, self.labels)

    @property
    def evenly(self) -> Measurements:
        """Rows with as many of each class as its share of the table."""
        return self.part if self.even.all() else self.part[self.even]

    def groups(self, even: bool = False) -> list[Measurements]:
        """Rows of each class, as many as there are or by their shares."""
        taken = self.even | (not even)
        return [self.part[taken & (self.labels == k)] for k in range(len(self.counts))]

    def in_units(self, units: Units) -> ClassSample:
        """The same rows in other units."""
        return replace(self, part=units.of(self.part))


@dataclass(frozen=True)
class MemoryTable(MeasurementTable):
    """One part: all rows."""

    part: Measurements
    labels: np.ndarray | None = None

    @property
    def d(self) -> int:  # type: ignore[override]
        """Features."""
        return self.part.values.shape[1]

    def map(self, question):
        yield question(0, self.part, self.labels)

    def in_units(self, units):
        return MemoryTable(units.of(self.part), self.labels)

    def unlabelled(self):
        return MemoryTable(self.part)


@dataclass
class ChunkTable(MeasurementTable):
    """Chunks of a source, read anew for every question.

    Labels are looked at if `labelled`, and if the first chunk has some that are those
    of classes; weights and radii are not.
    """

    source: Source
    labelled: bool
    units: Units | None = None
    classes: np.ndarray | None = field(default=None)

    def __post_init__(self):
        self.d = self.source.d
        self.source.gaps = True
        if self.labelled and self.classes is None:
            first = next(self.source.some_labels(), None)
            kinds = ("binary", "multiclass")
            self.labelled = first is not None and type_of_target(first) in kinds
            if self.labelled:
                found = (np.unique(y) for y in self.source.some_labels())
                self.classes = reduce(np.union1d, found)

    def map(self, question):
        return self.source.map(_AskedOfChunk(question, self.units, self.classes))

    def in_units(self, units):
        return replace(self, units=units)

    def unlabelled(self):
        return replace(self, labelled=False, classes=None)


@dataclass(frozen=True)
class _AskedOfChunk:
    """A question about measurements, put to a chunk."""

    question: Question
    units: Units | None
    classes: np.ndarray | None

    def __call__(self, chunk: Samples):
        if len(chunk.errors) == 2:
            raise chunk.error(
                "the errors are a pair (down, up); the population takes one "
                "standard error for each cell, such as half their sum."
            )
        errors = chunk.errors[0] if chunk.errors else 0.0
        try:
            values = check_array(
                chunk.X, dtype=np.float64, order="C", ensure_all_finite="allow-nan"
            )
            part = Measurements(values, *read_variances(errors, values))
        except (TypeError, ValueError) as error:
            raise chunk.error(str(error)) from None
        labels = None
        if self.classes is not None:
            labels = np.searchsorted(self.classes, chunk.y)
        part = part if self.units is None else self.units.of(part)
        return self.question(chunk.number, part, labels)


# -- questions -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Overview:
    number: int
    counts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    measured: bool


def _overview(number: int, part: Measurements, labels) -> _Overview:
    counts = np.array([len(part)]) if labels is None else np.bincount(labels)
    low, high = (f.reduce(part.values, axis=0) for f in (np.fmin, np.fmax))
    return _Overview(number, counts, low, high, bool(part.variances.any()))


@dataclass(frozen=True)
class _EveryNth:
    """Every s-th row of a class, s its stride, and which rows are `even`."""

    before: dict[int, np.ndarray]
    strides: np.ndarray

    def __call__(self, number: int, part: Measurements, labels):
        labels = np.zeros(len(part), dtype=int) if labels is None else labels
        ranks = np.empty(len(part), dtype=int)
        for k, before in enumerate(self.before[number]):
            rows = np.flatnonzero(labels == k)
            ranks[rows] = before + np.arange(len(rows))
        even = ranks % self.strides.max() == 0
        taken = even | (ranks % self.strides[labels] == 0)
        if taken.all():
            return part, labels, even
        return part[taken], labels[taken], even[taken]


@dataclass(frozen=True)
class FarCells:
    """How many cells of each column are far from its middle; and the farthest."""

    middle: np.ndarray
    width: np.ndarray
    far: float

    def __call__(self, number: int, part: Measurements, labels):
        off = np.abs(part.values - self.middle)
        off /= np.sqrt(part.variances + self.width**2)
        off[np.isnan(off)] = 0.0
        row, column = np.unravel_index(off.argmax(), off.shape)
        place = f"row {row}" + f" of chunk {number}" * (number > 0)
        return (off > self.far).sum(axis=0), off[row, column], place, column


@dataclass(frozen=True)
class _EStep:
    """Sums at a population; its Gaussians are those of the classes, if any."""

    population: Population
    n_jobs: int | None

    def __call__(self, number: int, part: Measurements, labels) -> Sums:
        starts = range(0, len(part), BLOCK)
        rows = [slice(start, start + BLOCK) for start in starts]
        blocks = [(part[r], None if labels is None else labels[r]) for r in rows]
        if len(blocks) == 1 or self.n_jobs in (None, 1):
            return reduce(add, starmap(self._block, blocks))
        jobs = (
            self.n_jobs if self.n_jobs > 0 else (os.cpu_count() or 1) + 1 + self.n_jobs
        )
        with ThreadPoolExecutor(max(jobs, 1)) as pool:
            return reduce(add, pool.map(lambda block: self._block(*block), blocks))

    def _block(self, part: Measurements, labels) -> Sums:
        if labels is None:
            return sums_of(self.population, part)
        own = [
            sums_of(self.population.component(k), part[labels == k])
            for k in range(len(self.population.shares))
        ]
        return Sums.side_by_side(own)


def read_variances(X_err, X, names=None) -> tuple[np.ndarray, np.ndarray]:
    """Squared standard errors (n, d), and covariances (n, d, d) where those are given.

    Cells that X does not have (NaN) may have any error. A number is one for all cells.
    """
    n, d = X.shape
    missing = np.isnan(X)
    if not sp.issparse(X_err) and np.ndim(X_err) == 3:
        either = missing[:, :, None] | missing[:, None, :]
        matrices = float_array(X_err, "X_err").astype(np.float64)
        if matrices.shape == either.shape:
            matrices = np.where(either, 0.0, matrices)
        matrices = read_covariances(matrices, X.shape)
        return np.ascontiguousarray(np.einsum("nii->ni", matrices)), matrices
    if not sp.issparse(X_err) and np.ndim(X_err) == 0:
        X_err = np.full((n, d), check_number(X_err, "X_err"))
    table = read_table(X_err, X.shape, names, missing)
    check_squares(table)
    return np.square(table, dtype=np.float64), np.empty((0, d, d))
