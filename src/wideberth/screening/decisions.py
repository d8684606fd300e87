"""What is proven of samples, and the problem that is left to solve.

A sample whose robust margin is above its target everywhere in a region that contains
the optimum has α_i* = 0 (removed); one whose margin is below it everywhere has α_i* =
c_i (saturated). The others stay free (theory §5). Decisions leave a smaller problem:
saturated samples are folded into one linear and one norm term, and no row of a decided
sample is read again (theory §3).

Public: `Partition`, the decisions; `screen_points` and `screen_at_hand`, which make
them from a pair of points; `decide`, which makes them from bounds on margins;
`Reduction`, the problem that is left and its way back; `Screener`, for solvers that
screen while they run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Pair, PrimalPoint, Problem
from wideberth.problem.arrays import constant, fill, is_foreign, namespace
from wideberth.problem.limits import BLOCK_ROWS, EPS, LITTLE
from wideberth.problem.rounding import accurate_sum, totals_rounding
from wideberth.problem.rows import gamma
from wideberth.screening.regions import (
    Region,
    build_region,
    gap_ball,
    midpoint_radius,
    scaled_ball,
)
from wideberth.screening.tests import TESTS, nameable_tests, quick_test, separable

#: Number of reads of all rows that a smaller copy of them costs: its rows and norms,
#: the folded rows, the final certificate (6 and 8 cost no problem of
#: `make bench-screening` any pass, 4 does).
COPY_READS = 6

#: Two numbers, the lower one first.
Interval = tuple[float, float]


@dataclass(frozen=True)
class Partition:
    """What is proven about each sample: α_i* = 0, α_i* = c_i, or nothing.

    Attributes
    ----------
    removed, saturated : boolean arrays of shape (n,)
        Samples with α_i* = 0, and with α_i* = c_i.
    lower, upper : arrays of shape (n,)
        Bounds on the robust margin of each sample at the optimum.
    region : Region or None
        The region that contains the optimum.
    removed_features : boolean array of shape (d,), or None
        Features with w_j* = 0, if requested.
    """

    removed: np.ndarray
    saturated: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    region: Region | None = None
    removed_features: np.ndarray | None = None

    @property
    def free(self) -> np.ndarray:
        """Samples about which nothing is proven."""
        return ~(self.removed | self.saturated)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of free, saturated and removed samples."""
        count = namespace(self.removed).count_nonzero
        removed, saturated = int(count(self.removed)), int(count(self.saturated))
        return self.removed.shape[0] - removed - saturated, saturated, removed

    @property
    def share(self) -> float:
        """Share of samples decided."""
        return 1 - self.counts[0] / self.removed.size

    def __repr__(self):
        free, saturated, removed = self.counts
        return f"Partition(free={free}, saturated={saturated}, removed={removed})"


def null_point(problem: Problem) -> PrimalPoint:
    """The primal at w = 0 and the best b, without a pass over the data."""
    margins = fill(problem.weights, problem.n, 0.0)
    return problem.at(np.zeros(problem.rows.d), margins=margins)


def tells_something(point: PrimalPoint, null: PrimalPoint) -> bool:
    """Whether a primal point tells more than w = 0, as a start or for a region.

    A point that is worse than w = 0 by a factor of 10¹⁶, or overflows, does not.
    """
    return EPS * point.value <= null.value


def screen_points(
    problem: Problem,
    pair: Pair,
    *,
    region: str = "ellipsoid",
    test: str | None = None,
) -> Partition:
    """Screen from evaluated points, by one test or by all that apply.

    The quick test (`tests.quick_test`) reads no row if w = w(α) and noise is ℓ2.
    """
    where = build_region(region, problem, pair)
    allowed = nameable_tests(problem, region)
    if test is not None and test not in allowed:
        raise ValueError(
            f"test={test!r} does not apply to region={region!r} with "
            f"{problem.noise.name} noise; choose one of {allowed}."
        )
    names = allowed if test is None else [test]
    tests = [TESTS[name](problem, where) for name in names]
    lower, upper = np.full(problem.n, -np.inf), np.full(problem.n, np.inf)
    for start in range(0, problem.n, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, problem.n))
        for bounds in tests:
            low, high = bounds(rows)
            np.fmax(lower[rows], low, out=lower[rows])
            np.fmin(upper[rows], high, out=upper[rows])
    return decide(problem, lower, upper, where)


