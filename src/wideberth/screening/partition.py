"""From a region to decisions, and from decisions to a smaller problem.

Samples whose robust margin is above 1 everywhere in a region that contains the optimum
have α_i* = 0 (removed), below 1 everywhere α_i* = c_i (saturated); the rest stay free
(theory §5). Saturated samples still push on the solution: they are folded into one
linear and one norm term (theory §3), and no row of either kind is read again.

Public: `screen` for users; `Partition`, `screen_points`, `ideal_partition`;
`Reduction`, the reduced problem with its way back; `Screener`, which an iterative
solver calls with its iterates (dynamic mode; static is its first call); `carry_dual`
(sequential mode).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import (
    Certificate,
    DualPoint,
    Folded,
    PrimalPoint,
    Problem,
)
from wideberth.problem.arrays import fill, namespace
from wideberth.problem.presolve import check_radii, presolve
from wideberth.problem.rounding import accurate_sum, chain, totals_rounding
from wideberth.problem.rows import gamma
from wideberth.problem.validation import check_vector
from wideberth.screening.bounds import (
    TESTS,
    Bounds,
    Test,
    available_tests,
    hopeless,
    nameable_tests,
)
from wideberth.screening.regions import Region, build_region

__all__ = [
    "Partition",
    "Reduction",
    "Screener",
    "carry_dual",
    "ideal_partition",
    "null_point",
    "screen",
    "screen_points",
    "tells_something",
]


#: Rows whose bounds are computed at a time: their vectors stay in a cache.
_BATCH = 1 << 14
#: How many times the value of w = 0 a primal point may have to be of any use: beyond
#: the reciprocal of float64's precision, nothing of the problem is left in its value.
_USELESS = 1e16


@dataclass(frozen=True)
class Partition:
    """What is proven of every sample: α_i* = 0, α_i* = c_i, or nothing.

    Attributes
    ----------
    removed, saturated : boolean arrays of shape (n,)
        Samples with α_i* = 0, and with α_i* = c_i.
    lower, upper : arrays of shape (n,)
        Bounds on the robust margin of each sample at the optimum.
    region : Region or None
        Where the optimum was sought.
    """

    removed: np.ndarray
    saturated: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    region: Region | None = None

    @property
    def free(self) -> np.ndarray:
        """Samples about which nothing is proven."""
        return ~(self.removed | self.saturated)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of free, saturated and removed samples."""
        removed, saturated = int(self.removed.sum()), int(self.saturated.sum())
        return self.removed.size - removed - saturated, saturated, removed

    @property
    def share(self) -> float:
        """Share of samples decided."""
        return 1 - self.counts[0] / self.removed.size

    def __repr__(self):
        free, saturated, removed = self.counts
        return f"Partition(free={free}, saturated={saturated}, removed={removed})"


def screen(
    X,
    y,
    w,
    alpha,
    *,
    C,
    radius,
    noise="l2",
    sample_weight=None,
    intercept=None,
    region="ellipsoid",
    test=None,
    b=None,
) -> Partition:
    """Decide, from any primal and dual point, which samples cannot matter.

    Parameters
    ----------
    X, y : array or CSR matrix of shape (n, d); labels of two classes
    w, alpha : arrays of shape (d,) and (n,)
        Any primal point and any dual point (repaired if not feasible). The closer they
        are to the optimum, the more is decided; decisions are right whatever they are.
    C, radius, noise, sample_weight, intercept
        The problem; see `Problem.from_data`.
    region : {"ellipsoid", "midpoint", "gap"}
        Where the optimum is sought; "ellipsoid" is the strongest for every shape.
    test : {"separable", "joint", "tilted", "ellipsoid"}, optional
        Use this test alone; by default all that apply, strongest first.
    b : float, optional
        Intercept that goes with w; by default the best one.

    Returns
    -------
    Partition
        Boolean arrays `removed`, `saturated`, `free` and the bounds behind them.
    """
    problem = Problem.from_data(
        X,
        y,
        C=C,
        radius=radius,
        noise=noise,
        sample_weight=sample_weight,
        intercept=intercept,
    )
    w = check_vector(w, problem.rows.d, "w")
    alpha = check_vector(alpha, problem.n, "alpha")
    b = None if b is None else float(check_vector([b], 1, "b")[0])
    units = presolve(problem)
    check_radii(units)
    problem = units.problem
    with np.errstate(all="ignore"):  # a point that overflows is stood in for
        w, b, alpha = units.inward(w, b, alpha)
        point, dual = problem.at(w, b), problem.dual_at(alpha)
    null = null_point(problem)
    point = point if tells_something(point, null) else null
    found = screen_points(problem, point, dual, region=region, test=test)
    where = None if found.region is None else units.region(found.region)
    return replace(found, region=where)


def null_point(problem: Problem) -> PrimalPoint:
    """The primal at w = 0 and the best b, without a pass over the data."""
    margins = fill(problem.weights, problem.n, 0.0)
    return problem.at(np.zeros(problem.rows.d), margins=margins)


