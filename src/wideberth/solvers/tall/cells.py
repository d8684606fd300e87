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

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import mul
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from wideberth.problem import Folded, Problem
from wideberth.problem.arrays import largest
from wideberth.problem.limits import BLOCK_ROWS, LITTLE, TINY
from wideberth.problem.rounding import summed
from wideberth.problem.rows import gamma

if TYPE_CHECKING:
    from wideberth.solvers.tall.subsample import SamplingError

#: Kinds of rows of one outstanding feature: two signs, two classes, two sides.
_KINDS = 8
#: Number of distances from the margin that are told apart, by powers of 2 (one alone
#: takes twice the passes on covtype 2).
_DISTANCES = 4
#: Number of rows whose weights are summed at a time.
_PIECE = BLOCK_ROWS
#: Number of planes whose sides tell rows near the margin apart (three take half as many
#: passes again on covtype 7, where most rows are near).
_PLANES = 5


@dataclass(frozen=True)
class Cells:
    """Sums over the rows of each kind that there is: of c_i z_i, c_i ρ_i, c_i and 1."""

    kinds: np.ndarray
    sums: np.ndarray
    noise: np.ndarray
    totals: np.ndarray
    counts: np.ndarray
    #: What is known of all of them, for the bound on rounding.
    merged: Folded
    #: The kind of each row.
    labels: np.ndarray

    @property
    def n(self) -> int:
        """How many there are."""
        return self.kinds.size

    @property
    def active(self) -> int:
        """How many rows are below the margin."""
        return int(self.counts[self.kinds % 2 == 1].sum())

    def as_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """X, y, weights and radii of the rows that stand for them."""
        y, weights = np.where(self.kinds // 2 % 2 > 0, 1.0, -1.0), self.totals
        return self.sums * (y / weights)[:, None], y, weights, self.noise / weights

    def alpha(self, own: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """α of all rows, given that of the rows which stand for them."""
        share = np.zeros(
            max(int(self.kinds.max(initial=0)), int(self.labels.max())) + 1
        )
        share[self.kinds] = np.minimum(own / self.totals, 1.0)
        return share[self.labels] * weights

    def known(self, rotation_error: float) -> Folded:
        """What sums over rows that are means are off by."""
        merged = self.merged
        rounding = merged.rounding + rotation_error * merged.mass
        return replace(merged, rounding=rounding, chain=merged.chain + self.n)


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
        the margin, or where rows are sparse.
        """
        dense = isinstance(X, np.ndarray) and error.known
        if not dense or _KINDS * X.shape[1] > LITTLE * near:
            return None
        squares = np.einsum("i,ij,ij->j", weights / weights.sum(), X, X)
        scale = 1.0 / np.maximum(np.sqrt(squares), TINY)
        unit = max(float(np.median(band)), TINY)
        cells = max(LITTLE * near / (_KINDS * X.shape[1]), 1.0)
        planes = min(int(np.log2(cells)) + 1, _PLANES)
        return cls(scale, unit, error.scatter[:, :planes])

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


def leave_features_out(X, weights: np.ndarray, near: np.ndarray) -> bool:
    """Whether rows `near` the margin hardly have some feature, which others do.

    Given rows of a sample and how many rows each stands for. Hardly means: less than a
    tenth of what their number leads to expect.
    """
    if not isinstance(X, np.ndarray):
        return False
    whole, held = np.stack([weights, weights * near]) @ (X * X)
    share = float(weights @ near) / float(weights.sum())
    return bool((held < LITTLE * share * whole).any())


class Merging:
    """The cells of a batch, of which blocks of rows are added one after the other."""

    def __init__(self, problem: Problem, kinds: Kinds):
        self.problem, self.kinds = problem, kinds
        self.labels = np.empty(problem.n, dtype=np.int32)
        self.far = np.empty(problem.n, dtype=bool)
        self.place = np.full(kinds.count, -1)  # of each kind, in the order they came
        self.found = np.empty(0, dtype=np.int64)
        self.sums = np.empty((0, problem.rows.d))
        self.buffer = np.empty((0, problem.rows.d))
        self.longest, self.blocks = 0, 0

    def add(self, rows: slice, block: np.ndarray, slack, far) -> None:
        """Merge the rows `far`, a mask, of a block."""
        size, y = block.shape[0], self.problem.y[rows]
        if self.buffer.shape[0] < size:
            self.buffer = np.empty(block.shape)
        label = self.kinds(block, y, slack, self.buffer[:size])
        self.labels[rows], self.far[rows] = label, far
        self.longest, self.blocks = max(self.longest, size), self.blocks + 1
        weights = far * self.problem.weights[rows]
        used = np.bincount(label, weights, self.kinds.count) > 0
        kinds = np.flatnonzero(used)
        if not kinds.size:
            return
        own = np.maximum(np.cumsum(used) - 1, 0)[label]  # others weigh nothing
        entries = weights * y, own, np.arange(size + 1)
        members = sp.csc_array(entries, (kinds.size, size))
        places = self._places(kinds)  # which may make room
        self.sums[places] += members @ block

    def _places(self, kinds: np.ndarray) -> np.ndarray:
        """Places of some kinds, for which there is room now."""
        new = kinds[self.place[kinds] < 0]
        self.place[new] = self.found.size + np.arange(new.size)
        self.found = np.concatenate((self.found, new))
        if self.found.size > self.sums.shape[0]:
            more = np.zeros((self.found.size, self.sums.shape[1]))
            self.sums = np.concatenate((self.sums, more))
        return self.place[kinds]

    def finish(self) -> Cells:
        """All that was added."""
        problem, far, order = self.problem, self.far, np.argsort(self.found)
        kinds = self.found[order]
        weights, norms = far * problem.weights, problem.rows.norms()
        noise, totals, counts = np.zeros((3, self.kinds.count))
        for rows in _pieces(problem.n):
            label = self.labels[rows], weights[rows], self.kinds.count
            noise += np.bincount(label[0], label[1] * problem.radii[rows], label[2])
            totals += np.bincount(*label)
            counts += np.bincount(label[0], far[rows], label[2])
        chain = _PIECE + self.longest + self.blocks + problem.n / _PIECE + 8
        chain += problem.chain
        mass = summed(mul, weights, norms) * (1 + gamma(chain))
        merged = Folded(
            np.zeros(problem.rows.d),
            n=int(np.count_nonzero(far)),
            mass=mass,
            rounding=gamma(chain) * mass,
            chain=chain,
            largest_norm=largest(far * norms),
            largest_noise=largest(far * problem.radii),
        )
        sums = self.sums[order], noise[kinds], totals[kinds], counts[kinds]
        return Cells(kinds, *sums, merged, self.labels)


def _pieces(n: int) -> Iterator[slice]:
    """Rows that are summed at a time."""
    return (slice(start, start + _PIECE) for start in range(0, n, _PIECE))


def merge(problem: Problem, kinds: Kinds, slack, far) -> Cells:
    """The rows `far` of a batch as cells, by one read."""
    merging = Merging(problem, kinds)
    for rows, block in problem.rows.one_read():
        merging.add(rows, block, slack[rows], far[rows])
    return merging.finish()
