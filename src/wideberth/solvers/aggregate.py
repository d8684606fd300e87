"""Rows that stand for groups of rows, so that all of the data fits in one problem.

Let the members of a group, all of one class, share one ratio a = α_i/c_i. Their part of
the dual is that of a single row: the mean z̄ = Σc_i z_i/Σc_i, the mean radius and the
weight Σc_i. So every dual point of the problem on groups is one of the whole problem,
of the same value. Its primal is at most that of the whole, and equal at a w where no
group has members on both sides of the margin (Jensen). Rows near the margin are groups
of their own; others are put together with rows of the same class, on the same side,
with the same outstanding feature and about as far away. Groups that the solution cuts
through are formed anew about it: aggregation with iterative disaggregation (Park and
Klabjan, JMLR 2016). Unlike folded rows, groups hold w back when it moves too far.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from wideberth.problem import Folded, Problem
from wideberth.problem.limits import TINY
from wideberth.problem.rows import as_rows, gamma

__all__ = ["Groups"]

#: Kinds of rows that are told apart in any case: two classes, two sides.
_KINDS = 4


@dataclass(frozen=True)
class Groups:
    """The rows of one chunk, some of them merged."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    radii: np.ndarray
    #: How near the margin a row is, in units of what it may move; a mean in groups.
    distance: np.ndarray
    #: Whether it is a row as it was.
    single: np.ndarray
    #: Only rows of the same kind are merged: class, side and outstanding feature.
    kind: np.ndarray
    #: The group of each row of the chunk; None where nobody will ask.
    labels: np.ndarray | None
    #: What is known of the rows that were merged, for the bound on rounding.
    merged: Folded
    #: Rows of the chunk.
    rows: int

    @classmethod
    def of(cls, problem: Problem, slack, distance, keep_labels: bool) -> Groups:
        """Every row of a chunk as a group of its own."""
        X = problem.rows.X
        scale = 1.0 / np.maximum(np.sqrt(np.mean(np.square(X), axis=0)), TINY)
        outstanding = np.argmax(np.abs(X) * scale, axis=1)
        upward = X[np.arange(problem.n), outstanding] > 0
        kind = _KINDS * (2 * outstanding + upward) + 2 * (problem.y > 0) + (slack > 0)
        nothing = Folded(np.zeros(problem.rows.d), 0.0, 0.0, 0.0, 0, 0.0, 0.0)
        return cls(
            X,
            problem.y,
            np.array(problem.weights),
            np.array(problem.radii),
            distance,
            np.ones(problem.n, dtype=bool),
            kind,
            np.arange(problem.n, dtype=np.int32) if keep_labels else None,
            nothing,
            problem.n,
        )

    @property
    def n(self) -> int:
        """Rows and groups."""
        return self.y.shape[0]

    def coarser(self, most: float, share: float) -> Groups:
        """Merge what is further away than `most` to this share of the chunk's rows."""
        far = np.flatnonzero(self.distance > most)
        quota = max(int(share * self.rows), _KINDS)
        if far.size <= 2 * quota:  # groups are not paired for the sake of a few rows
            return self
        near = np.flatnonzero(self.distance <= most)
        kind = self.kind[far]
        if 2 * np.unique(kind).size > quota:  # class and side alone
            kind = kind % _KINDS
        order = np.lexsort((self.distance[far], kind))
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
        scale = 1.0 / np.where(total > 0, total, 1.0)
        labels = self.labels
        if labels is not None:
            renamed = np.empty(self.n, dtype=np.int32)
            renamed[near], renamed[far] = np.arange(near.size), near.size + group
            labels = renamed[labels]

        def joined(values, merged):
            return np.concatenate((values[near], merged))

        def mean(values):
            return (members @ values).T * scale

        return Groups(
            joined(self.X, mean(self.X).T),
            joined(self.y, self.y[heads]),
            joined(self.weights, total),
            joined(self.radii, mean(self.radii)),
            joined(self.distance, np.maximum(mean(self.distance), most)),
            joined(self.single, np.zeros(heads.size, dtype=bool)),
            joined(self.kind, self.kind[heads]),
            labels,
            self._merged(far, length),
            self.rows,
        )

    def _merged(self, far: np.ndarray, length: int) -> Folded:
        """What sums over groups are off by, once the rows `far` are merged as well."""
        rows = as_rows(self.X[far], self.y[far])
        mass = float(self.weights[far] @ rows.norms()) * (1 + gamma(far.size + 4))
        merged = self.merged + Folded(
            np.zeros(rows.d),
            0.0,
            0.0,
            0.0,
            far.size,
            mass,
            (gamma(length + 8) + rows.combine_rounding) * mass,
            0.0,
            float(rows.norms().max()),
            float(self.radii[far].max()),
        )
        return replace(merged, chain=self.merged.chain + length + 8)

    @staticmethod
    def problem(parts: list[Groups], terms) -> Problem:
        """One problem of the groups of all chunks."""
        columns = zip(*((p.X, p.y, p.weights, p.radii) for p in parts), strict=True)
        X, y, weights, radii = (np.concatenate(column) for column in columns)
        merged = sum((part.merged for part in parts[1:]), parts[0].merged)
        # A sum over groups goes on where the sums within them ended.
        merged = replace(
            merged,
            rounding=merged.rounding + terms.noise.rotation_error * merged.mass,
            chain=merged.chain + len(y),
        )
        return Problem(
            as_rows(X, y), weights, radii, terms.noise, terms.intercept, merged
        )
