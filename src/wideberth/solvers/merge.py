"""Rows that stand for groups of rows, so that all of the data fits in one problem.

Let the members of a group, all of one class, share one ratio a = α_i/c_i. Their part of
the dual is that of a single row: the mean z̄ = Σc_i z_i/Σc_i, the mean radius and the
weight Σc_i. So every dual point of the problem on groups is one of the whole problem,
of the same value. Its primal is at most that of the whole, and equal at a w where no
group has members on both sides of the margin (Jensen). Unlike folded rows, groups hold
w back when it moves too far.

Groups are formed anew about every solution: aggregation with iterative disaggregation
(Park and Klabjan, JMLR 2016). Members had the same share a before, so the dual point
before is one of the new problem, and its value can only rise. Single are the rows whose
share seems to change next: those with 0 < a < 1, then those whose slack contradicts
their share, the worst first, then those nearest to the margin. Others are put together
with rows of the same class, share and side, the same outstanding feature and about as
far away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from wideberth.noise.sets import Noise, Sets
from wideberth.problem import Folded, Problem
from wideberth.problem.arrays import Array, concat
from wideberth.problem.limits import TINY
from wideberth.problem.rows import as_rows, gamma

#: Distance of the ratio α/c from 0 and 1 up to which a row is grouped as one at that
#: bound (a choice; solutions on groups are about as exact).
AT_BOUND = 1e-3
#: Kinds of rows of one target: two classes, two shares, two sides.
_KINDS = 8


class Grouping(NamedTuple):
    """How rows are grouped: most single rows, and groups per row."""

    singles: int
    share: float


@dataclass(frozen=True)
class Groups:
    """The rows of one batch, some of them merged."""

    X: Array
    y: np.ndarray
    weights: np.ndarray
    radii: np.ndarray
    #: Place in the order in which rows become single ones; a mean in groups.
    order: np.ndarray
    #: Whether it is a row as it was.
    single: np.ndarray
    targets: np.ndarray
    #: Only rows of the same kind are merged: class, share, side, target, outstanding
    #: feature.
    kind: np.ndarray
    #: Kinds that are told apart in any case, whatever the feature.
    kinds: int
    #: The group of each row of the batch.
    labels: np.ndarray
    #: What is known of the rows that were merged, for the bound on rounding.
    merged: Folded
    #: Rows of the batch.
    rows: int

    @classmethod
    def of(cls, problem: Problem, slack, share, distance) -> Groups:
        """Every row of a batch as a group of its own."""
        X, upper = problem.rows.X, share > 0.5
        least = AT_BOUND
        between = (share > least) & (share < 1 - least)
        wrong = np.where(upper, slack < 0, slack > 0)
        near = 1 / (1 + distance)
        order = np.where(between, 1 - near, np.where(wrong, 1 + near, 3 - near))
        kind, kinds = 4 * (problem.y > 0) + 2 * upper + (slack > 0), _KINDS
        if problem.m is not None:
            levels, level = np.unique(problem.targets, return_inverse=True)
            kind, kinds = kind + _KINDS * level, _KINDS * levels.size
        if not sp.issparse(X):
            scale = 1.0 / np.maximum(np.sqrt(np.mean(np.square(X), axis=0)), TINY)
            outstanding = np.argmax(np.abs(X) * scale, axis=1)
            positive = X[np.arange(problem.n), outstanding] > 0
            kind = kind + kinds * (2 * outstanding + positive)
        return cls(
            X,
            problem.y,
            np.array(problem.weights),
            np.array(problem.radii),
            order,
            np.ones(problem.n, dtype=bool),
            np.array(problem.targets),
            kind,
            kinds,
            np.arange(problem.n, dtype=np.int32),
            Folded(np.zeros(problem.rows.d)),
            problem.n,
        )

    @property
    def n(self) -> int:
        """Rows and groups."""
        return self.y.shape[0]

    def within(self, grouping: Grouping) -> Groups:
        """With no more single rows than may be."""
        if self.n <= grouping.singles:
            return self
        last = np.partition(self.order, grouping.singles)[grouping.singles]
        return self.coarser(float(last), grouping.share)

    def coarser(self, last: float, share: float) -> Groups:
        """Merge what comes after `last` in the order to a share of the batch's rows."""
        far = np.flatnonzero(self.order > last)
        quota = max(int(share * self.rows), self.kinds)
        if far.size <= 2 * quota:  # groups are not paired for the sake of a few rows
            return self
        near = np.flatnonzero(self.order <= last)
        kind = self.kind[far]
        if 2 * np.unique(kind).size > quota:  # whatever the feature
            kind = kind % self.kinds
        order = np.lexsort((self.order[far], kind))
        far, kind = far[order], kind[order]
        begins = np.diff(kind, prepend=-1) != 0
        length = math.ceil(far.size / max(quota - int(begins.sum()), 1))
        place = np.arange(far.size)
        first = np.maximum.accumulate(np.where(begins, place, 0))
        begins |= (place - first) % length == 0
        group, heads = np.cumsum(begins) - 1, far[begins]
        shape = heads.size, self.n
        members = sp.csr_array((self.weights[far], (group, far)), shape)
        total = members.sum(axis=1)
        scale = sp.diags_array(1.0 / np.where(total > 0, total, 1.0), format="csr")
        renamed = np.empty(self.n, dtype=np.int32)
        renamed[near], renamed[far] = np.arange(near.size), near.size + group

        def joined(values, merged):
            return concat([values[near], merged])

        def mean(values):
            return scale @ (members @ values)

        return Groups(
            joined(self.X, mean(self.X)),
            joined(self.y, self.y[heads]),
            joined(self.weights, total),
            joined(self.radii, mean(self.radii)),
            joined(self.order, np.maximum(mean(self.order), last)),
            joined(self.single, np.zeros(heads.size, dtype=bool)),
            joined(self.targets, self.targets[heads]),
            joined(self.kind, self.kind[heads]),
            self.kinds,
            renamed[self.labels],
            self._merged(far, length),
            self.rows,
        )

    def _merged(self, far: np.ndarray, length: int) -> Folded:
        """What sums over groups are off by, once the rows `far` are merged as well."""
        rows = as_rows(self.X[far], self.y[far])
        mass = float(self.weights[far] @ rows.norms()) * (1 + gamma(far.size + 4))
        merged = self.merged + Folded(
            np.zeros(rows.d),
            n=far.size,
            mass=mass,
            rounding=(gamma(length + 8) + rows.combine_rounding) * mass,
            largest_norm=float(rows.norms().max()),
            largest_lipschitz=float(self.radii[far].max()),  # of a unit ball
            largest_target=float(np.abs(self.targets[far]).max()),
        )
        return replace(merged, chain=self.merged.chain + length + 8)

    @staticmethod
    def problem(parts: list[Groups], sets: Sets, intercept) -> Problem:
        """One problem of the groups of all batches."""
        columns = zip(
            *((p.X, p.y, p.weights, p.radii, p.targets) for p in parts), strict=True
        )
        X, y, weights, radii, targets = (concat(list(column)) for column in columns)
        merged = sum((part.merged for part in parts[1:]), parts[0].merged)
        # A sum over groups goes on where the sums within them ended.
        merged = replace(
            merged,
            rounding=merged.rounding + sets.rotation_error * merged.mass,
            largest_lipschitz=sets.shape.lipschitz(X.shape[1])
            * merged.largest_lipschitz,
            chain=merged.chain + len(y),
        )
        rows, noise = as_rows(X, y), Noise(sets, radii)
        problem = Problem(rows, weights, noise, intercept, merged)
        return problem if np.all(targets == 1) else replace(problem, m=targets)
