"""The method of `interior.py` in compiled loops, for small problems.

Mathematics and names are those of `InteriorPoint`: Mehrotra's steps on the rows e_i =
(z_i, −ρ_i, y_i), all but x eliminated. NumPy spends most of such a step on calls; here
a step is a Gram matrix, a Cholesky factor and four products, and all else over the rows
is a few fused loops. Nothing is mended: where rounding spoils a factor or a step the run
ends, and the caller goes on with the other engine.

Numbers that steer come as arguments: code that was compiled to disk would not notice
that they have changed.
"""

from __future__ import annotations

import math

import numpy as np

from wideberth.problem.jit import jit
from wideberth.problem.limits import EPS, LITTLE, TINY
from wideberth.solvers import mehrotra_cones as cones

# Kinds of noise: Ω(w) = Στ_j|w_j|, ‖τ∘w‖₂, and that with one scale for all features.
NONE, BOX, ROUND, SPHERE = range(4)
_H, _SCALARS = cones.H, cones.SCALARS


@jit
def minimise(
    E, c, penalty, fold, total, scales, kind, b_at, x, share, given, goal, most, steer
):
    """Step to the relative gap `goal`, at most so often; return (steps, gap reached).

    E holds the rows e_i, `penalty` the diagonal of Q, `fold` and `total` what folded
    samples leave; t is column d and b column `b_at`, −1 without one. x and `share` are
    where to begin, if `given`, with t = 0; they are written over with the answer.
    `steer` = (`start_inside`, `least_distance`, `to_boundary`).
    """
    n, m = E.shape
    d = scales.size
    inside, least, to_boundary = steer
    S, matrix = np.empty((n, m)), np.empty((m, m))
    combined, right, dx = np.empty(m), np.empty(m), np.empty(m)
    slack, change, residual = np.empty(n), np.empty(n), np.empty(n)
    rest, p, q = np.empty(n), np.empty(n), np.empty(n)
    ratio_p, ratio_q, weights = np.empty(n), np.empty(n), np.empty(n)
    aim_p, aim_q = np.empty(n), np.empty(n)
    cone = np.zeros((_SCALARS + 1, d + 1))
    if not given:
        sound = _least_squares(
            E, c, penalty, fold, kind, d, S, matrix, x, share, residual, right
        )
        if not sound:
            return 0, np.inf
    np.dot(E, x, slack)
    for i in range(n):
        slack[i] = 1.0 - slack[i]
        if not given:
            share[i] = 0.5 * slack[i]
    room = 0.0
    if kind != NONE:
        room = _enter(E, c, fold, scales, kind, x, slack, inside, least)
    distance = _distance(slack, least)
    pairs = 2.0 * max(n, 1)
    product, heaviest = 0.0, 0.0
    for i in range(n):
        share[i] = min(max(share[i], inside), 1.0 - inside)
        rest[i] = 1.0 - share[i]
        p[i] = max(slack[i], 0.0) + distance
        q[i] = p[i] - slack[i]
        product += rest[i] * p[i] + share[i] * q[i]
        heaviest += c[i]
    mu = max(product, TINY) / pairs
    _lift(E, c, share, fold, residual, combined)
    if kind != NONE:
        s = max(-combined[d], EPS * heaviest, TINY)
        if kind == BOX:
            cones.box_start(cone, scales, x, s, mu)
        else:
            cones.round_start(cone, scales, x, s, room, mu)
    gap = _gap(c, penalty, fold, total, scales, kind, b_at, x, share, slack, combined, cone)
    for step in range(most):
        if gap <= goal:  # what is carried along has drifted by rounding
            _lift(E, c, share, fold, residual, combined)
            gap = _gap(
                c, penalty, fold, total, scales, kind, b_at, x, share, slack, combined,
                cone,
            )  # fmt: skip
        if not gap > goal:
            return step, gap
        for i in range(n):
            ratio_p[i] = p[i] / rest[i]
            ratio_q[i] = q[i] / share[i]
            weights[i] = 1.0 / (ratio_p[i] + ratio_q[i])
            root = math.sqrt(c[i] * weights[i])
            residual[i] = c[i] * weights[i] * slack[i]
            for j in range(m):
                S[i, j] = root * E[i, j]
        np.dot(S.T, S, matrix)
        for j in range(m):
            matrix[j, j] += penalty[j]
        if kind == BOX:
            cones.box_scale(cone, scales)
            cones.box_bend(cone, scales, matrix)
        elif kind != NONE:
            cones.round_scale(cone, scales, x)
            cones.round_bend(cone, scales, matrix)
        if not _factorise(matrix):
            return step, np.inf
        # The predictor, which aims at μ = 0.
        np.dot(E.T, residual, right)
        for j in range(m):
            right[j] += combined[j] - penalty[j] * x[j]
        _solve(matrix, right, dx)
        np.dot(E, dx, change)
        rate, first, second = 0.0, 0.0, 0.0
        for i in range(n):
            da = weights[i] * (slack[i] - change[i])
            dp, dq = ratio_p[i] * da - p[i], -ratio_q[i] * da - q[i]
            rate = max(rate, max(da / rest[i], -da / share[i]))
            rate = max(rate, max(-dp / p[i], -dq / q[i]))
            first += rest[i] * dp - da * p[i] + share[i] * dq + da * q[i]
            second += da * dq - da * dp
            aim_p[i], aim_q[i] = da * dp, -da * dq
        length = min(_length(kind, cone, scales, dx, False, rate, to_boundary), 1.0)
        ahead = 1.0 + (first + length * second) * length / (pairs * mu)
        target = mu * min(max(ahead, 0.0), 1.0) ** 3
        for i in range(n):
            aim_p[i] = (target + aim_p[i]) / rest[i]
            aim_q[i] = (target + aim_q[i]) / share[i]
            residual[i] = c[i] * weights[i] * (slack[i] - aim_p[i] + aim_q[i])
        np.dot(E.T, residual, right)
        for j in range(m):
            right[j] += combined[j] - penalty[j] * x[j]
        if kind == BOX:
            cones.box_correct(cone, scales, target, right)
        elif kind != NONE:
            cones.round_correct(cone, scales, target, right)
        _solve(matrix, right, dx)
        np.dot(E, dx, change)
        rate = 0.0
        for i in range(n):
            da = weights[i] * (slack[i] - aim_p[i] + aim_q[i] - change[i])
            dp = aim_p[i] + ratio_p[i] * da - p[i]
            dq = aim_q[i] - ratio_q[i] * da - q[i]
            rate = max(rate, max(da / rest[i], -da / share[i]))
            rate = max(rate, max(-dp / p[i], -dq / q[i]))
            residual[i], aim_p[i], aim_q[i] = da, dp, dq
        longest = _length(kind, cone, scales, dx, True, rate, to_boundary)
        t = min(1.0, to_boundary * longest)
        if not t > EPS:
            return step, np.inf
        for j in range(m):
            right[j] = penalty[j] * (x[j] + dx[j])
            x[j] += t * dx[j]
        if kind == BOX:
            cones.box_advance(cone, scales, t, right)
        elif kind != NONE:
            cones.round_advance(cone, scales, t, right)
        for j in range(m):
            combined[j] = (1.0 - t) * combined[j] + t * right[j]
        product = 0.0
        for i in range(n):
            slack[i] -= t * change[i]
            rest[i] = max(rest[i] - t * residual[i], TINY)
            share[i] = max(share[i] + t * residual[i], TINY)
            p[i] += t * aim_p[i]
            q[i] += t * aim_q[i]
            product += rest[i] * p[i] + share[i] * q[i]
        mu = max(product, TINY) / pairs
        gap = _gap(
            c, penalty, fold, total, scales, kind, b_at, x, share, slack, combined, cone
        )
        if not gap < np.inf:
            return step, np.inf
    return most, gap


