"""Rows far from the margin, merged into few, so that they hold w back.

Settled at a bound and folded (theory §3) such rows hold nothing back: a column that few
rows have, all of one class, runs away as soon as those near the margin cannot balance
the others. Here they are put together instead by class, side of the margin and
outstanding feature, each *cell* as one row: the mean z̄ = Σc_iz_i/Σc_i with the weight
Σc_i. As in `aggregate.py` members share one ratio α_i/c_i, so that every dual point is
one of the whole problem, of the same value; and the primal is at most that of the whole
problem, wherever w goes (Jensen). Once w carries the mean of a cell across the margin,
the cell no longer pulls, or pulls back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from wideberth.problem import Folded, Problem
from wideberth.problem.limits import LITTLE, TINY
from wideberth.problem.rows import gamma

if TYPE_CHECKING:
    from wideberth.solvers.subsample import SamplingError

#: Kinds of rows of one outstanding feature: two signs, two classes, two sides.
_KINDS = 8
#: Number of distances from the margin that are told apart, by powers of 2 (one alone
#: takes twice the passes on covtype 2).
_DISTANCES = 4
#: Number of planes whose sides tell rows near the margin apart (three take half as many
#: passes again on covtype 7, where most rows are near).
_PLANES = 5


@dataclass(frozen=True)
class Cells:
    """Sums over the rows of each cell: Σ of c_i z_i, c_i ρ_i, c_i and 1."""

    sums: np.ndarray
    noise: np.ndarray
    totals: np.ndarray
    counts: np.ndarray
    #: What is known of all of them, for the bound on rounding.
    merged: Folded
    #: The cell of each row, where there is one batch of all rows.
    labels: np.ndarray | None = None

    def __add__(self, other: Cells) -> Cells:
        return Cells(
            self.sums + other.sums,
            self.noise + other.noise,
            self.totals + other.totals,
            self.counts + other.counts,
            self.merged + other.merged,
        )

    @property
    def used(self) -> np.ndarray:
        """The cells that have a weight."""
        return np.flatnonzero(self.totals > 0)

    @property
    def active(self) -> int:
        """How many rows are below the margin."""
        return int(self.counts[1::2].sum())

    def as_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """X, y, weights and radii of the rows that stand for the cells used."""
        used = self.used
        y, weights = np.where(used // 2 % 2 > 0, 1.0, -1.0), self.totals[used]
        X = self.sums[used] * (y / weights)[:, None]
        return X, y, weights, self.noise[used] / weights

    def known(self, rotation_error: float) -> Folded:
        """What sums over rows that are means are off by."""
        merged = self.merged
        rounding = merged.rounding + rotation_error * merged.mass
        return replace(merged, rounding=rounding, chain=merged.chain + self.used.size)


@dataclass(frozen=True)
class Kinds:
    """How rows are told apart: by outstanding feature, place, sign, class and side.

    A feature stands out by its size times its `scale`. Rows within a `unit` of the
    margin are told apart by the sides of some planes that they are on: the `directions`
    (d+1 numbers each) are those in which a sample's error moves w, so that margins of
    rows of one kind move together. Rows beyond are told apart by powers of 2.
    """

    scale: np.ndarray
    unit: float
    directions: np.ndarray

    @classmethod
    def of(cls, X, weights, error: SamplingError, band, near: float) -> Kinds | None:
        """As the rows of a sample suggest, whose `error` puts these `band`s about them.

        None where cells may be as many as a tenth of the rows that are expected `near`
        the margin, or where rows are sparse or on a device.
        """
        dense = isinstance(X, np.ndarray) and error.known
        if not dense or _KINDS * X.shape[1] > LITTLE * near:
            return None
        squares = np.einsum("i,ij,ij->j", weights / weights.sum(), X, X)
        scale = 1.0 / np.maximum(np.sqrt(squares), TINY)
        unit = max(float(np.median(band)), TINY)
        return cls(scale, unit, error.scatter[:, :_PLANES])

    @property
    def count(self) -> int:
        """How many there are."""
        return _KINDS * self._places * self.scale.size

    @property
    def _places(self) -> int:
        """Sides of planes, and distances."""
        return 2 ** self.directions.shape[1] + _DISTANCES

    def __call__(self, block: np.ndarray, y, slack, buffer=None) -> np.ndarray:
        """The kind of each row of a block."""
        sizes = np.multiply(block, self.scale, out=buffer)
        feature = np.abs(sizes, out=sizes).argmax(axis=1)
        positive = block[np.arange(feature.size), feature] > 0
        sides = block @ self.directions[:-1] > -self.directions[-1]
        planes = sides.shape[1]
        far = np.frexp(np.abs(slack) / self.unit)[1]
        place = np.clip(far, 1, _DISTANCES) + (2**planes - 1)
        code = np.packbits(sides, axis=1, bitorder="little")[:, 0]
        place = np.where(far > 0, place, code)
        kind = 2 * (self._places * feature + place) + positive
        return (2 * (2 * kind + (y > 0)) + (slack > 0)).astype(np.int32)


class Merging:
    """The cells of a batch, of which blocks of rows are added one after the other."""

    def __init__(self, problem: Problem, kinds: Kinds):
        self.problem, self.kinds = problem, kinds
        cells, d = kinds.count, problem.rows.d
        self.sums, self.noise = np.zeros((cells, d)), np.zeros(cells)
        self.totals, self.counts = np.zeros(cells), np.zeros(cells, dtype=np.int64)
        self.labels = np.empty(problem.n, dtype=np.int32)
        self.mass = self.largest_norm = self.largest_radius = 0.0
        self.longest, self.blocks, self.buffer = 0, 0, np.empty((0, d))

    def add(self, rows: slice, block: np.ndarray, slack, far) -> None:
        """Merge the rows `far`, a mask, of a block."""
        problem, cells = self.problem, self.totals.size
        y, radii = problem.y[rows], problem.radii[rows]
        if self.buffer.shape[0] < block.shape[0]:
            self.buffer = np.empty(block.shape)
        label = self.kinds(block, y, slack, self.buffer[: block.shape[0]])
        self.labels[rows] = label
        weights, norms = far * problem.weights[rows], problem.rows.norms()[rows]
        places = np.arange(label.size + 1, dtype=np.int32)
        counts = np.bincount(label, minlength=cells)
        used = np.flatnonzero(counts)
        label = (np.cumsum(counts > 0) - 1)[label]
        shape = used.size, label.size
        members = sp.csc_array((weights * y, label, places), shape)
        self.sums[used] += members @ block
        self.noise[used] += np.bincount(label, weights * radii)
        self.totals[used] += np.bincount(label, weights)
        self.counts[used] += np.bincount(label, far).astype(np.int64)
        self.mass += float(weights @ norms)
        self.largest_norm = max(self.largest_norm, float((far * norms).max()))
        self.largest_radius = max(self.largest_radius, float((far * radii).max()))
        self.longest, self.blocks = max(self.longest, label.size), self.blocks + 1

    def finish(self) -> Cells:
        """All that was added."""
        chain = self.longest + self.blocks + 8 + self.problem.chain
        mass = self.mass * (1 + gamma(chain))
        merged = Folded(
            np.zeros(self.problem.rows.d),
            0.0,
            0.0,
            0.0,
            int(self.counts.sum()),
            mass,
            gamma(chain) * mass,
            chain,
            self.largest_norm,
            self.largest_radius,
        )
        sums = self.sums, self.noise, self.totals, self.counts
        return Cells(*sums, merged, self.labels)


def merge(problem: Problem, kinds: Kinds, slack, far) -> Cells:
    """The rows `far` of a batch as cells, by one read."""
    merging = Merging(problem, kinds)
    for rows, block in problem.rows.one_read():
        merging.add(rows, block, slack[rows], far[rows])
    return merging.finish()


@dataclass(frozen=True)
class Shares:
    """The ratio α_i/c_i of each cell; with the cells of rows, where these are known."""

    share: np.ndarray
    kinds: Kinds
    labels: np.ndarray | None = None

    def alpha(self, problem: Problem, slack) -> np.ndarray:
        """α of the rows of a batch whose slacks were these when they were merged."""
        labels = self.labels
        if labels is None:
            labels = np.empty(problem.n, dtype=np.int32)
            for rows, block in problem.rows.one_read():
                labels[rows] = self.kinds(block, problem.y[rows], slack[rows])
        return self.share[labels] * problem.weights
