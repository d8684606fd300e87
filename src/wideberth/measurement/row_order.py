"""An order of rows that depends on the rows alone, not on the order they came in.

Folds, samples and starting points are drawn by row number. With rows in this order they
are functions of the data: of the set of rows, whatever the order, the units of columns
and the names of classes.

Rows are sorted by their squared distance from the centre of the table, with columns in
units of their range. It is the same in other units and for other signs and orders of
columns, up to rounding. Rows within rounding of each other are sorted by their columns,
one after the other, then by their labels. Labels are ranked by where their rows are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wideberth.measurement.population import Measurements
from wideberth.problem.limits import EPS


def row_order(
    part: Measurements, labels: np.ndarray | None = None, weights=None
) -> np.ndarray:
    """Numbers of the rows, sorted and then shuffled, always in the same way.

    `labels` are 0, 1, …; other names of the same classes lead to the same order.
    """
    place = _by_distance(part)
    for column in _columns(part, weights):
        place = _refined(place, column)
    if labels is not None and np.bincount(place).max() > 1:
        rows = [np.sort(place[labels == k]) for k in range(labels.max() + 1)]
        ranked = sorted(range(len(rows)), key=lambda k: rows[k].tolist())
        place = _refined(place, np.argsort(ranked)[labels])
    order = np.argsort(place, kind="stable")
    return order[np.random.default_rng(0).permutation(len(order))]


def _by_distance(part: Measurements) -> np.ndarray:
    """Number of the rows nearer to the centre; rows within rounding are as near."""
    x, v = part.values, part.variances
    there = ~np.isnan(x)
    low, high, most = (
        end(table, axis=0, where=there, initial=start)
        for end, table, start in (
            (np.min, x, np.inf), (np.max, x, -np.inf), (np.max, v, 0.0),
        )
    )  # fmt: skip
    size = np.maximum(np.abs(low), np.abs(high))  # so that no difference overflows
    varies = low < high
    unit = np.where(varies, size, 1.0)
    low, high = (np.where(varies, end / unit, 0.0) for end in (low, high))
    width = np.where(varies, high - low, 1.0)
    off = np.where(there & varies, (2 * (x / unit) - low - high) / width, 0.0)
    noise = np.where(there, v, 0.0) / np.where(most > 0, most, 1.0)
    distance = np.sum(off**2 + noise, axis=1)
    rounding = 16 * EPS * np.sum(1 + 1 / width)
    order = np.argsort(distance, kind="stable")
    apart = np.diff(distance[order]) > rounding
    first = np.where(np.append(True, apart), np.arange(len(order)), 0)
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.maximum.accumulate(first)
    return place


def _columns(part: Measurements, weights) -> Iterator[np.ndarray]:
    """Everything that is known of rows, column by column."""
    yield from part.values.T
    yield from part.variances.T
    if len(part.covariances):
        yield from part.covariances.reshape(len(part.covariances), -1).T
    if weights is not None:
        yield weights


def _refined(place: np.ndarray, column: np.ndarray) -> np.ndarray:
    """The same where rows at the same place are sorted by a column, NaN last."""
    rows = np.flatnonzero(np.bincount(place)[place] > 1)
    if not len(rows):
        return place
    value = np.where(np.isnan(column[rows]), np.inf, column[rows])
    order = np.lexsort((value, place[rows]))
    rows, value, at = rows[order], value[order], np.arange(len(rows))
    begins = np.append(True, np.diff(place[rows]) > 0)
    parts = begins | np.append(True, value[1:] > value[:-1])
    first, own = (
        np.maximum.accumulate(np.where(where, at, 0)) for where in (begins, parts)
    )
    place = place.copy()
    place[rows] += own - first
    return place
