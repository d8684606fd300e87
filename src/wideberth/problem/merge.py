"""Rows that stand for many: equal rows as one row, other rows in groups (theory §12).

Let the members of a group g, all of one class, share one ratio a = α_i/c_i. Their part
of the dual is that of one row, the mean z̄ = Σc_iz_i/C_g with the mean radius and the
weight C_g = Σc_i. So a dual point of the problem on groups, dealt out as
α_i = c_i·α_g/C_g, is one of all samples of the same value, up to the rounding of C_g
and of α_i, which `Problem.chain` counts. `Merged` holds the groups and the way back.

*Equal rows.* Samples of the same z_i, m_i, ρ_i and U_i, and with an intercept of the
same y_i, lose the same at every (w,b): the primal is the same as well,

    Σ_{i∈g} c_i [m_i − ψ_i(w,b)]_+ = C_g [m_g − ψ_g(w,b)]_+ .

They are found by a hash of each row's numbers, and compared before they are merged
(`kernels/equal_rows.pyx`). Where most rows differ a sample of them shows it: of n rows
of which each is there twice, √(2kn) rows drawn at random hold k pairs.

*Groups* let all rows of data that is too large take part in one problem. Its primal is
at most that of the whole, and equal at a w where no group has members on both sides of
the margin (Jensen). Unlike folded rows, groups hold w back when it moves too far. They
are formed anew at every solution: aggregation with iterative disaggregation (Park and
Klabjan, JMLR 2016). Members had the same ratio a before, so the dual point before is
one of the new problem, and its value can only rise. Single are the rows whose ratio
seems to change next: those with 0 < a < 1, then those whose slack contradicts their
ratio, the worst first, then those nearest to the margin. Others are put together with
rows of the same class, ratio and side, the same outstanding feature and a similar
distance from the margin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from wideberth.kernels.equal_rows import group_rows
from wideberth.noise.sets import Noise
from wideberth.problem.arrays import concat, is_foreign
from wideberth.problem.limits import COPY_SHARE, FEW_ROWS, TINY
from wideberth.problem.problem import Folded, Problem
from wideberth.problem.rows import as_rows, gamma

#: Pairs of equal rows expected in the sample that is looked at, where every row is
#: there twice, which is where they are hardest to see; by Poisson's law three of them
#: are missed in one case of 360.
_EXPECTED_PAIRS = 10
#: Values seen twice from which on all rows are looked at. One or two, such as a row of
#: zeros in both classes, may be frequent where all others differ.
_REPEATED_VALUES = 3
#: Largest number of entries of a table of which no sample is looked at, but all rows:
#: to hash them takes no longer than to draw one (4 601×57 and 19 020×10, 0.05 ms).
_HASHED_ENTRIES = 1 << 19
#: Distance of the ratio α/c from 0 and 1 up to which a row is grouped as one at that
#: bound (a choice; solutions on groups are about as exact).
AT_BOUND = 1e-3
#: Kinds of rows of one target: two classes, two bounds, two sides.
_KINDS = 8


@dataclass(frozen=True)
class Merged:
    """A problem on rows that stand for many, and the way back to all samples."""

    problem: Problem
    #: For every sample the place of the row that stands for it.
    label: np.ndarray
    #: Weights of all samples, and the roundings that these went through.
    weights: np.ndarray
    chain: float = 0.0

    @property
    def n(self) -> int:
        """Samples."""
        return self.label.size

    def with_labels(self, y: np.ndarray, classes: np.ndarray) -> Merged:
        """The same samples under labels y, where they were merged by x alone.

        A row that stands for samples of both labels becomes two.
        """
        split, problem = 2 * self.label + (y > 0), self.problem
        found = np.bincount(split, minlength=2 * problem.n) > 0
        label = (np.cumsum(found) - 1)[split]
        places, upper = np.divmod(np.flatnonzero(found), 2)
        if places.size > problem.n:
            problem = problem.take(places)
        problem = problem.with_labels(np.where(upper, 1.0, -1.0), classes)
        weights, chain = group_weights(self.weights, label, places.size)
        problem = replace(problem, weights=weights, chain=self.chain + chain)
        return Merged(problem, label, self.weights, self.chain)

    def gathered(self, alpha: np.ndarray) -> np.ndarray:
        """Dual weights of the merged rows from those of all samples."""
        return np.bincount(self.label, alpha, self.problem.n)

    def dealt(self, alpha: np.ndarray, C: float = 1.0) -> np.ndarray:
        """Dual weights of all samples, in proportion to their weights, C times c_i."""
        ratio = ratios(alpha, C * self.problem.weights)
        return ratio[self.label] * (C * self.weights)

    def decided(self, removed, saturated) -> tuple[np.ndarray, np.ndarray]:
        """Masks of all samples at α* = 0 and at α* = c; without weight, c is 0."""
        unused = self.weights == 0
        return removed[self.label] | unused, saturated[self.label] & ~unused

    def marked(self, mask: np.ndarray) -> np.ndarray:
        """A mask of the samples of some weight among those that marked rows stand for.

        What has no weight costs nothing, and is not left out.
        """
        return mask[self.label] & (self.weights > 0)


def ratios(alpha: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """α/c, within [0, 1]; 0 without a weight."""
    ratio = np.divide(alpha, weights, out=np.zeros(alpha.size), where=weights > 0)
    return np.minimum(ratio, 1.0)


def join(parts: list[Problem]) -> Problem:
    """One problem of the rows of several."""
    first, *others = parts
    if not others:
        return first
    columns = zip(*((p.rows.X, p.y, p.weights) for p in parts), strict=True)
    X, y, weights = (concat(list(column)) for column in columns)
    return replace(
        first,
        rows=as_rows(X, y),
        weights=weights,
        m=None if first.m is None else concat([part.targets for part in parts]),
        noise=Noise.joined([part.noise for part in parts]),
        chain=max(part.chain for part in parts),
    )


# -- equal rows ------------------------------------------------------------------------


def merge_equal_rows(problem: Problem) -> Merged | None:
    """The problem on distinct rows; None where few of a sample of rows are equal.

    None, too, for few rows, which are solved in milliseconds, and for foreign ones.
    """
    if problem.n < FEW_ROWS or is_foreign(problem.y) or not _may_repeat(problem):
        return None
    return distinct(problem)


def distinct(problem: Problem, share: float = COPY_SHARE) -> Merged | None:
    """The problem on distinct rows; None where these are more than a share of all.

    All rows are looked at.
    """
    found = group_samples(problem, int(share * problem.n))
    if found is None:
        return None
    label, first = found
    weights, chain = group_weights(problem.weights, label, first.size)
    chain += problem.chain
    merged = replace(problem.take(first), weights=weights, chain=chain)
    return Merged(merged, label, problem.weights, problem.chain)


def group_weights(weights: np.ndarray, label, m: int) -> tuple[np.ndarray, float]:
    """C_g = Σ_{i∈g} c_i, and the most roundings that C_g and α_i went through.

    Equal weights are counted. Others are summed in two levels, since one row may stand
    for most samples.
    """
    beside = 4.0  # C·c_i, α_g/C_g, c_i·(α_g/C_g), and the same factor on C_g
    if not _varies(weights):
        return weights[0] * np.bincount(label, minlength=m), 1 + beside
    parts = max(min(label.size // m, math.isqrt(label.size)), 1)
    place = label * np.int64(parts) + np.arange(label.size) % parts
    sums = np.bincount(place, weights, m * parts).reshape(m, parts)
    longest = int(np.bincount(place).max()) + parts
    return sums.sum(axis=1), longest + beside


def _varies(values: np.ndarray) -> bool:
    """Whether numbers per sample differ; one that stands for all has no stride."""
    return values.strides != (0,) and not bool((values == values[0]).all())


def _may_repeat(problem: Problem) -> bool:
    """Whether a sample of the rows holds values that repeat; of few entries, maybe."""
    if problem.rows.entries() <= _HASHED_ENTRIES:
        return True
    drawn = math.ceil(math.sqrt(2 * _EXPECTED_PAIRS * problem.n))
    J = np.unique(np.random.default_rng(0).integers(problem.n, size=drawn))
    found = group_samples(problem.take(J), J.size)
    if found is None:
        return False
    counts = np.bincount(found[0])
    few = counts.size <= COPY_SHARE * J.size
    return few or int(np.count_nonzero(counts > 1)) >= _REPEATED_VALUES


def group_samples(problem: Problem, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Groups of equal samples: the number of each sample's, and the first of each.

    None where there are more than `most` groups. Without an intercept only z_i = y_ix_i
    matters: x_i is equal to −x_i of the other class.
    """
    n, ones = problem.n, np.ones(problem.n)
    if n > np.iinfo(np.int32).max:
        return None
    problem.rows.passes.add(n)
    if problem.intercept is None:
        signs, label = problem.y, np.zeros(n, dtype=np.int32)
    else:
        signs, label = ones, (problem.y > 0).astype(np.int32)
    # Numbers first: where no two targets are equal, no table is read.
    numbers = (problem.radii, problem.targets)
    parts = [(values[:, None], ones) for values in numbers if _varies(values)]
    rows, *others = problem.tables()
    parts += [(rows.X, signs), *((table.X, ones) for table in others)]
    first = np.empty(0, dtype=np.int32)
    for X, sign in parts:
        found = group_rows(X, sign, label, most)
        if found is None:
            return None
        label, first = found
    return label, first