@jit
def _least_squares(E, c, penalty, fold, kind, d, S, matrix, x, share, alpha, right):
    """Minimise ½‖w‖² + ½λ_b b² + ¼Σc_i u_i² without noise; t stays 0."""
    n, m = E.shape
    for i in range(n):
        share[i] = 0.5
        root = math.sqrt(0.5 * c[i])
        for j in range(m):
            S[i, j] = root * E[i, j]
    np.dot(S.T, S, matrix)
    _lift(E, c, share, fold, alpha, right)
    for j in range(m):
        matrix[j, j] += penalty[j]
    if kind != NONE:
        for j in range(m):
            matrix[min(j, d), max(j, d)] = 0.0
        matrix[d, d], right[d] = 1.0, 0.0
    if not _factorise(matrix):
        return False
    _solve(matrix, right, x)
    for j in range(m):
        if kind == BOX and n < d:  # all rows on the margin leave no room
            x[j] *= 0.5
    return True


@jit
def _enter(E, c, fold, scales, kind, x, slack, inside, least):
    """Set t beyond Ω(w), and the slacks with it; return how far, relative to Ω(w)."""
    d, n = scales.size, slack.size
    omega, size, reach, noisy = 0.0, 0.0, 0.0, 0
    for j in range(d):
        part = scales[j] * abs(x[j])
        omega += part if kind == BOX else part * part
        size += x[j] * x[j]
        square = scales[j] * scales[j]
        reach = reach + square if kind == BOX else max(reach, square)
        noisy += scales[j] > 0
    omega = omega if kind == BOX else math.sqrt(omega)
    omega = max(omega, inside * math.sqrt(reach * size), least)
    mass, weight = 0.0, -fold[d]
    for i in range(n):
        slack[i] -= omega * E[i, d]
        mass += c[i]
        weight -= 0.5 * c[i] * E[i, d]
    rows, most = 0.5 * _distance(slack, least) * mass, LITTLE
    if kind == BOX:
        rows *= min(2.0 * noisy / (LITTLE * max(n, 1)), 1.0)
        most = 1.0 / EPS
    room = min(max(rows / max(weight * omega, TINY), least), most)
    x[d] = (1.0 + room) * omega
    for i in range(n):
        slack[i] -= room * omega * E[i, d]
    return room