def decide(
    problem: Problem, lower, upper, region: Region | None = None, b: float = 0.0
) -> Partition:
    """Turn bounds into decisions; a free intercept at its unfavourable end (§4.4).

    The search for that end is the quicker the better a guess `b` of the intercept is.
    """
    if problem.intercept == 0:
        b_low, b_high = _intercept_bracket(problem, lower, upper, b)
        positive = problem.y > 0
        lower = lower + np.where(positive, b_low, -b_high)
        upper = upper + np.where(positive, b_high, -b_low)
    removed = (lower > problem.targets) | (problem.weights == 0)
    saturated = (upper < problem.targets) & ~removed
    return Partition(removed, saturated, lower, upper, region)


def _intercept_bracket(problem: Problem, lower, upper, b: float = 0.0) -> Interval:
    """Bounds on b* when every robust margin without b lies in [lower, upper] (§4.4).

    The slope of P in b jumps by c_i at y_i(m_i−ψ_i); it is largest where all jumps come
    earliest, and then first reaches 0 at a lower bound of b*; likewise above, seen from
    the other end. Where it is 0 from −∞ on, or up to ∞, as folded samples or a class
    without weight may make it, b* has no bound on that side.
    """
    y, positive, weights = problem.y, problem.y > 0, problem.weights
    lower, upper = np.fmax(lower, -np.inf), np.fmin(upper, np.inf)  # NaN bounds nothing
    targets = problem.targets
    earliest = y * (targets - np.where(positive, upper, lower))
    latest = y * (targets - np.where(positive, lower, upper))
    total = accurate_sum(weights)
    balance, mass = 0.0, total
    if problem.folded is not None:
        balance, mass = problem.folded.balance, total + problem.folded.weight
    start = -balance - accurate_sum(weights * positive)
    end, slack = start + total, 4 * (totals_rounding(problem) + gamma(problem.n)) * mass
    width = float(np.mean(latest - earliest)) if problem.n else 0.0
    near = b - width, b + width
    b_low = _first_reaching(earliest, weights, start, -slack, near)
    mirrored = -near[1], -near[0]
    b_high = -_first_reaching(-latest, weights, -end, -slack, mirrored)
    wiggle = 2.0**-50
    return b_low - wiggle * (1 + abs(b_low)), b_high + wiggle * (1 + abs(b_high))


def _first_reaching(
    at: np.ndarray, weights: np.ndarray, start: float, level: float, near: Interval
) -> float:
    """The least place at which `start` and the weights up to there come to `level`.

    −∞ if `start` is there already, or if no place gets there. Where the sums at the
    ends of the interval `near` show that the answer is inside, only that is sorted.
    """
    if start >= level:
        return -np.inf
    below, inside = at <= near[0], (at > near[0]) & (at <= near[1])
    before = start + accurate_sum(weights[below])
    if before < level <= before + accurate_sum(weights[inside]):
        start, at, weights = before, at[inside], weights[inside]
    order = np.argsort(at)
    places = np.flatnonzero(start + np.cumsum(weights[order]) >= level)
    return float(at[order[places[0]]]) if places.size else -np.inf


# -- from margins that are known -------------------------------------------------------


def screen_at_hand(problem: Problem, pair: Pair, region: str) -> Partition:
    """Decide by the margins of the primal point; read few rows, or none.

    A solver knows the margins at its primal point w, and those at w(α) only by a
    product. The optimum is in a ball about a multiple of w, too (`scaled_ball`), over
    which the separable test reads no row. Other tests over the `region` have narrower
    bounds, and read rows. Half of their width is at least r(‖z_i‖ − L_i)/√(1 + κL²), r
    the radius of the midpoint ball, L the Lipschitz constant of the shape and κ its
    curvature (§4.3'). So they can decide only samples that are farther than this from
    their target. Where these are more than a tenth of all samples their rows are read,
    but for rows of another array library.
    """
    ball = (gap_ball if region == "gap" else scaled_ball)(problem, pair)
    lower, upper = separable(problem, ball)(slice(None))
    b = pair.point.b
    found = decide(problem, lower, upper, b=b)
    few = LITTLE * problem.n
    if region == "gap" or is_foreign(problem.y) or found.counts[0] <= few:
        return found
    doubtful = _in_doubt(problem, pair, region, ball, found)
    if doubtful.size <= few:
        return found
    point = replace(pair.point, margins=pair.point.margins[doubtful])
    small = problem.take(doubtful)
    if small.intercept == 0:  # a bracket of b takes the bounds of all samples
        small = replace(small, intercept=None)
    test = quick_test(problem, region)
    part = screen_points(small, Pair(point, pair.dual), region=region, test=test)
    lower[doubtful] = np.fmax(lower[doubtful], part.lower)
    upper[doubtful] = np.fmin(upper[doubtful], part.upper)
    return decide(problem, lower, upper, b=b)