# -- groups ----------------------------------------------------------------------------


class Grouping(NamedTuple):
    """How rows are grouped: the most single rows, and groups per row."""

    singles: int
    share: float


@dataclass(frozen=True)
class Groups:
    """The rows of one batch, some of them merged.

    What is known of merged rows, for the bound on rounding, is in `problem.folded`.
    """

    problem: Problem
    #: The group of each row of the batch.
    label: np.ndarray
    #: Place in the order in which rows become single ones; a mean in groups.
    order: np.ndarray
    #: Whether it is a row as it was.
    single: np.ndarray
    #: Only rows of the same kind are merged: class, bound, side, target, outstanding
    #: feature.
    kind: np.ndarray
    #: Number of kinds that are kept apart in any case, whatever the feature.
    kinds: int

    @classmethod
    def of(cls, problem: Problem, slack, ratio, distance) -> Groups:
        """Every row of a batch as a group of one."""
        X, n, upper = problem.rows.X, problem.n, 2 * ratio > 1
        between = (ratio > AT_BOUND) & (ratio < 1 - AT_BOUND)
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
            kind = kind + kinds * (2 * outstanding + (X[np.arange(n), outstanding] > 0))
        nothing = Folded(np.zeros(problem.rows.d))
        problem = replace(problem, folded=nothing, measured=None)
        label, single = np.arange(n, dtype=np.int32), np.ones(n, dtype=bool)
        return cls(problem, label, order, single, kind, kinds)

    @property
    def n(self) -> int:
        """Rows and groups."""
        return self.problem.n

    def within(self, grouping: Grouping) -> Groups:
        """With at most as many single rows as the grouping allows."""
        if self.n <= grouping.singles:
            return self
        last = np.partition(self.order, grouping.singles)[grouping.singles]
        return self.coarser(float(last), grouping.share)

    def coarser(self, last: float, share: float) -> Groups:
        """Merge what comes after `last` in the order to a share of the batch's rows."""
        far = np.flatnonzero(self.order > last)
        quota = max(int(share * self.label.size), self.kinds)
        if far.size <= 2 * quota:  # few rows beyond the quota: not worth merging
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
        problem, shape = self.problem, (heads.size, self.n)
        members = sp.csr_array((problem.weights[far], (group, far)), shape)
        total = members.sum(axis=1)
        scale = sp.diags_array(1.0 / np.where(total > 0, total, 1.0), format="csr")
        renamed = np.empty(self.n, dtype=np.int32)
        renamed[near], renamed[far] = np.arange(near.size), near.size + group

        def joined(values, merged):
            return concat([values[near], merged])

        def mean(values):
            return scale @ (members @ values)

        X, radii, m = problem.rows.X, problem.radii, problem.m
        merged = replace(
            problem,
            rows=as_rows(joined(X, mean(X)), joined(problem.y, problem.y[heads])),
            weights=joined(problem.weights, total),
            noise=Noise(problem.noise.sets, joined(radii, mean(radii))),
            m=None if m is None else joined(m, m[heads]),
            folded=self._rounding(far, length),
        )
        return Groups(
            merged,
            renamed[self.label],
            joined(self.order, np.maximum(mean(self.order), last)),
            joined(self.single, np.zeros(heads.size, dtype=bool)),
            joined(self.kind, self.kind[heads]),
            self.kinds,
        )

    def _rounding(self, far: np.ndarray, length: int) -> Folded:
        """What sums over groups are off by, once the rows `far` are merged as well."""
        problem, known = self.problem, self.problem.folded
        rows = as_rows(problem.rows.X[far], problem.y[far])
        mass = float(problem.weights[far] @ rows.norms()) * (1 + gamma(far.size + 4))
        merged = Folded(
            np.zeros(rows.d),
            n=far.size,
            mass=mass,
            rounding=(gamma(length + 8) + rows.combine_rounding) * mass,
            largest_norm=float(rows.norms().max()),
            largest_lipschitz=float(problem.noise.lipschitz(rows.d)[far].max()),
            largest_target=float(np.abs(problem.targets[far]).max()),
        )
        assert known is not None
        return replace(known + merged, chain=known.chain + length + 8)

    @staticmethod
    def joined(parts: list[Groups]) -> Problem:
        """One problem of the groups of all batches."""
        problem = join([part.problem for part in parts])
        known = (part.problem.folded for part in parts)
        merged = sum((fold for fold in known if fold), Folded(np.zeros(problem.rows.d)))
        # A sum over groups goes on where the sums within them ended.
        rounding = merged.rounding + problem.noise.sets.rotation_error * merged.mass
        merged = replace(merged, rounding=rounding, chain=merged.chain + problem.n)
        return replace(problem, folded=merged)
