"""What a pair of points decides from margins that are known: no row is read.

A solver knows the margins at its primal point w, and those at w(α) only by a product.
But near the optimum, and along a path in C, w(α) is nearly a multiple of w. With f the
best multiple for the midpoint c = (w + w_α)/2 of theory §4.2, and r the radius there,

    ‖w* − fw‖ ≤ R = r + ‖c − fw‖,      ψ_i(w*) ∈ fψ_i(w) ± R(‖z_i‖ + L_i),

since κ_i is homogeneous and has the Lipschitz constant L_i: a handful of operations on
vectors. A penalised intercept is one more coordinate of length √λ_b(b + b_α)/2, which
no noise moves; a free one is left to `decide`.

The tests of `bounds.py` are narrower, and need products. Their bounds move by no less
than r(‖z_i‖ − L_i)/√(1 + κL²), L that of the shape and κ its curvature (§4.3'). So they
can decide none but samples that are farther than this from the margin. Where these are
more than a tenth of all, their rows, and no others, are read.

Rounding. fψ_i is made from the slack by a few operations on numbers of at most |m_i| +
|b| + W(‖z_i‖ + L_i), W a bound on all norms, and the margins in it are off by γ_{d+4}
of the last: twice γ_{4d+64} of their sum is more than all of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Pair, Problem
from wideberth.problem.arrays import host, is_foreign, namespace
from wideberth.problem.limits import LITTLE
from wideberth.problem.rows import gamma
from wideberth.screening.bounds import quick_test
from wideberth.screening.partition import Partition, decide, screen_points
from wideberth.screening.regions import gap_ball, midpoint_radius


def screen_at_hand(problem: Problem, pair: Pair, region: str) -> Partition:
    """Decide by the margins of the primal point, and read rows where that may pay.

    The `region` is that of the tests of single rows. Rows in another array library are
    not read.
    """
    ball = _Ball.of(problem, pair, region)
    level, reach = ball.bounds(problem, pair)
    lower, upper, b = level - reach, level + reach, pair.point.b
    found = decide(problem, lower, upper, b=b)
    few = LITTLE * problem.n
    if region == "gap" or is_foreign(problem.y) or found.counts[0] <= few:
        return found
    doubtful = ball.in_doubt(problem, pair, region, found)
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


@dataclass(frozen=True)
class _Ball:
    """All (w, √λ_b b) within `radius` of `factor`·w and √λ_b `b`; one is the optimum's.

    `inner` is the radius about the midpoint itself, `norm_bound` one on all norms.
    """

    factor: float
    b: float
    radius: float
    inner: float
    norm_bound: float

    @classmethod
    def of(cls, problem: Problem, pair: Pair, region: str) -> _Ball:
        """The ball that the pair puts the optimum in, the paper's for "gap"."""
        if region == "gap":
            gap = gap_ball(problem, pair)
            return cls(1.0, gap.b, gap.radius, gap.radius, gap.norm_bound)
        w, w_alpha = host(pair.point.w), host(pair.dual.w)
        inner, square = midpoint_radius(problem, pair), float(w @ w)
        factor = 0.5 + 0.5 * float(w @ w_alpha) / square if square > 0 else 1.0
        factor = max(factor, 0.0)  # κ is homogeneous in multiples that are not negative
        middle = 0.5 * (w + w_alpha)
        offset = float(np.linalg.norm(middle - factor * w))
        b = 0.5 * (pair.point.b + pair.dual.b)
        longest = max(1.0, factor) * square**0.5 + float(np.linalg.norm(w_alpha))
        radius = (inner + offset) * (1 + gamma(problem.rows.d + 8))
        return cls(factor, b, radius, inner, longest + radius)

    def bounds(self, problem: Problem, pair: Pair):
        """The middle of each robust margin, without a free b, and its distance."""
        point, noise = pair.point, problem.noise
        level = self.factor * (problem.targets - point.slack)
        norms = problem.rows.norms()
        size, lengths, b_size = norms + noise.lipschitz(problem.rows.d), None, 0.0
        if problem.intercept is not None:
            b = self.b if problem.intercept else 0.0
            level = level + problem.y * (b - self.factor * point.b)
            b_size = abs(b) + (1 + self.factor) * abs(point.b)
        if problem.intercept:
            extra = 1 / problem.intercept
            lengths = namespace(norms).sqrt(norms * norms + extra) - norms
            b_size += self.radius * extra**0.5
        error = 2 * gamma(4 * problem.rows.d + 64)
        reach = (self.radius + error * self.norm_bound) * size
        reach = reach + error * ((1 + self.factor) * abs(problem.targets) + b_size)
        if lengths is not None:
            reach = reach + self.radius * lengths
        return level, reach + self.norm_bound * problem.axes_error()

    def in_doubt(self, problem, pair, region, found) -> np.ndarray:
        """Undecided samples that a narrower test might decide, by number."""
        noise, d = problem.noise, problem.rows.d
        narrow = 1.0
        if region == "ellipsoid" and pair.dual.s > 0:
            largest = noise.shape.lipschitz(d)
            omega = pair.point.omega + self.radius * largest
            curvature = pair.dual.s / (2 * omega) if omega > 0 else 0.0
            narrow = (1 + curvature * largest * largest) ** -0.5
        least = problem.rows.norms() - noise.lipschitz(d)
        free = np.flatnonzero(found.free)
        middle = 0.5 * (found.lower[free] + found.upper[free])
        distance = np.abs(problem.targets[free] - middle)
        return free[distance > narrow * self.inner * np.maximum(least[free], 0.0)]