def tells_something(point: PrimalPoint, null: PrimalPoint) -> bool:
    """Whether a primal point is of any use beside w = 0: as a start, or for a region.

    Any point may be given for either. One that is worse than w = 0 by a factor of
    10¹⁶, or that overflows, puts the optimum nowhere that w = 0 does not.
    """
    return point.value <= _USELESS * null.value


def screen_points(
    problem: Problem,
    point: PrimalPoint,
    dual: DualPoint,
    *,
    region: str = "ellipsoid",
    test: str | None = None,
) -> Partition:
    """Screen from evaluated points; needs no pass over the data if w = w(α) (ℓ2)."""
    where = build_region(region, problem, point, dual)
    names = available_tests(problem, region)
    if test is not None:
        allowed = nameable_tests(problem, region)
        if test not in allowed:
            raise ValueError(
                f"test={test!r} does not apply to region={region!r} with "
                f"{problem.noise.name} noise; choose one of {allowed}."
            )
        names = [test]
    tests = [TESTS[name](problem, where) for name in names]
    lower, upper = np.empty(problem.n), np.empty(problem.n)
    for rows in _batches(problem.n):
        lower[rows], upper[rows] = tests[0](rows)
    if len(tests) > 1:
        _tighten(problem, where, tests[1], names[1] == "joint", lower, upper)
    return _decide(problem, where, lower, upper)


def _batches(n: int) -> Iterator[slice]:
    """Slices of rows that stay in cache."""
    for start in range(0, n, _BATCH):
        yield slice(start, min(start + _BATCH, n))


def _tighten(problem, where, test: Test, sparing: bool, lower, upper) -> None:
    """Run a second test on the samples left undecided, sparing it where it is idle."""
    need_low, need_high = _needed(problem, lower, upper)
    for rows in _batches(problem.n):
        left = (lower[rows] <= need_low[rows]) & (upper[rows] >= need_high[rows])
        chosen = rows.start + np.flatnonzero(left)
        if sparing and chosen.size:
            look = rows if chosen.size == left.size else chosen
            idle = hopeless(problem, where, look, need_low[look], need_high[look])
            chosen = chosen[~idle]
        if chosen.size:
            tighter = test(chosen)
            lower[chosen] = np.maximum(lower[chosen], tighter[0])
            upper[chosen] = np.minimum(upper[chosen], tighter[1])


def ideal_partition(problem: Problem, w, b=0.0, tol=1e-9) -> Partition:
    """Screen from an optimal w (the paper's Theorem 2): the most a rule can decide."""
    margins = problem.robust_margins(w, b)
    unused = problem.weights == 0
    return Partition((margins > 1 + tol) | unused, margins < 1 - tol, margins, margins)


def carry_dual(problem: Problem, alpha: np.ndarray, weights: np.ndarray) -> DualPoint:
    """Turn the dual solution under `weights` into a feasible point of `problem`.

    Sequential screening: every α_i keeps its share of the box, then the whole is
    stretched to the best feasible multiple. D(tα) = tΣα_i − ½t²(…), so t is closed
    form.
    """
    share = np.divide(alpha, weights, out=np.zeros(problem.n), where=weights > 0)
    dual = problem.dual_at(share * problem.weights)
    total = accurate_sum(dual.alpha)
    curvature = float(dual.w @ dual.w) + (problem.intercept or 0.0) * dual.b * dual.b
    used = dual.alpha > 0
    room = float((problem.weights[used] / dual.alpha[used]).min(initial=np.inf))
    best = min(total / curvature if curvature > 0 else 1.0, room)
    if problem.folded is not None or abs(best - 1) < 1e-6:
        return dual
    return problem.dual_at(np.minimum(best * dual.alpha, problem.weights))


def _needed(problem: Problem, lower, upper) -> Bounds:
    """What a lower bound must exceed to remove, an upper one undercut to saturate.

    1, less a free intercept's share at its unfavourable end (theory §4.4).
    """
    if problem.intercept != 0:
        one = np.broadcast_to(1.0, (problem.n,))
        return one, one
    b_low, b_high = _intercept_bracket(problem, lower, upper)
    positive = problem.y > 0
    worst = np.where(positive, b_low, -b_high)
    best = np.where(positive, b_high, -b_low)
    return 1 - worst, 1 - best


def _decide(problem: Problem, region: Region, lower, upper) -> Partition:
    """Turn bounds into decisions; those of a `Partition` include a free intercept."""
    need_low, need_high = _needed(problem, lower, upper)
    removed = (lower > need_low) | (problem.weights == 0)
    saturated = (upper < need_high) & ~removed
    if problem.intercept == 0:
        lower, upper = lower + (1 - need_low), upper + (1 - need_high)
    return Partition(removed, saturated, lower, upper, region)


