"""The method of `interior.py` in compiled loops, for small problems.

Mathematics and names are those of `InteriorPoint`: Mehrotra's steps on the rows e_i =
(z_i, −ρ_i, y_i), all but x eliminated. There small problems cost NumPy's calls; here a
step is a Gram matrix, a Cholesky factor, five products and a few fused loops. Rows that
bend the objective little, all together less than ½‖w‖² does and less than a tenth of
what the others do, are left out of the Gram matrix: the next step makes up for it. The
matrix is summed in float32, in a third of the time, while its rounding stays far below
the curvature of ½‖w‖²; the gap and all that is stepped to are float64.

Nothing is mended: where rounding spoils a factor or a step the run ends, and the caller
goes on with the other engine. Numbers that steer come as arguments, because code that
was compiled to a disk would not notice that they have changed.
"""

from __future__ import annotations

import math

import numpy as np

from wideberth.problem.jit import jit
from wideberth.problem.limits import COARSE, EPS, LITTLE, TINY
from wideberth.solvers.compiled import mehrotra_cones as cones
from wideberth.solvers.compiled.small_factor import factorise, solve_factored

# Largest number of multiplications in a product that OpenBLAS takes as it lies, without
# packing the factors first: 1.4 to 2.6 times as quick with AVX-512 (31 to 90 columns),
# even elsewhere.
_UNPACKED = 10**6
# Kinds of noise; spheres are round with one scale for all features.
NONE, BOX, ROUND, SPHERE = range(len(("none", "Στ_j|w_j|", "‖τ∘w‖₂", "τ‖w‖₂")))
# Rows of a table of what belongs to samples, beside a itself.
_ROWS = (
    *("u", "1−a", "p", "q", "p/(1−a)", "q/a", "θ/c"),
    *("dp", "dq", "da", "⟨dx,e⟩", "‖e‖²", "to work in"),
)
_U, _REST, _P, _Q, _RATIO_P, _RATIO_Q, _WEIGHT, *_OTHERS = range(len(_ROWS))
_DP, _DQ, _DA, _CHANGE, _SQUARE, _WORK = _OTHERS
_H, _SCALARS = cones.H, cones.SCALARS


@jit
def minimise(E, c, penalty, fold, total, scales, kind, b_at, goal, most, steer):
    """Step to the relative gap `goal`, at most so often; return (x, α/c, steps, gap).

    E holds the rows e_i, `penalty` the diagonal of Q, `fold` and `total` what folded
    samples leave; t is column d and b column `b_at`, −1 without one. `steer` =
    (`start_inside`, `least_distance`, `to_boundary`). The gap is infinite where the run
    came to nothing.
    """
    n, m = E.shape
    R, S, matrix = np.zeros((_WORK + 1, n)), np.empty((n, m)), np.empty((m, m))
    coarse = np.empty((n, m), np.float32), np.empty((m, m), np.float32)
    x, share, combined = np.empty(m), np.empty(n), np.empty(m)
    right, dx = np.empty(m), np.empty(m)
    cone = np.zeros((_SCALARS + 1, scales.size + 1))
    inside, least, to_boundary = steer
    for i in range(n):
        for j in range(m):
            R[_SQUARE, i] += E[i, j] * E[i, j]
    if not _least_squares(
        E, c, penalty, fold, scales, kind, x, share, R, S, matrix, coarse
    ):
        return x, share, 0, np.inf
    room = _enter(E, c, fold, scales, kind, x, share, R, inside, least)
    for step in range(most + 1):
        _lift(E, c, share, fold, R, combined)
        mu = _mu(share, R)
        if step == 0:
            _start_cone(c, scales, kind, x, combined, cone, room, mu)
        gap = _gap(
            c, penalty, fold, total, scales, kind, b_at, x, share, R, combined, cone
        )
        if not gap > goal or step == most:
            return x, share, step, gap
        if not _bend(E, c, penalty, scales, kind, x, share, R, S, matrix, coarse, cone):
            return x, share, step, np.inf
        target, length = 0.0, 0.0
        for turn in range(2):  # the predictor, which aims at μ = 0, and the step
            corrected = turn == 1
            _pull(E, c, share, R, right, target, corrected)
            for j in range(m):
                right[j] += combined[j] - penalty[j] * x[j]
            if corrected and kind == BOX:
                cones.box_correct(cone, scales, target, right)
            elif corrected and kind != NONE:
                cones.round_correct(cone, scales, target, right)
            solve_factored(matrix, right, dx)
            np.dot(E, dx, R[_CHANGE])
            rate, first, second = _follow(share, R, corrected)
            length = 1.0 / rate if rate > 1.0 else 1.0 / to_boundary
            length = min(length, _longest(scales, kind, dx, cone, corrected))
            ahead = min(length, 1.0)
            ahead = 1.0 + (first + ahead * second) * ahead / (2.0 * n * mu)
            target = mu * min(max(ahead, 0.0), 1.0) ** 3
        t = min(1.0, to_boundary * length)
        if not t > EPS:
            return x, share, step, np.inf
        _advance(scales, kind, x, share, R, dx, cone, t)
    return x, share, most, np.inf


