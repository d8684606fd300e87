"""What an intercept asks of both problems (theory §4.4).

Of the primal the best b for given w, where the slope of the hinge part and of its
penalty changes sign; of the dual Σα_i y_i = 0, where b is free. Samples folded at their
bound have the sum `folded` of α_i y_i.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem.arrays import namespace
from wideberth.problem.limits import TINY
from wideberth.problem.rounding import accurate_sum, sum_rounding


def best_intercept(slack, y, weights, penalty: float, folded: float) -> float:
    """Return b minimising P for fixed w; `slack` = 1 − ψ_i(w,0). One sort."""
    order = np.argsort(y * slack)
    breaks = (y * slack)[order]
    # Slope of the hinge part right of each break; it jumps by c_i there.
    start = -folded - weights[y > 0].sum()
    if not breaks.size:
        return float(-start / penalty) if penalty else 0.0
    right = start + np.cumsum(weights[order])
    left = np.concatenate(([start], right[:-1]))
    k = int(np.searchsorted(right + penalty * breaks >= 0, True))
    if k == breaks.size:
        return float(-right[-1] / penalty) if penalty else float(breaks[-1])
    if left[k] + penalty * breaks[k] > 0:
        return float(-left[k] / penalty)
    if penalty == 0 and right[k] == 0 and k + 1 < breaks.size:
        return float(0.5 * (breaks[k] + breaks[k + 1]))
    return float(breaks[k])


def balanced(alpha, y, weights, folded: float):
    """Return α with Σα_i y_i = 0 near one in its box, the same object if it has that.

    The heavier class is scaled down, and the lighter one up where folded samples leave
    no other way.
    """
    upper, xp = y > 0, namespace(alpha)
    sums = [accurate_sum(xp.where(part, alpha, 0.0)) for part in (upper, ~upper)]
    excess = sums[0] - sums[1] + folded
    if abs(excess) <= sum_rounding(y.shape[0]) * (sum(sums) + abs(folded)):
        return alpha
    heavy = upper if excess > 0 else ~upper
    mass, other = sums if excess > 0 else sums[::-1]
    target = other - folded if excess > 0 else other + folded
    factor = max(target, 0.0) / mass if mass else 0.0
    alpha = xp.where(heavy, factor * alpha, alpha)
    if target < 0:
        room = xp.where(heavy, 0.0, weights - alpha)
        share = min(-target / max(accurate_sum(room), TINY), 1.0)
        alpha = xp.minimum(alpha + share * room, weights)
    return alpha