def _intercept_bracket(problem: Problem, lower, upper) -> tuple[float, float]:
    """Bounds on b* when every robust margin without b lies in [lower, upper] (§4.4).

    The slope of P in b jumps by c_i at y_i(1−ψ_i); it is largest where all jumps come
    earliest, and then first reaches 0 at a lower bound of b*; likewise above. Where it
    is 0 from −∞ on, or up to ∞, as folded samples or a class without weight may make
    it, b* has no bound on that side.
    """
    y, positive = problem.y, problem.y > 0
    earliest = y * (1 - np.where(positive, upper, lower))
    latest = y * (1 - np.where(positive, lower, upper))
    balance, mass = 0.0, accurate_sum(problem.weights)
    if problem.folded is not None:
        balance, mass = problem.folded.balance, mass + problem.folded.total
    start = -balance - accurate_sum(problem.weights * positive)
    slack = 4 * (totals_rounding(problem) + gamma(problem.n)) * mass

    def jumps(at):
        order = np.argsort(at)
        return at[order], start + np.cumsum(problem.weights[order])

    at, slope = jumps(earliest)
    reached = np.flatnonzero(slope >= -slack)
    b_low = at[reached[0]] if start < -slack and reached.size else -np.inf
    at, slope = jumps(latest)
    before = np.concatenate(([start], slope[:-1]))
    reached = np.flatnonzero(before <= slack)
    end = start + accurate_sum(problem.weights)
    b_high = at[reached[-1]] if end > slack and reached.size else np.inf
    wiggle = 2.0**-50
    return b_low - wiggle * (1 + abs(b_low)), b_high + wiggle * (1 + abs(b_high))


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
        index = np.int32 if problem.n < 2**31 else np.int64
        nothing = np.broadcast_to(0.0, (problem.n,))  # takes no memory
        return cls(problem, problem, np.arange(problem.n, dtype=index), nothing)

    def shrink(self, partition: Partition) -> Reduction:
        """Apply decisions about the free samples; reads the saturated rows once."""
        small, saturated = self.problem, partition.saturated
        keep = np.flatnonzero(partition.free)
        folded = small.folded
        settled = self.settled.copy()
        if saturated.any():
            gone = np.flatnonzero(saturated)
            weights = small.weights[gone]
            settled[self.free[gone]] = weights
            fold = fold_samples(small, saturated)
            folded = fold if folded is None else folded + fold
        reduced = replace(
            small,
            rows=small.rows.take(keep),
            weights=small.weights[keep],
            radii=small.radii[keep],
            folded=folded,
        )
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
    """Σ over a mask of samples of c_i times z_i, ρ_i, 1, y_i and ‖z_i‖ (theory §3)."""
    xp, count = namespace(chosen), int(namespace(chosen).count_nonzero(chosen))
    if count == 0:
        return Folded(np.zeros(problem.rows.d), 0.0, 0.0, 0.0, 0, 0.0, 0.0)
    weights, norms = xp.where(chosen, problem.weights, 0.0), problem.rows.norms()
    mass = accurate_sum(weights * norms)
    return Folded(
        problem.rows.combine(weights),
        accurate_sum(weights * problem.radii),
        accurate_sum(weights),
        accurate_sum(weights * problem.y),
        count,
        mass,
        (problem.rows.combine_rounding + problem.noise.turn_error) * mass,
        chain(problem.n, count),
        float(xp.max(xp.where(chosen, norms, 0.0))),
        float(xp.max(xp.where(chosen, problem.radii, 0.0))),
    )


class Screener:
    """Dynamic screening: an iterative solver hands in iterates, the problem shrinks.

    It starts without the samples of no weight, and without those `decided` already,
    as along a path (sequential screening).

    >>> screener = Screener(problem)                                # doctest: +SKIP
    >>> while not done:                                             # doctest: +SKIP
    ...     step on screener.problem
    ...     kept = screener.update(point, dual)  # indices kept, or None
    """

    def __init__(
        self,
        problem: Problem,
        region: str | None = "ellipsoid",
        decided: Partition | None = None,
    ):
        self.region = region
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
        self, point: PrimalPoint, dual: DualPoint, least: float = 0.0
    ) -> np.ndarray | None:
        """Screen from points of the current problem; shrink it if worth while.

        Returns which of its samples are kept, as a mask, or None if it stays as it is:
        when no more than the share `least` of them was decided.
        """
        if self.region is None or self.problem.n == 0 or dual.value == -np.inf:
            return None
        partition = screen_points(self.problem, point, dual, region=self.region)
        if partition.share <= least:
            return None
        self.reduction = self.reduction.shrink(partition)
        return partition.free

    @property
    def counts(self) -> tuple[int, int, int]:
        """Numbers of free, saturated and removed samples, of the original ones."""
        reduction = self.reduction
        saturated = 0 if self.problem.folded is None else self.problem.folded.n
        n, free = reduction.full.n, self.problem.n
        return free, saturated, n - free - saturated