@jit
def _least_squares(E, c, penalty, fold, scales, kind, x, share, R, S, matrix, coarse):
    """Minimise ½‖w‖² + ½λ_b b² + ¼Σc_i u_i² without noise; t stays 0."""
    n, m = E.shape
    d, right = scales.size, np.empty(m)
    for i in range(n):
        share[i] = 0.5
        R[_WORK, i] = 0.5 * c[i]
    _gram(E, R, S, matrix, coarse)
    _lift(E, c, share, fold, R, right)
    for j in range(m):
        matrix[j, j] += penalty[j]
    if kind != NONE:
        for j in range(m):
            matrix[min(j, d), max(j, d)] = 0.0
        matrix[d, d], right[d] = 1.0, 0.0
    if not factorise(matrix):
        return False
    solve_factored(matrix, right, x)
    for j in range(m):
        if kind == BOX and n < d:  # all rows on the margin leave no room
            x[j] *= 0.5
    return True


@jit
def _enter(E, c, fold, scales, kind, x, share, R, inside, least):
    """Go inside all bounds: t beyond Ω(w), by a share of it that is returned."""
    n, d, room = c.size, scales.size, 0.0
    np.dot(E, x, R[_U])
    for i in range(n):
        R[_U, i] = 1.0 - R[_U, i]
        share[i] = 0.5 * R[_U, i]
    if kind != NONE:
        omega, size, reach, noisy = 0.0, 0.0, 0.0, 0
        for j in range(d):
            part, square = scales[j] * abs(x[j]), scales[j] * scales[j]
            omega += part if kind == BOX else part * part
            size += x[j] * x[j]
            reach = reach + square if kind == BOX else max(reach, square)
            noisy += scales[j] > 0
        omega = omega if kind == BOX else math.sqrt(omega)
        omega = max(omega, inside * math.sqrt(reach * size), least)
        mass, weight = 0.0, -fold[d]
        for i in range(n):
            R[_U, i] -= omega * E[i, d]
            mass += c[i]
            weight -= 0.5 * c[i] * E[i, d]
        rows, most = 0.5 * _distance(R, least) * mass, LITTLE
        if kind == BOX:
            rows *= min(2.0 * noisy / (LITTLE * n), 1.0)
            most = 1.0 / EPS
        room = min(max(rows / max(weight * omega, TINY), least), most)
        x[d] = (1.0 + room) * omega
        for i in range(n):
            R[_U, i] -= room * omega * E[i, d]
    distance = _distance(R, least)
    for i in range(n):
        share[i] = min(max(share[i], inside), 1.0 - inside)
        R[_REST, i] = 1.0 - share[i]
        R[_P, i] = max(R[_U, i], 0.0) + distance
        R[_Q, i] = R[_P, i] - R[_U, i]
    return room


