"""Equal rows are one row: a presolve, exact at every level, and its way back (§12).

Samples of the same z_i, m_i, ρ_i and U_i, and with an intercept of the same y_i, lose
the same at every (w,b). One of them with the weight of all does,

    Σ_{i∈g} c_i [m_i − ψ_i(w,b)]_+ = C_g [m_g − ψ_g(w,b)]_+ ,    C_g = Σ_{i∈g} c_i,

and any 0 ≤ α_g ≤ C_g, dealt out as α_i = c_i·α_g/C_g, is a dual point of all samples of
the same value. So what is proven of the problem on distinct rows is proven of the one
given, up to the rounding of C_g and of α_i, which `Problem.chain` counts.

They are found by a hash of each row's numbers, and compared before they are merged
(`kernels/equal_rows.pyx`). Where most rows differ a sample of them shows it: of n rows
of which each is there twice, √(2kn) rows drawn at random hold k pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from wideberth.kernels.equal_rows import group_rows
from wideberth.problem.arrays import is_foreign
from wideberth.problem.problem import Problem

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
    """The same without a look at a sample: it reads all rows.

    None where distinct rows are more than this share of all.
    """
    found = group_samples(problem, int(share * problem.n))
    if found is None:
        return None
    label, first = found
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


def _may_repeat(problem: Problem) -> bool:
    """Whether a sample of the rows holds values that repeat."""
    drawn = math.ceil(math.sqrt(2 * _EXPECTED_PAIRS * problem.n))
    J = np.unique(np.random.default_rng(0).integers(problem.n, size=drawn))
    found = group_samples(problem.take(J), J.size)
    if found is None:
        return False
    counts = np.bincount(found[0])
    few = counts.size <= WORTH_MERGING * J.size
    return few or int(np.count_nonzero(counts > 1)) >= _REPEATED_VALUES


def group_samples(problem: Problem, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The group of every sample, of those equal to it, and the first of each group.

    None where there are more than `most` groups. Without an intercept only z_i matters:
    −x_i of the other class is x_i.
    """
    n, ones = problem.n, np.ones(problem.n)
    if n > np.iinfo(np.int32).max:
        return None
    problem.rows.passes.add(n)
    if problem.intercept is None:
        signs, label = problem.y, np.zeros(n, dtype=np.int32)
    else:
        signs, label = ones, (problem.y > 0).astype(np.int32)
    rows, *others = problem.tables()
    parts = [(rows.X, signs), *((table.X, ones) for table in others)]
    for numbers in (problem.radii, problem.targets):
        if _varies(numbers):
            parts.append((numbers[:, None], ones))
    first = np.empty(0, dtype=np.int32)
    for X, sign in parts:
        found = group_rows(X, sign, label, most)
        if found is None:
            return None
        label, first = found
    return label, first
