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

import numpy as np
import scipy.sparse as sp

from wideberth.problem import Folded, Problem
from wideberth.problem.limits import LITTLE, TINY
from wideberth.problem.rows import gamma

#: Kinds of rows of one outstanding feature: two signs, two classes, two sides.
_KINDS = 8


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


def feature_scale(X, weights: np.ndarray, near: float) -> np.ndarray | None:
    """What tells which feature of a row is outstanding: 1 ÷ its root mean square.

    None where cells would be no fewer than the rows that are expected `near` the margin
    by an order of magnitude, or where rows are sparse or on a device.
    """
    d = X.shape[1]
    if not isinstance(X, np.ndarray) or _KINDS * d > LITTLE * near:
        return None
    squares = np.einsum("i,ij,ij->j", weights / weights.sum(), X, X)
    return 1.0 / np.maximum(np.sqrt(squares), TINY)


class Merging:
    """The cells of a batch, of which blocks of rows are added one after the other."""

    def __init__(self, problem: Problem, scale: np.ndarray):
        self.problem, self.scale = problem, scale
        cells, d = _KINDS * problem.rows.d, problem.rows.d
        self.sums, self.noise = np.zeros((cells, d)), np.zeros(cells)
        self.totals, self.counts = np.zeros(cells), np.zeros(cells, dtype=np.int64)
        self.labels = np.empty(problem.n, dtype=np.int32)
        self.mass = self.largest_norm = self.largest_radius = 0.0
        self.longest, self.blocks = 0, 0

    def add(self, rows: slice, block: np.ndarray, slack, far) -> None:
        """Merge the rows `far`, a mask, of a block."""
        problem, cells = self.problem, self.totals.size
        y, radii = problem.y[rows], problem.radii[rows]
        label = cell_of(block, y, slack, self.scale)
        self.labels[rows] = label
        weights, norms = far * problem.weights[rows], problem.rows.norms()[rows]
        places = np.arange(label.size + 1, dtype=np.int32)
        members = sp.csc_array((weights * y, label, places), (cells, label.size))
        self.sums += members @ block
        self.noise += np.bincount(label, weights * radii, cells)
        self.totals += np.bincount(label, weights, cells)
        self.counts += np.bincount(label, far, cells).astype(np.int64)
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


def merge(problem: Problem, scale: np.ndarray, slack, far) -> Cells:
    """The rows `far` of a batch as cells, by one read."""
    merging = Merging(problem, scale)
    for rows, block in problem.rows.one_read():
        merging.add(rows, block, slack[rows], far[rows])
    return merging.finish()


def cell_of(block: np.ndarray, y, slack, scale) -> np.ndarray:
    """The cell of each row of a block: its outstanding feature, sign, class and side."""
    sizes = block * scale
    np.abs(sizes, out=sizes)
    feature = sizes.argmax(axis=1)
    label = 2 * feature + (block[np.arange(feature.size), feature] > 0)
    label = 2 * (2 * label + (y > 0)) + (slack > 0)
    return label.astype(np.int32)


@dataclass(frozen=True)
class Shares:
    """The ratio α_i/c_i of each cell; with the cells of rows, where these are known."""

    share: np.ndarray
    scale: np.ndarray
    labels: np.ndarray | None = None

    def alpha(self, problem: Problem, slack) -> np.ndarray:
        """α of the rows of a batch whose slacks were these when they were merged."""
        labels = self.labels
        if labels is None:
            labels = np.empty(problem.n, dtype=np.int32)
            for rows, block in problem.rows.one_read():
                labels[rows] = cell_of(block, problem.y[rows], slack[rows], self.scale)
        return self.share[labels] * problem.weights