@jit
def _distance(slack, least):
    """Mean distance from the margin."""
    total = 0.0
    for i in range(slack.size):
        total += abs(slack[i])
    return max(total / max(slack.size, 1), least)


@jit
def _lift(E, c, share, fold, alpha, combined):
    """Σα_i e_i and what is folded, afresh."""
    for i in range(c.size):
        alpha[i] = c[i] * share[i]
    np.dot(E.T, alpha, combined)
    for j in range(fold.size):
        combined[j] += fold[j]


@jit
def _length(kind, cone, scales, dx, corrected, rate, to_boundary):
    """Largest step that stays inside; the cone's moves are noted on the way."""
    longest = 1.0 / rate if rate > 1.0 else 1.0 / to_boundary
    if kind == BOX:
        cones.box_move(cone, scales, dx, corrected)
        longest = min(longest, cones.box_longest(cone, scales))
    elif kind != NONE:
        cones.round_move(cone, scales, dx, corrected)
        longest = min(longest, cones.round_longest(cone))
    return longest


@jit
def _gap(
    c, penalty, fold, total, scales, kind, b_at, x, share, slack, combined, cone
):
    """Gap at x and α over the primal value, split as in theory §6.1.

    Under unequal scales the projection onto sU, which has no closed form, is stood in
    for by the cone's multiplier, which is in it: never too small a gap.
    """
    d, hinge, complementarity = scales.size, 0.0, 0.0
    for i in range(c.size):
        positive = c[i] * max(slack[i], 0.0)
        hinge += positive
        complementarity += positive - c[i] * share[i] * slack[i]
    primal, stationarity = hinge + total, 0.0
    for j in range(x.size):
        primal += (0.5 * penalty[j] * x[j] - fold[j]) * x[j]
        stationarity += (0.5 * penalty[j] * x[j] - combined[j]) * x[j]
    s, norm, shrink = 0.0, 0.0, 1.0
    if kind != NONE:
        s = max(-combined[d], 0.0)
    if kind == SPHERE:
        for j in range(d):
            norm += combined[j] * combined[j]
        shrink = max(1.0 - s * scales[0] / max(math.sqrt(norm), TINY), 0.0)
    square = 0.0
    for j in range(d):
        near = shrink * combined[j]
        if kind == BOX:
            near = max(abs(near) - s * scales[j], 0.0)
        elif kind == ROUND:
            near += s * scales[j] * cone[_H, 1 + j] / cone[_H, 0]
        square += near * near
    stationarity += 0.5 * square
    if b_at >= 0:
        off = combined[b_at]
        if penalty[b_at] > 0:
            stationarity += 0.5 * off * off / penalty[b_at]
        else:
            stationarity += off * x[b_at] + abs(off) * (1.0 + abs(x[b_at]))
    gap = max(complementarity, 0.0) + max(stationarity, 0.0)
    return gap / max(abs(primal), TINY)


@jit
def _factorise(matrix):
    """Write R with RᵀR = matrix over its upper triangle; False if it is not definite."""
    m = matrix.shape[0]
    for k in range(m):
        pivot = matrix[k, k]
        if not 0.0 < pivot < np.inf:
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(k, m):
            matrix[k, j] *= scale
        for i in range(k + 1, m):
            factor = matrix[k, i]
            for j in range(i, m):
                matrix[i, j] -= factor * matrix[k, j]
    return True


@jit
def _solve(factor, right, x):
    """Solve RᵀR x = right, which is left as it is."""
    m = right.size
    for j in range(m):
        x[j] = right[j]
    for k in range(m):
        x[k] /= factor[k, k]
        for j in range(k + 1, m):
            x[j] -= factor[k, j] * x[k]
    for k in range(m - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, m):
            total -= factor[k, j] * x[j]
        x[k] = total / factor[k, k]
