"""Equal rows are one row: a presolve, exact at every level, and its way back (§12).

Samples of the same z_i, ρ_i and U_i, and with an intercept of the same y_i, lose the
same at every (w,b). One of them with the weight of all does,

    Σ_{i∈g} c_i [1 − ψ_i(w,b)]_+ = C_g [1 − ψ_g(w,b)]_+ ,    C_g = Σ_{i∈g} c_i,

and any 0 ≤ α_g ≤ C_g, dealt out as α_i = c_i·α_g/C_g, is a dual point of all samples of
the same value. So what is proven of the problem on distinct rows is proven of the one
given, up to the rounding of C_g and of α_i, which `Problem.chain` counts.

They are found by a hash, h_i = ⟨z_i,r⟩ and more for a random r, that is by one product;
rows of one hash are compared with one of them, number by number, so that a collision
costs a merge and proves nothing wrong. Where rows differ a sample of them tells: of n
rows of which each is there twice, √(2kn) rows drawn at random hold k pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from wideberth.problem.arrays import is_foreign
from wideberth.problem.limits import CACHED_ENTRIES
from wideberth.problem.problem import Problem
from wideberth.problem.rows import Rows

#: Least number of samples for which it pays to merge equal ones: a choice; fewer are
#: solved in milliseconds.
MANY_SAMPLES = 4000
#: Largest share of distinct rows at which they are merged: with more of them, looking
#: for equal ones costs about as many products as it saves.
WORTH_MERGING = 0.5
#: Pairs of equal rows expected in the sample that is looked at, where every row is
#: there twice, which is where they are hardest to see; by Poisson's law three of them
#: are missed in one case of 360.
_EXPECTED_PAIRS = 10
#: Values seen twice from which on all rows are looked at. One or two, such as a row of
#: zeros in both classes, may be frequent where all others differ.
_REPEATED_VALUES = 3
#: Rounds in which rows are put into buckets by their hash; each settles all rows but
#: those that share a bucket with another hash, at most a quarter.
_ROUNDS = 16
#: Odd multipliers that spread the bits of a hash come of this one, 2⁶⁴ divided by the
#: golden ratio (Knuth, The Art of Computer Programming, §6.4).
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class EqualRows:
    """A problem on distinct rows, and what brings its answers to all samples."""

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

    def with_labels(self, y: np.ndarray, classes: np.ndarray) -> EqualRows:
        """Equal rows of samples under labels y, where those here were told by x alone.

        A row that stands for samples of both labels becomes two.
        """
        split, problem = 2 * self.label + (y > 0), self.problem
        found = np.bincount(split, minlength=2 * problem.n) > 0
        label = (np.cumsum(found) - 1)[split]
        places, upper = np.divmod(np.flatnonzero(found), 2)
        if places.size > problem.n:
            problem = problem.take(places)
        problem = problem.with_labels(np.where(upper, 1.0, -1.0), classes)
        weights, chain = summed(self.weights, label, places.size)
        problem = replace(problem, weights=weights, chain=self.chain + chain)
        return EqualRows(problem, label, self.weights, self.chain)

    def gathered(self, alpha: np.ndarray) -> np.ndarray:
        """Dual weights of the distinct rows from those of all samples."""
        return np.bincount(self.label, alpha, self.problem.n)

    def dealt(self, alpha: np.ndarray, C: float = 1.0) -> np.ndarray:
        """Dual weights of all samples, in proportion to their weights, C times c_i."""
        total = C * self.problem.weights
        share = np.divide(alpha, total, out=np.zeros(alpha.size), where=total > 0)
        return np.minimum(share, 1.0)[self.label] * (C * self.weights)

    def decided(self, removed, saturated) -> tuple[np.ndarray, np.ndarray]:
        """Masks of all samples at α* = 0 and at α* = c; without weight, c is 0."""
        unused = self.weights == 0
        return removed[self.label] | unused, saturated[self.label] & ~unused

    def marked(self, mask: np.ndarray) -> np.ndarray:
        """A mask of the samples of some weight among those that marked rows stand for.

        What has no weight costs nothing, and is not left out.
        """
        return mask[self.label] & (self.weights > 0)


def merge_equal_rows(problem: Problem) -> EqualRows | None:
    """The problem on distinct rows; None where a look at some rows sees few equal."""
    return merged(problem) if _may_repeat(problem) else None


def merge_chunk(problem: Problem) -> EqualRows | None:
    """The same for a part of the data; a small one, such as the last, as it is."""
    if is_foreign(problem.y):
        return None
    if problem.n < MANY_SAMPLES:
        label = np.arange(problem.n)
        return EqualRows(problem, label, problem.weights, problem.chain)
    return merge_equal_rows(problem)


def merged(problem: Problem, share: float = WORTH_MERGING) -> EqualRows | None:
    """The same without a look at a sample: it takes a product over all rows.

    None where distinct rows are more than this share of all.
    """
    most = share * problem.n
    likely = representatives(hashes(problem), most)
    if likely is None:
        return None
    first, label = _numbered(likely)
    wrong = differing(problem, first, label)
    if wrong.size:
        first, label = np.concatenate((first, wrong)), label.copy()
        label[wrong] = np.arange(first.size - wrong.size, first.size)
        if first.size > most:
            return None
    weights, chain = summed(problem.weights, label, first.size)
    chain += problem.chain
    distinct = replace(problem.take(first), weights=weights, chain=chain)
    return EqualRows(distinct, label, problem.weights, problem.chain)


def summed(weights: np.ndarray, label, m: int) -> tuple[np.ndarray, float]:
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


# -- hashes ----------------------------------------------------------------------------


def hashes(problem: Problem) -> np.ndarray:
    """A number for every sample; those of equal samples are equal.

    Up to rounding: a product that adds the last rows of a block in another order leaves
    these rows on their own.
    """
    rng = np.random.default_rng(0)
    h = np.zeros(problem.n)
    with np.errstate(all="ignore"):  # what overflows equals nothing
        for table in problem.tables():
            h += table.projections(rng.normal(size=table.d))
        labels, radii = rng.normal(size=2)
        if problem.intercept is not None:
            h += labels * problem.y
        if _varies(problem.radii):
            h += radii * problem.radii
    return h


def _may_repeat(problem: Problem) -> bool:
    """Whether a sample of the rows holds values that repeat."""
    drawn = math.ceil(math.sqrt(2 * _EXPECTED_PAIRS * problem.n))
    J = np.unique(np.random.default_rng(0).integers(problem.n, size=drawn))
    _, counts = np.unique(hashes(problem.take(J)), return_counts=True)
    few = counts.size <= WORTH_MERGING * J.size
    return few or int(np.count_nonzero(counts > 1)) >= _REPEATED_VALUES


def representatives(h: np.ndarray, most: float) -> np.ndarray | None:
    """For every row one of the same hash, the same for all of them.

    None where there are more than `most` hashes. Rows write their number into the
    bucket of their hash; the one that stays there stands for those of its hash, and the
    others go on to the next round, with other buckets.
    """
    index = np.int32 if h.size <= np.iinfo(np.int32).max else np.int64
    bits, left = h.view(np.uint64), np.arange(h.size, dtype=index)
    found, distinct = left.copy(), 0
    for k in range(_ROUNDS):
        size = max(left.size - 1, 1).bit_length()
        factor = np.uint64(_GOLDEN * (2 * k + 1) % 2**64)
        bits = bits * factor
        bits >>= np.uint64(64 - size)
        bucket = bits.view(np.int64)
        table = np.zeros(1 << size, dtype=index)
        table[bucket] = left
        stands = table[bucket]
        same = h[stands] == (h if k == 0 else h[left])
        distinct += int(np.count_nonzero(stands == left))
        if distinct > most:
            return None
        if same.all():
            found[left] = stands
            break
        found[left[same]] = stands[same]
        left = left[~same]
        bits = h[left].view(np.uint64)
    return found


def _numbered(stands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows that stand for themselves, and for every row the place of its own there."""
    own = stands == np.arange(stands.size, dtype=stands.dtype)
    number = np.cumsum(own, dtype=stands.dtype) - 1
    return np.flatnonzero(own), number[stands]


