"""From a region to decisions about samples.

Samples whose robust margin is above their target m_i everywhere in a region that
contains the optimum have α_i* = 0 (removed), below it everywhere α_i* = c_i
(saturated); the rest stay free (theory §5). In classification m_i = 1.

Public: `screen` for users, `screen_points` for solvers, and the `Partition` that both
return; `ideal_partition`, the most a rule can decide; `null_point` and
`tells_something`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Pair, PrimalPoint, Problem
from wideberth.problem.arrays import fill, namespace
from wideberth.problem.limits import BLOCK_ROWS, EPS
from wideberth.problem.presolve import check_radii, presolve
from wideberth.problem.rounding import accurate_sum, totals_rounding
from wideberth.problem.rows import gamma
from wideberth.problem.statement import Statement
from wideberth.problem.validation import check_vector
from wideberth.screening.bounds import (
    TESTS,
    nameable_tests,
)
from wideberth.screening.regions import Region, build_region

#: Number of places that are sorted at once rather than halved first: a choice (a sort
#: of so many takes about as long as halving them).
_SORTED = 1024


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
    removed_features : boolean array of shape (d,), or None
        Features with w_j* = 0, where they were asked for.
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


def screen(
    X,
    y,
    w,
    alpha,
    *,
    C,
    radius=None,
    noise="l2",
    X_err=None,
    error_shape="ellipsoid",
    sample_weight=None,
    norm_penalty=0.0,
    fit_intercept=True,
    intercept_penalty=0.0,
    region="ellipsoid",
    test=None,
    b=None,
    features=False,
) -> Partition:
    """Decide, from any primal and dual point, which samples cannot matter.

    Parameters
    ----------
    X, y : array or CSR matrix of shape (n, d); labels of two classes
    w, alpha : arrays of shape (d,) and (n,)
        Any primal point and any dual point (repaired if not feasible). The closer they
        are to the optimum, the more is decided; decisions are right whatever they are.
    C, radius, noise, X_err, error_shape, sample_weight
    norm_penalty, fit_intercept, intercept_penalty
        The problem; see `solve`.
    region : {"ellipsoid", "midpoint", "gap"}
        Where the optimum is sought; "ellipsoid" is the strongest for every shape.
    test : {"separable", "tilted", "ellipsoid", "tangent"}, optional
        Use this test alone; by default all that apply.
    b : float, optional
        Intercept that goes with w; by default the best one.
    features : bool
        Whether to prove features zero as well: those of box noise, for all samples or
        for every cell (theory §10). Without them samples are smaller, so that more of
        them may be decided. Noise of other shapes leaves no feature out.

    Returns
    -------
    Partition
        Boolean arrays `removed`, `saturated`, `free` and the bounds behind them, and
        `removed_features` if they were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from wideberth import screen, solve
    >>> X = np.array([[2.0, 0.1], [1.5, -0.1], [-2.0, 0.1], [-1.5, -0.1]])
    >>> y, options = [1, 1, 0, 0], {"C": 1.0, "radius": 0.2, "noise": "linf"}
    >>> found = solve(X, y, **options)
    >>> screen(X, y, found.w, found.alpha, **options, features=True).removed_features
    array([False,  True])
    """
    statement = Statement(
        C=C,
        radius=radius,
        noise=noise,
        X_err=X_err,
        error_shape=error_shape,
        norm_penalty=norm_penalty,
        fit_intercept=fit_intercept,
        intercept_penalty=intercept_penalty,
        sample_weight=sample_weight,
    )
    problem = Problem.of(X, y, statement)
    w = check_vector(w, problem.rows.d, "w")
    alpha = check_vector(alpha, problem.n, "alpha")
    b = None if b is None else float(check_vector([b], 1, "b")[0])
    units = presolve(problem)
    check_radii(units)
    problem = units.problem
    with np.errstate(all="ignore"):  # a point that overflows is stood in for
        w, b, alpha = units.inward(w, b, alpha)
        point = problem.at(w, b)
        dual = problem.dual_at(alpha, near=point.w)
    null = null_point(problem)
    point = point if tells_something(point, null) else null
    pair = Pair(point, dual)
    if features:
        from wideberth.screening.features import screen_both  # builds on partitions

        found, zero = screen_both(problem, pair, region=region, test=test)
        found = replace(found, removed_features=zero)
    else:
        found = screen_points(problem, pair, region=region, test=test)
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
    return EPS * point.value <= null.value


def screen_points(
    problem: Problem,
    pair: Pair,
    *,
    region: str = "ellipsoid",
    test: str | None = None,
) -> Partition:
    """Screen from evaluated points, by one test or by all that apply.

    The quick test (`bounds.quick_test`) needs no pass over the data if w = w(α)
    and noise is ℓ2.
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


def ideal_partition(problem: Problem, w, b=0.0, tol=1e-9) -> Partition:
    """Screen from an optimal w (the paper's Theorem 2): the most a rule can decide."""
    margins, m = problem.robust_margins(w, b), problem.targets
    unused = problem.weights == 0
    return Partition((margins > m + tol) | unused, margins < m - tol, margins, margins)


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


def _intercept_bracket(
    problem: Problem, lower, upper, b: float = 0.0
) -> tuple[float, float]:
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


def _first_reaching(at, weights, start: float, level: float, near) -> float:
    """The least place at which `start` and the weights up to there come to `level`.

    −∞ where the start does, or none. Rows beyond the places `near`, and then half of
    those left, are summed without sorting them.
    """
    if start >= level:
        return -np.inf
    pivots = list(near)
    while at.size > _SORTED:
        guessed = bool(pivots)
        pivot = pivots.pop() if guessed else float(np.median(at[:: at.size // _SORTED]))
        below = at <= pivot
        reached = start + accurate_sum(weights[below])
        if reached < level:
            start, below = reached, ~below
        elif below.all() and not guessed:  # most places are this one
            break
        at, weights = at[below], weights[below]
    order = np.argsort(at)
    places = np.flatnonzero(start + np.cumsum(weights[order]) >= level)
    return float(at[order[places[0]]]) if places.size else -np.inf