def _in_doubt(
    problem: Problem, pair: Pair, region: str, ball: Region, found: Partition
) -> np.ndarray:
    """Undecided samples that a test over the region might decide, by number."""
    noise, d, radius = problem.noise, problem.rows.d, midpoint_radius(problem, pair)
    if region == "ellipsoid" and pair.dual.s > 0:
        largest = noise.shape.lipschitz(d)
        omega = noise.shape.support(pair.point.w) + ball.radius * largest
        curvature = pair.dual.s / (2 * omega) if omega > 0 else 0.0
        radius *= (1 + curvature * largest * largest) ** -0.5
    free = np.flatnonzero(found.free)
    least = (problem.rows.norms() - noise.lipschitz(d))[free]
    middle = 0.5 * (found.lower[free] + found.upper[free])
    distance = np.abs(problem.targets[free] - middle)
    return free[distance > radius * np.maximum(least, 0.0)]


# -- the problem that is left ---------------------------------------------------------


@dataclass(frozen=True)
class Reduction:
    """A problem on its free samples alone, saturated ones folded, and the way back."""

    full: Problem
    problem: Problem
    free: np.ndarray  # indices into the full problem
    settled: np.ndarray  # α of all samples, 0 where free

    @classmethod
    def of(cls, problem: Problem) -> Reduction:
        """All samples are free."""
        index = np.int32 if problem.n <= np.iinfo(np.int32).max else np.int64
        nothing = constant(0.0, problem.n)
        return cls(problem, problem, np.arange(problem.n, dtype=index), nothing)

    @classmethod
    def without(cls, problem: Problem, decided: Partition | None = None) -> Reduction:
        """Without the samples that are `decided`, by default those of no weight."""
        bounds = problem.weights
        if decided is None and not bounds.all():
            unused = bounds == 0
            decided = Partition(unused, np.zeros_like(unused), bounds, bounds)
        whole = cls.of(problem)
        return whole if decided is None else whole.shrink(decided)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of free, saturated and removed samples."""
        saturated = 0 if self.problem.folded is None else self.problem.folded.n
        n, free = self.full.n, self.problem.n
        return free, saturated, n - free - saturated

    def shrink(self, partition: Partition) -> Reduction:
        """Apply decisions about the free samples; reads the saturated rows once."""
        small, saturated = self.problem, partition.saturated
        keep = np.flatnonzero(partition.free)
        folded, settled = small.folded, self.settled.copy()
        if saturated.any():
            settled[self.free[saturated]] = small.weights[saturated]
            fold = small.fold(saturated)
            folded = fold if folded is None else folded + fold
        reduced = small.take(keep, folded=folded)
        return Reduction(self.full, reduced, self.free[keep], settled)

    def unfold(self, alpha: np.ndarray) -> np.ndarray:
        """Dual weights of all n samples from those of the free ones."""
        whole = self.settled.copy()
        whole[self.free] = alpha
        return whole


class Screener:
    """Dynamic screening: a solver hands in its iterates, and the problem shrinks.

    It pays where a solver reads the rows often, as coordinate ascent does. It starts
    without the samples of no weight and without those `decided` already.

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
        self.reduction = Reduction.without(problem, decided)

    @property
    def problem(self) -> Problem:
        """The problem as reduced so far."""
        return self.reduction.problem

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of free, saturated and removed samples, of the original ones."""
        return self.reduction.counts

    def update(
        self, pair: Pair, least: float = 0.0, ahead: float = np.inf
    ) -> np.ndarray | None:
        """Decide from points of the current problem, and shrink it if that pays.

        Returns the mask of its samples that are kept, or None if it stays as it is.
        The share decided must exceed `least`. It must also repay the copy of the rows
        that are left: it times the reads since the last copy, or `ahead` if those are
        fewer, is at least `COPY_READS`.
        """
        self.looks += 1
        if self.region is None or not self._repays(1.0, least, ahead):
            return None
        if self.problem.n == 0 or pair.dual.value == -np.inf:
            return None
        partition = screen_at_hand(self.problem, pair, self.region)
        if not self._repays(partition.share, least, ahead):
            return None
        self.reduction, self.looks = self.reduction.shrink(partition), 0
        return partition.free

    def _repays(self, share: float, least: float, ahead: float) -> bool:
        """Whether it pays to go on without this share of the samples."""
        return share > least and share * min(self.looks, ahead) >= COPY_READS