# -- comparison ------------------------------------------------------------------------


def differing(problem: Problem, first: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Samples that are not equal to the one that stands for them, first[label].

    Without an intercept only z_i matters: −x_i of the other class is x_i.
    """
    y, theirs = problem.y, problem.y[first][label]
    wrong, flips = np.empty(0, dtype=np.int64), None
    if _varies(problem.radii):
        wrong = np.flatnonzero(problem.radii != problem.radii[first][label])
    if problem.intercept is not None:
        wrong = np.concatenate((wrong, np.flatnonzero(y != theirs)))
    elif not np.array_equal(y, theirs):
        flips = y * theirs
    rows, *others = problem.tables()
    parts = [_unlike(rows, first, label, flips)]
    parts += [_unlike(table, first, label, None) for table in others]
    return np.unique(np.concatenate((wrong, *parts)))


def _unlike(table: Rows, first, label, flips) -> np.ndarray:
    """Rows of a table that differ from those that stand for them, times ±1."""
    table.passes.add(table.n)
    compare = _sparse_unlike if sp.issparse(table.X) else _dense_unlike
    parts = compare(table.X, first, label, flips)
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _dense_unlike(X: np.ndarray, first, label, flips) -> Iterator[np.ndarray]:
    n, d = X.shape
    few, size = X[first], max(CACHED_ENTRIES // max(d, 1), 1)
    # One buffer for all copies: fresh memory costs more than they do.
    buffer = np.empty((min(size, n), d), dtype=X.dtype)
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        theirs = buffer[: part.stop - start]
        few.take(label[part], axis=0, out=theirs, mode="clip")
        if flips is not None:
            theirs *= flips[part, None]
        equal = X[part] == theirs
        if not equal.all():
            yield start + np.flatnonzero(~equal.all(axis=1))


def _sparse_unlike(X, first, label, flips) -> Iterator[np.ndarray]:
    if not X.data.all():  # rows may store different zeros
        X = X.copy()
        X.eliminate_zeros()
    n, lengths = X.shape[0], np.diff(X.indptr)
    if (lengths == lengths[0]).all():  # as of one-hot columns: two dense tables
        shape, stored = (n, lengths[0]), slice(X.indptr[-1])
        columns, values = (part[stored].reshape(shape) for part in (X.indices, X.data))
        yield from _dense_unlike(columns, first, label, None)
        yield from _dense_unlike(values, first, label, flips)
        return
    starts, size = X.indptr[:-1].astype(np.int64), max(n * CACHED_ENTRIES // X.nnz, 1)
    for start in range(0, n, size):
        rows = np.arange(start, min(start + size, n))
        stands = first[label[rows]]
        alike = lengths[rows] == lengths[stands]
        if not alike.all():
            yield rows[~alike]
            stands = np.where(alike, stands, rows)
        ours = slice(X.indptr[rows[0]], X.indptr[rows[-1] + 1])
        theirs = np.repeat(starts[stands] - starts[rows], lengths[rows])
        theirs += np.arange(ours.start, ours.stop)
        values = X.data[theirs]
        if flips is not None:
            values *= np.repeat(flips[rows], lengths[rows])
        equal = X.indices[ours] == X.indices[theirs]
        equal &= X.data[ours] == values
        if not equal.all():
            yield np.unique(np.repeat(rows, lengths[rows])[~equal])