@jit
def _distance(R, least):
    """Mean distance from the margin."""
    total, n = 0.0, R.shape[1]
    for i in range(n):
        total += abs(R[_U, i])
    return max(total / n, least)


@jit
def _start_cone(c, scales, kind, x, combined, cone, room, mu):
    """Multipliers that balance s = Σα_iρ_i."""
    if kind == NONE:
        return
    least = 0.0
    for i in range(c.size):
        least += EPS * c[i]
    s = max(-combined[scales.size], least, TINY)
    if kind == BOX:
        cones.box_start(cone, scales, x, s, mu)
    else:
        cones.round_start(cone, scales, x, s, room, mu)


@jit
def _lift(E, c, share, fold, R, combined):
    """Σα_i e_i, with what is folded."""
    for i in range(c.size):
        R[_WORK, i] = c[i] * share[i]
    np.dot(E.T, R[_WORK], combined)
    for j in range(fold.size):
        combined[j] += fold[j]


@jit
def _mu(share, R):
    """Mean complementarity product of the rows."""
    total = 0.0
    for i in range(share.size):
        total += R[_REST, i] * R[_P, i] + share[i] * R[_Q, i]
    return max(total, TINY) / (2.0 * share.size)


@jit
def _bend(E, c, penalty, scales, kind, x, share, R, S, matrix, coarse, cone):
    """Weights θ/c, the cone's scaling, and the factor of Newton's matrix."""
    n, whole = c.size, 0.0
    for i in range(n):
        R[_RATIO_P, i] = R[_P, i] / R[_REST, i]
        R[_RATIO_Q, i] = R[_Q, i] / share[i]
        R[_WEIGHT, i] = 1.0 / (R[_RATIO_P, i] + R[_RATIO_Q, i])
        whole += c[i] * R[_WEIGHT, i]
    for i in range(n):
        theta = c[i] * R[_WEIGHT, i]
        bends = theta * R[_SQUARE, i] * n > 1.0 or theta * n > LITTLE * whole
        R[_WORK, i] = theta if bends else 0.0
    _gram(E, R, S, matrix, coarse)
    for j in range(penalty.size):
        matrix[j, j] += penalty[j]
    if kind == BOX:
        cones.box_scale(cone, scales)
        cones.box_bend(cone, scales, matrix)
    elif kind != NONE:
        cones.round_scale(cone, scales, x)
        cones.round_bend(cone, scales, matrix)
    return factorise(matrix)


@jit
def _pull(E, c, share, R, right, target, corrected):
    """Σθ_i e_i times what slacks are to change by, of a predictor or of the step.

    The step aims at products of `target`, less what the predictor's are off by.
    """
    for i in range(c.size):
        aim = R[_U, i]
        if corrected:
            R[_DP, i] = (target + R[_DA, i] * R[_DP, i]) / R[_REST, i]
            R[_DQ, i] = (target - R[_DA, i] * R[_DQ, i]) / share[i]
            aim += R[_DQ, i] - R[_DP, i]
        R[_DA, i] = aim
        R[_WORK, i] = c[i] * R[_WEIGHT, i] * aim
    np.dot(E.T, R[_WORK], right)


@jit
def _follow(share, R, corrected):
    """Write the moves of a, p and q that go with ⟨dx,e_i⟩.

    Return the largest rate at which one of them comes to its bound, and by how much
    Σ(1−a_i)p_i + a_iq_i changes with the length of the step and with its square.
    """
    rate, first, second = 0.0, 0.0, 0.0
    for i in range(share.size):
        rest, a, p, q = R[_REST, i], share[i], R[_P, i], R[_Q, i]
        da = R[_WEIGHT, i] * (R[_DA, i] - R[_CHANGE, i])
        dp, dq = R[_RATIO_P, i] * da - p, -R[_RATIO_Q, i] * da - q
        if corrected:
            dp, dq = dp + R[_DP, i], dq + R[_DQ, i]
        rate = max(rate, max(da / rest, -da / a))
        rate = max(rate, max(-dp / p, -dq / q))
        first += rest * dp - da * p + a * dq + da * q
        second += da * dq - da * dp
        R[_DA, i], R[_DP, i], R[_DQ, i] = da, dp, dq
    return rate, first, second


