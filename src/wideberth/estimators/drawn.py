"""Rows drawn from all samples: the same from data in memory and in chunks.

Some choices (landmarks, their number, C, γ and radius) need few of the rows. `Drawn.of`
draws them evenly among those of positive weight, class by class; of a rare class at
least a hundred. Data in chunks is read twice for that: to count, and to draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from wideberth.data.samples import Samples
from wideberth.estimators.training import TrainingChunks, TrainingRows
from wideberth.noise.reading import errors_beside
from wideberth.problem.arrays import host
from wideberth.problem.labels import uniform
from wideberth.problem.validation import check_per_sample

S = TypeVar("S", bound=Samples)
#: The most rows that are drawn, a bound on the time of choices (from all of 7 000 and
#: 15 000 rows a choice takes 1.6 and 2.3 times as long).
MOST_ROWS = 5_000
#: The least rows of a class, where it has as many (a choice).
_OF_CLASS = 100


@dataclass(frozen=True)
class Drawn:
    """Samples of positive weight drawn from all of these; all, where they are few."""

    rows: TrainingRows
    scale: float  # 1 / (d × the variance of all weighted samples)
    complete: bool  # whether these are all

    @classmethod
    def of(cls, data: TrainingRows | TrainingChunks, seed: int) -> Drawn:
        """Draw from all samples; the same rows for the same seed."""
        if isinstance(data, TrainingRows):
            moments = [_moments(data)]
            places = _Places.of(moments, data.classes, seed)
            found = places(data)
        else:
            moments = [*data.X.map(_moments)]
            places = _Places.of(moments, data.classes, seed)
            found = _as_rows([*data.X.map(places)], data)
        shuffled = check_random_state(seed).permutation(found.n)
        rows = found.take(shuffled)
        return cls(places.weighted(rows), _scale(moments, rows.d), places.complete)


@dataclass(frozen=True)
class _Moments:
    """What a chunk answers at the first read."""

    number: int
    counts: dict  # label: rows of positive weight
    weight: float
    mean: float  # of all cells, weighted
    variance: float


def _moments(chunk: Samples) -> _Moments:
    """Count the rows of a chunk; the variance is about the mean of the chunk."""
    chunk = _plain(chunk)
    total = float(chunk.weight.sum())
    share = chunk.weight / total if total > 0 else chunk.weight
    mean = float(share @ chunk.X.mean(axis=1))
    if not math.isfinite(mean):
        raise chunk.error("X holds values that are not finite; drop such rows.")
    variance = float(share @ np.square(chunk.X - mean).mean(axis=1))
    labels, counts = np.unique(chunk.y[chunk.weight > 0], return_counts=True)
    found = dict(zip(labels.tolist(), counts.tolist(), strict=True))
    return _Moments(chunk.number, found, total, mean, variance)


def _scale(moments: list[_Moments], d: int) -> float:
    """What gamma="scale" stands for."""
    weights = np.array([each.weight for each in moments])
    means = np.array([each.mean for each in moments])
    weights = weights / weights.sum()
    within = weights @ [each.variance for each in moments]
    variance = float(within + weights @ np.square(means - weights @ means))
    return 1 / (d * variance) if variance > 0 else 1.0


@dataclass(frozen=True)
class _Places:
    """Which rows are drawn: for each class numbers among its rows, in their order."""

    drawn: dict  # label: numbers
    counts: dict  # label: rows in all
    before: dict  # chunk number: label: rows in the chunks before

    @classmethod
    def of(cls, moments: list[_Moments], classes: np.ndarray, seed: int) -> _Places:
        """Draw from classes of so many rows."""
        labels, before = classes.tolist(), {}
        counts = dict.fromkeys(labels, 0)
        for each in moments:
            before[each.number] = dict(counts)
            for label in labels:
                counts[label] += each.counts.get(label, 0)
        drawn, sizes = {}, _sizes(np.array([*counts.values()]))
        for label, size in zip(labels, sizes.tolist(), strict=True):
            # Of one seed: the order of the classes does not matter.
            places = sample_without_replacement(counts[label], size, random_state=seed)
            drawn[label] = np.sort(places)
        return cls(drawn, counts, before)

    @property
    def complete(self) -> bool:
        """Whether all rows are drawn."""
        return all(len(self.drawn[label]) == n for label, n in self.counts.items())

    def __call__(self, chunk: S) -> S:
        """The rows of a chunk that are drawn, in their order."""
        chunk, rows = _plain(chunk), []
        for label, places in self.drawn.items():
            own = np.flatnonzero((chunk.y == label) & (chunk.weight > 0))
            first = self.before[chunk.number][label]
            start, stop = np.searchsorted(places, [first, first + len(own)])
            rows.append(own[places[start:stop] - first])
        return chunk.take(np.sort(np.concatenate(rows)))

    def weighted(self, rows: TrainingRows) -> TrainingRows:
        """Weights that make up for classes of which more were drawn than of others."""
        if self.complete:
            return rows
        share = len(rows.y) / sum(self.counts.values())
        weight = rows.weight.copy()
        for label, places in self.drawn.items():
            weight[rows.y == label] *= share * self.counts[label] / len(places)
        return replace(rows, weight=weight)


def _sizes(counts: np.ndarray) -> np.ndarray:
    """How many rows are drawn of classes with so many."""
    if counts.sum() <= MOST_ROWS:
        return counts
    least = np.minimum(counts, min(_OF_CLASS, MOST_ROWS // (2 * len(counts))))
    left = counts - least
    return least + (MOST_ROWS - least.sum()) * left // left.sum()


def _plain(chunk: S) -> S:
    """The same as arrays of NumPy, with a weight of every row."""
    if isinstance(chunk, TrainingRows):
        return chunk
    if sp.issparse(chunk.X):
        raise chunk.error(
            "X is sparse, and a kernel is of distances between dense rows. Give dense "
            "data, or take RobustLinearSVC."
        )
    weight = 1.0 if chunk.weight is None else host(chunk.weight)
    weight = check_per_sample(weight, chunk.n, "sample_weight")
    X, y = np.asarray(host(chunk.X), dtype=np.float64), host(chunk.y)
    y = uniform(y) if y.dtype.kind == "O" else y
    radius = None if chunk.radius is None else host(chunk.radius)
    return replace(chunk, X=X, y=y, weight=weight, radius=radius)


def _as_rows(parts: list[Samples], data: TrainingChunks) -> TrainingRows:
    """Samples from chunks as those of data in memory."""
    found = reduce(Samples.joined, parts)
    bars = None
    if found.errors:
        bars = errors_beside(found.X, found.X_err, data.error_shape)
    given = found.X, found.y, found.weight, found.radius, bars
    return TrainingRows.of(*given, class_weight=data.class_weight)
