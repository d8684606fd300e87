"""Steps of `mehrotra.py` on the rows nearest to the margin, in one compiled call.

At the optimum about as many samples as there are features have a dual weight strictly
between its bounds. Where the slacks u_i = 1 − ψ_i of a point not far away are known,
rows far from the margin are settled, at α_i = c_i where u_i > 0 and at 0 elsewhere, and
the problem of the others is solved: these are the working sets of `driver.py`.
The slacks at its solution tell which rows were settled wrongly. They join, and those
that are the nearest now, until none is left that matters. Where a large share of all
rows would have to join, little was known: then steps are taken on all of them.

What is found is evaluated by the caller.
"""

from __future__ import annotations

import numpy as np

from wideberth.problem.jit import jit
from wideberth.problem.limits import LITTLE, TINY
from wideberth.solvers.compiled.mehrotra import minimise


@jit
def minimise_nearest(
    E, c, penalty, fold, total, scales, kind, b_at, goal, most, steer, slack, few, many
):
    """`minimise` from the slacks of some point; return (x, α/c, steps, read, gap).

    At least `few` rows are stepped on, at most `many`; slacks are overwritten, and
    `read` counts the rows of all steps. The settled rows may leave open a little of the
    `goal`.
    """
    n, m = E.shape
    inside, share, left = np.zeros(n, np.bool_), np.empty(n), np.empty(m)
    steps, read, most_lost, few = 0, 0, LITTLE * goal, min(few, n)
    while True:
        _add_nearest(slack, few, inside)
        chosen = np.flatnonzero(inside)
        whole = chosen.size > many
        if whole:
            inside[:], chosen, most_lost = True, np.arange(n), 0.0
        constant = _settle(E, c, fold, total, slack, inside, share, left)
        rows = E if whole else E[chosen]
        x, part, taken, gap = minimise(
            *(rows, c[chosen], penalty, left, constant, scales, kind, b_at),
            *(goal - most_lost, most, steer),
        )
        steps, read = steps + taken, read + (taken + 1) * chosen.size
        if whole:
            return x, part, steps, read, gap
        lost, primal = np.inf, 0.0
        if gap <= goal:
            np.dot(E, x, slack)
            lost, primal = _unsettle(c, penalty, fold, total, x, share, slack, inside)
        if lost <= most_lost * primal:
            share[chosen] = part
            return x, share, steps, read, gap + lost / max(primal, TINY)
        if not gap <= goal:
            few = n


@jit
def _add_nearest(slack, few, inside):
    """Mark so many rows nearest to the margin, and all that are as near as these.

    How near is found by 64 halvings, more than a number has bits: the compiler takes
    seconds for NumPy's selection.
    """
    distance = np.abs(slack)
    low, farthest = 0.0, distance.max()
    for _ in range(64):
        middle, count = 0.5 * (low + farthest), 0
        for i in range(slack.size):
            count += not distance[i] > middle
        if count < few:
            low = middle
        else:
            farthest = middle
        if count == few:
            break
    for i in range(slack.size):
        inside[i] = inside[i] or not distance[i] > farthest


@jit
def _settle(E, c, fold, total, slack, inside, share, left):
    """Put the other rows to their bounds; write what they fold to, return its total."""
    n = c.size
    weight = np.zeros(n)
    for i in range(n):
        share[i] = 1.0 if slack[i] > 0.0 else 0.0
        if not inside[i]:
            weight[i] = c[i] * share[i]
            total += weight[i]
    np.dot(E.T, weight, left)
    for j in range(left.size):
        left[j] += fold[j]
    return total


@jit
def _unsettle(c, penalty, fold, total, x, share, slack, inside):
    """From ⟨x,e_i⟩ to slacks; mark wrong rows, return what they cost and P."""
    lost, primal = 0.0, total
    for j in range(x.size):
        primal += (0.5 * penalty[j] * x[j] - fold[j]) * x[j]
    for i in range(c.size):
        slack[i] = 1.0 - slack[i]
        primal += c[i] * max(slack[i], 0.0)
        if not inside[i] and (slack[i] > 0.0) != (share[i] > 0.0):
            lost += c[i] * abs(slack[i])
            inside[i] = True
    return lost, primal