@jit
def _longest(scales, kind, dx, cone, corrected):
    """Move the cone's multipliers along; the longest step that stays inside it."""
    if kind == BOX:
        cones.box_move(cone, scales, dx, corrected)
        return cones.box_longest(cone, scales)
    if kind != NONE:
        cones.round_move(cone, scales, dx, corrected)
        return cones.round_longest(cone)
    return np.inf


@jit
def _advance(scales, kind, x, share, R, dx, cone, t):
    """Go on by a step of length t."""
    for j in range(x.size):
        x[j] += t * dx[j]
    for i in range(share.size):
        R[_U, i] -= t * R[_CHANGE, i]
        R[_REST, i] = max(R[_REST, i] - t * R[_DA, i], TINY)
        share[i] = max(share[i] + t * R[_DA, i], TINY)
        R[_P, i] += t * R[_DP, i]
        R[_Q, i] += t * R[_DQ, i]
    if kind == BOX:
        cones.box_advance(cone, scales, t)
    elif kind != NONE:
        cones.round_advance(cone, t)


@jit
def _gram(E, R, S, matrix, coarse):
    """Σθ_i e_i e_iᵀ, of weights θ that lie in the table to work in."""
    size = 0.0
    for i in range(E.shape[0]):
        size += R[_WORK, i] * R[_SQUARE, i]
    if not COARSE * size <= LITTLE:
        _sum_products(S, _scaled(E, R, S), np.empty_like(matrix), matrix)
    else:
        rows, part = coarse
        _sum_products(rows, _scaled(E, R, rows), part, matrix)


@jit
def _sum_products(rows, used, part, matrix):
    """Write Σs_i s_iᵀ of the first rows, as many at a time as BLAS takes unpacked."""
    size = max(_UNPACKED // part.size, 1)
    matrix[:] = 0.0
    for start in range(0, used, size):
        block = rows[start : min(start + size, used)]
        np.dot(block.T, block, part)
        matrix += part


@jit
def _scaled(E, R, out):
    """Write √θ_i e_i of the rows with θ_i > 0; return how many there are."""
    used = 0
    for i in range(E.shape[0]):
        if R[_WORK, i] > 0.0:
            root = math.sqrt(R[_WORK, i])
            for j in range(E.shape[1]):
                out[used, j] = root * E[i, j]
            used += 1
    return used


@jit
def _gap(c, penalty, fold, total, scales, kind, b_at, x, share, R, combined, cone):
    """Gap at x and α over the primal value, split as in theory §6.1.

    Under unequal scales the projection onto sU, which has no closed form, is stood in
    for by the cone's multiplier, which lies in sU: the gap is never too small.
    """
    d, hinge, complementarity = scales.size, 0.0, 0.0
    for i in range(c.size):
        positive = c[i] * max(R[_U, i], 0.0)
        hinge += positive
        complementarity += positive - c[i] * share[i] * R[_U, i]
    primal, stationarity = hinge + total, 0.0
    for j in range(x.size):
        primal += (0.5 * penalty[j] * x[j] - fold[j]) * x[j]
        stationarity += (0.5 * penalty[j] * x[j] - combined[j]) * x[j]
    s, norm, shrink, square = 0.0, 0.0, 1.0, 0.0
    if kind != NONE:
        s = max(-combined[d], 0.0)
    if kind == SPHERE:
        for j in range(d):
            norm += combined[j] * combined[j]
        shrink = max(1.0 - s * scales[0] / max(math.sqrt(norm), TINY), 0.0)
    for j in range(d):
        near = shrink * combined[j]
        if kind == BOX:
            near = max(abs(near) - s * scales[j], 0.0)
        elif kind == ROUND:
            near += s * scales[j] * cone[_H, 1 + j] / max(cone[_H, 0], TINY)
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
