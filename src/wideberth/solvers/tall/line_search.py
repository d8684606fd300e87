"""The way from the best point to a solution that turned out to be worse.

Rows that were settled wrongly hold nothing back, so that a solution may be far off and
worse than the best point. The objective is convex: halving the way finds a lower one.
"""

from __future__ import annotations

import math
from typing import Any

from wideberth.problem import PrimalPoint, Problem
from wideberth.problem.arrays import namespace
from wideberth.problem.limits import LITTLE
from wideberth.solvers.newton.settings import SETTINGS

#: Number of times that a third of a way is thrown away, which leaves a fifth of it (a
#: choice).
_THIRDS = 4


def pulled_back(
    problem: Problem, best: PrimalPoint, asked: PrimalPoint, held: int
) -> tuple[PrimalPoint, Any]:
    """The point asked for, or a better one on the way; and which rows cross first.

    The rows that cross the margin up to twice as far, and more until a working set of
    rows `held` has grown by a tenth, are those that were missed. None where the point
    is the better one.
    """
    if not asked.value > best.value:
        return asked, None
    point, t = asked, _way(problem, best, asked)
    if t > 0:  # margins that are a mean round otherwise than the certificate allows
        w, b = best.w + t * (asked.w - best.w), best.b + t * (asked.b - best.b)
        point = problem.at(w, b)
    point = point if t > 0 and point.value < best.value else best
    crossed = (best.slack > 0) != (asked.slack > 0)
    xp = namespace(crossed)
    move = xp.where(crossed, best.slack - asked.slack, 1.0)
    way = xp.where(crossed, best.slack / move, math.inf)
    least = min(int(LITTLE * held), problem.n - 1)
    return point, crossed & (way <= max(2 * t, float(xp.sort(way)[least])))


def _way(problem: Problem, best: PrimalPoint, asked: PrimalPoint) -> float:
    """How far to go from one point towards another: to the least of a few values.

    No row is read for that: margins in between are means. Halving the way can stop
    where values rise again, and thirds of what is left about the lowest one can be
    thrown away.
    """

    def value(t):
        w, b = best.w + t * (asked.w - best.w), best.b + t * (asked.b - best.b)
        margins = best.margins + t * (asked.margins - best.margins)
        return problem.at(w, b, margins).value

    t, low, here = 0.5, value(0.5), best.value
    while t > SETTINGS.least_way and not (low < here and value(0.5 * t) > low):
        t *= 0.5
        low = value(t)
    if not low < here:
        return 0.0
    left, right = 0.5 * t, 2.0 * t
    for _ in range(_THIRDS):
        if value(2 / 3 * left + right / 3) < value(left / 3 + 2 / 3 * right):
            right = left / 3 + 2 / 3 * right
        else:
            left = 2 / 3 * left + right / 3
    return 0.5 * (left + right)
