"""From decisions to a smaller problem, and the way back (theory §3).

Saturated samples still push on the solution: they are folded into one linear and one
norm term, and no row of a decided sample is read again.

Public: `Reduction`, the reduced problem with its way back; `Screener`, which an
iterative solver calls with its iterates (dynamic screening; static screening is its
first call); `fold_samples`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import mul

import numpy as np

from wideberth.problem import Certificate, Folded, Pair, PrimalPoint, Problem
from wideberth.problem.arrays import largest, masked, namespace
from wideberth.problem.rounding import chain, summed
from wideberth.problem.rows import gamma
from wideberth.screening.at_hand import screen_at_hand
from wideberth.screening.partition import Partition

#: Number of reads of all rows that a smaller copy of them costs: its rows and their
#: norms, what is folded, and the certificate of the whole problem in the end (with 4
#: a9a takes up to a twelfth more passes with screening than without, with 6 and 8 no
#: problem of `make bench-screening` does).
COPY_READS = 6


@dataclass(frozen=True)
class Reduction:
    """A problem on its free samples alone, saturated ones folded, and the way back."""

    full: Problem
    problem: Problem
    free: np.ndarray  # indices into the full problem
    settled: np.ndarray  # α of all samples, 0 where free

    @classmethod
    def of(cls, problem: Problem) -> Reduction:
        """Nothing screened yet."""
        index = np.int32 if problem.n <= np.iinfo(np.int32).max else np.int64
        nothing = np.broadcast_to(0.0, (problem.n,))  # takes no memory
        return cls(problem, problem, np.arange(problem.n, dtype=index), nothing)

    def shrink(self, partition: Partition) -> Reduction:
        """Apply decisions about the free samples; reads the saturated rows once."""
        small, saturated = self.problem, partition.saturated
        keep = np.flatnonzero(partition.free)
        folded, settled = small.folded, self.settled.copy()
        if saturated.any():
            settled[self.free[saturated]] = small.weights[saturated]
            fold = fold_samples(small, saturated)
            folded = fold if folded is None else folded + fold
        reduced = small.take(keep, folded=folded)
        return Reduction(self.full, reduced, self.free[keep], settled)

    def unfold(self, alpha: np.ndarray) -> np.ndarray:
        """Dual weights of all n samples from those of the free ones."""
        whole = self.settled.copy()
        whole[self.free] = alpha
        return whole

    def certify(self, w: np.ndarray, b: float | None, alpha: np.ndarray) -> Certificate:
        """Certificate of (w, b) and the unfolded α on the full problem."""
        dual = self.full.dual_at(self.unfold(alpha))
        return self.full.certificate(self.full.at(w, b), dual)


def fold_samples(problem: Problem, chosen) -> Folded:
    """Σ over a mask of samples of c_i times z_i, m_i, y_i and ρ_iU_i (theory §3)."""
    count = int(namespace(chosen).count_nonzero(chosen))
    if count == 0:
        return Folded(np.zeros(problem.rows.d))
    weights, norms = masked(chosen, problem.weights), problem.rows.norms()
    mass = summed(mul, weights, norms)
    relative = problem.rows.combine_rounding + gamma(problem.chain)
    relative += problem.noise.sets.rotation_error
    own = replace(problem, folded=None).dual_sums(weights)
    return Folded(
        problem.rows.combine(weights),
        own.total,
        summed(mul, weights, problem.y),
        count,
        mass,
        relative * mass,
        chain(problem.n, count) + problem.chain,
        largest(masked(chosen, norms)),
        largest(masked(chosen, problem.noise.norm_factors(problem.rows.d))),
        problem.noise.folded(weights),
        own.size,
        own.weight,
        largest(masked(chosen, abs(problem.targets))),
    )


class Screener:
    """Dynamic screening: an iterative solver hands in iterates, the problem shrinks.

    It starts without the samples of no weight, and without those `decided` already,
    as along a path (sequential screening).

    >>> screener = Screener(problem)                                # doctest: +SKIP
    >>> while not done:                                             # doctest: +SKIP
    ...     step on screener.problem
    ...     kept = screener.update(pair)  # indices kept, or None
    """

    def __init__(
        self,
        problem: Problem,
        region: str | None = "ellipsoid",
        decided: Partition | None = None,
    ):
        self.region = region
        self.looks = 0  # iterates handed in since the problem shrank
        self.reduction = Reduction.of(problem)
        unused = problem.weights == 0
        if decided is None and unused.any():
            bounds = np.full(problem.n, np.nan)
            decided = Partition(unused, np.zeros_like(unused), bounds, bounds)
        if decided is not None:
            self.reduction = self.reduction.shrink(decided)

    @property
    def problem(self) -> Problem:
        """The problem as reduced so far."""
        return self.reduction.problem

    def update(
        self, pair: Pair, least: float = 0.0, ahead: float = np.inf
    ) -> np.ndarray | None:
        """Screen from points of the current problem; shrink it if worth while.

        Returns which of its samples are kept, as a mask, or None if it stays as it is:
        when no more than the share `least` of them was decided, or when these do not
        repay a copy. They do if they would have, had they been known from the start,
        and in the reads that are `ahead`, where a solver can tell.
        """
        self.looks += 1
        region = self.region
        if region is None or not self._repays(1.0, least, ahead):
            return None
        if self.problem.n == 0 or pair.dual.value == -np.inf:
            return None
        partition = screen_at_hand(self.problem, pair, region)
        if not self._repays(partition.share, least, ahead):
            return None
        self.reduction, self.looks = self.reduction.shrink(partition), 0
        return partition.free

    def promises(
        self, point: PrimalPoint, gap: float, least: float = 0.0, ahead: float = np.inf
    ) -> bool:
        """Whether to prove this gap, at a point w = w(α), would let `update` shrink.

        For solvers that have to pay for a proof: by the ball of radius √gap about w
        (theory §4.2), no row read and nothing decided. A point that promises nothing
        counts as one that was handed in.
        """
        self.looks += 1
        problem, region = self.problem, self.region
        if region is None or problem.n == 0 or not self._repays(1.0, least, ahead):
            return False
        lengths = problem.rows.norms() + problem.noise.lipschitz(problem.rows.d)
        square = 2 * gap if region == "gap" else gap
        near = np.abs(point.slack) <= max(square, 0.0) ** 0.5 * lengths
        promised = self._repays(1 - near.mean(), least, ahead)
        if promised:
            self.looks -= 1  # the pair that is handed in next counts in its place
        return promised

    def _repays(self, share: float, least: float, ahead: float) -> bool:
        """Whether it pays to go on without this share of the samples."""
        return share > least and share * min(self.looks, ahead) >= COPY_READS

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of free, saturated and removed samples, of the original ones."""
        reduction = self.reduction
        saturated = 0 if self.problem.folded is None else self.problem.folded.n
        n, free = reduction.full.n, self.problem.n
        return free, saturated, n - free - saturated
