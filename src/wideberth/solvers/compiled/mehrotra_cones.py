"""Cones of the compiled interior-point method: `algebra.Cone` and `facets.SumFacets`.

A cone's state is one table of numbers, a row for each vector that belongs to it. That
of t ≥ ‖τ∘w‖₂ is in Nesterov–Todd scaling, where W⁻¹ is applied in d operations; entry 0
of its rows belongs to t, entry 1 + j to feature j. That of t ≥ Στ_j|w_j| has a pair of
inequalities for every feature with noise, entry j of its rows.
"""

from __future__ import annotations

import math

from wideberth.problem.jit import jit
from wideberth.problem.limits import TINY

# Rows of the state of a round cone: g and y − g are its moves, λ + y what the corrector
# aims at.
_ROUND = ("k", "h", "v", "λ", "g", "y − g", "λ + y", "to work in")
K, H, V, LAMBDA, G, DUAL_G, CORRECTED, WORK = range(len(_ROUND))
# Pairs of rows of the state of a box, one for either sign of w: D = h/k, dh = a − D dk.
_BOX = ("k", "h", "dk", "dh", "D", "a", "k·h over μ")
KS, HS, DKS, DHS, RATIOS, AIMS, WEIGHTS = range(0, 2 * len(_BOX), 2)
# The last row of either holds single numbers: the weight in μ and η, or V.
SCALARS = 2 * len(_BOX)


@jit
def _square(k):
    """k_0² − ‖k_1‖², kept positive."""
    total = 0.0
    for j in range(1, k.size):
        total += k[j] * k[j]
    norm = math.sqrt(total)
    return max((k[0] - norm) * (k[0] + norm), TINY)


@jit
def _inner(a, b):
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@jit
def _unscale(cone, u, out):
    """out = W⁻¹u, W⁻¹ = η⁻¹ [v_0, −v_1ᵀ; −v_1, I + v_1v_1ᵀ/(1+v_0)]."""
    v, eta = cone[V], cone[SCALARS, 1]
    across = _inner(v, u) - v[0] * u[0]
    lead = across / (1.0 + v[0]) - u[0]
    head = (v[0] * u[0] - across) / eta
    for j in range(1, u.size):
        out[j] = (u[j] + lead * v[j]) / eta
    out[0] = head


@jit
def _image(scales, x, out):
    """B x = (t, τ∘w)."""
    d = scales.size
    out[0] = x[d]
    for j in range(d):
        out[1 + j] = scales[j] * x[j]


@jit
def round_start(cone, scales, x, s, inside, mu):
    """h_0 balances s, h_1 opposes w; ⟨k,h⟩ fixes the weight of this barrier."""
    k, h = cone[K], cone[H]
    _image(scales, x, k)
    h[0] = s
    for j in range(1, k.size):
        h[j] = s * (inside - 1.0) * k[j] / k[0]
    cone[SCALARS, 0] = _inner(k, h) / mu


@jit
def round_scale(cone, scales, x):
    """Compute the scaling at the current point."""
    k, h, v = cone[K], cone[H], cone[V]
    _image(scales, x, k)
    size_k, size_h = math.sqrt(_square(k)), math.sqrt(_square(h))
    v[0] = k[0] / size_k + h[0] / size_h
    for j in range(1, k.size):
        v[j] = k[j] / size_k - h[j] / size_h
    norm = math.sqrt(_square(v))
    for j in range(k.size):
        v[j] /= norm
    cone[SCALARS, 1] = math.sqrt(size_k / size_h)
    _unscale(cone, k, cone[LAMBDA])


@jit
def round_bend(cone, scales, matrix):
    """Add BᵀW⁻²B to the upper triangle; W⁻² = η⁻²(2(Jv)(Jv)ᵀ − J)."""
    d, v = scales.size, cone[V]
    weight = 1.0 / cone[SCALARS, 1] ** 2
    for i in range(d):
        lead = 2.0 * weight * scales[i] * v[1 + i]
        for j in range(i, d):
            matrix[i, j] += lead * scales[j] * v[1 + j]
        matrix[i, i] += weight * scales[i] * scales[i]
        matrix[i, d] -= lead * v[0]
    matrix[d, d] += weight * (2.0 * v[0] * v[0] - 1.0)


@jit
def round_correct(cone, scales, target, right):
    """Set λ + y, for which k∘h ∝ target after the predictor; add Bᵀ(h + W⁻¹y)."""
    d, scaled, g = scales.size, cone[LAMBDA], cone[G]
    out, work = cone[CORRECTED], cone[WORK]
    for j in range(1, d + 1):  # g∘(λ+g), in the product of the cone
        out[j] = g[0] * (scaled[j] + g[j]) + (scaled[0] + g[0]) * g[j]
    out[0] = _inner(g, scaled) + _inner(g, g) + cone[SCALARS, 0] * target
    head = (2.0 * scaled[0] * out[0] - _inner(scaled, out)) / _square(scaled)
    for j in range(1, d + 1):
        out[j] = (out[j] - head * scaled[j]) / scaled[0]
    out[0] = head
    _unscale(cone, out, work)
    for j in range(d):
        right[j] += scales[j] * work[1 + j]
    right[d] += work[0]


@jit
def round_move(cone, scales, dx, corrected):
    """Note the scaled moves that go with dx: g = W⁻¹B dx and W dh = y − g."""
    scaled, g, dual = cone[LAMBDA], cone[G], cone[DUAL_G]
    _image(scales, dx, cone[WORK])
    _unscale(cone, cone[WORK], g)
    for j in range(scales.size + 1):
        dual[j] = -scaled[j] - g[j]
        if corrected:
            dual[j] += cone[CORRECTED, j]


@jit
def _longest_step(k, square, move):
    """Largest t with k + t·move ∈ K: the least positive root of at² + 2bt + square."""
    a = 2.0 * move[0] * move[0] - _inner(move, move)
    b = 2.0 * k[0] * move[0] - _inner(k, move)
    limit = -k[0] / move[0] if move[0] < 0 else math.inf
    root = b * b - a * square
    if not root >= 0:
        return limit
    pivot = -(b + math.copysign(math.sqrt(root), b))
    first = pivot / a if a != 0 else math.inf
    second = square / pivot if pivot != 0 else math.inf
    if first > 0:
        limit = min(limit, first)
    return min(limit, second) if second > 0 else limit


@jit
def round_longest(cone):
    """Largest step that keeps k and h, hence their scaled images, inside K."""
    scaled = cone[LAMBDA]
    square = _square(scaled)
    return min(
        _longest_step(scaled, square, cone[G]),
        _longest_step(scaled, square, cone[DUAL_G]),
    )


@jit
def round_advance(cone, t):
    """Move h by t·dh; k follows x."""
    _unscale(cone, cone[DUAL_G], cone[WORK])
    for j in range(cone.shape[1]):
        cone[H, j] += t * cone[WORK, j]


@jit
def box_start(cone, scales, x, s, mu):
    """Set k at x, and an h whose products with it are even: h⁺ + h⁻ = sτ."""
    d, noisy, excess = scales.size, 0, x[scales.size]
    for j in range(d):
        noisy += scales[j] > 0
        excess -= scales[j] * abs(x[j])
    for j in range(d):
        if scales[j] > 0:
            room = max(excess, TINY) / (noisy * scales[j])
            up, down = 2.0 * max(x[j], 0.0) + room, 2.0 * max(-x[j], 0.0) + room
            cone[KS, j], cone[KS + 1, j] = up, down
            cone[HS, j] = s * scales[j] * down / (up + down)
            cone[HS + 1, j] = s * scales[j] * up / (up + down)
            for sign in range(2):
                product = cone[KS + sign, j] * cone[HS + sign, j]
                cone[WEIGHTS + sign, j] = product / mu


@jit
def box_scale(cone, scales):
    """Compute the curvatures D = h/k at the current point, and V = Στ²/S."""
    spread = 0.0
    for j in range(scales.size):
        if scales[j] > 0:
            for sign in range(2):
                cone[RATIOS + sign, j] = cone[HS + sign, j] / cone[KS + sign, j]
            whole = cone[RATIOS, j] + cone[RATIOS + 1, j]
            spread += scales[j] * scales[j] / whole
    cone[SCALARS, 0] = max(spread, TINY)


@jit
def _slope(cone, scales, j):
    """m_j = τM/S."""
    up, down = cone[RATIOS, j], cone[RATIOS + 1, j]
    return scales[j] * (up - down) / (up + down)


@jit
def box_bend(cone, scales, matrix):
    """Add diag(4D⁺D⁻/S) + (m,1)(m,1)ᵀ/V to the upper triangle."""
    d, spread = scales.size, cone[SCALARS, 0]
    for i in range(d):
        if scales[i] > 0:
            lead = _slope(cone, scales, i) / spread
            for j in range(i, d):
                if scales[j] > 0:
                    matrix[i, j] += lead * _slope(cone, scales, j)
            up, down = cone[RATIOS, i], cone[RATIOS + 1, i]
            matrix[i, i] += 4.0 * up * (down / (up + down))
            matrix[i, d] += lead
    matrix[d, d] += 1.0 / spread


@jit
def box_correct(cone, scales, target, right):
    """Set the a for which k·h → weight·target; add the box's part of the right side."""
    d, spread, lead, force, sizes = scales.size, cone[SCALARS, 0], 0.0, 0.0, 0.0
    for j in range(d):
        if scales[j] > 0:
            for sign in range(2):
                error = cone[DKS + sign, j] * cone[DHS + sign, j]
                aim = cone[WEIGHTS + sign, j] * target - error
                a = aim / cone[KS + sign, j] - cone[HS + sign, j]
                cone[AIMS + sign, j] = a
            total = cone[AIMS, j] + cone[AIMS + 1, j]
            lead += scales[j] * total / (cone[RATIOS, j] + cone[RATIOS + 1, j])
            force += cone[HS, j] + cone[HS + 1, j]
            sizes += scales[j]
    lead /= spread
    for j in range(d):
        if scales[j] > 0:
            total = cone[AIMS, j] + cone[AIMS + 1, j]
            slope = _slope(cone, scales, j)
            right[j] += cone[HS, j] - cone[HS + 1, j]
            right[j] += cone[AIMS, j] - cone[AIMS + 1, j] - slope / scales[j] * total
            right[j] += lead * slope
    right[d] += force / max(sizes, TINY) + lead


@jit
def box_move(cone, scales, dx, corrected):
    """Note the moves of k and h that go with dx."""
    d, rise = scales.size, 0.0
    for j in range(d):
        if scales[j] > 0:
            if not corrected:
                cone[AIMS, j], cone[AIMS + 1, j] = -cone[HS, j], -cone[HS + 1, j]
            total = cone[AIMS, j] + cone[AIMS + 1, j]
            whole = cone[RATIOS, j] + cone[RATIOS + 1, j]
            rise += scales[j] * total / whole - _slope(cone, scales, j) * dx[j]
    force = (rise - dx[d]) / cone[SCALARS, 0]  # dσ
    for j in range(d):
        if scales[j] > 0:
            up, down = cone[RATIOS, j], cone[RATIOS + 1, j]
            rest = cone[AIMS, j] + cone[AIMS + 1, j] - scales[j] * force
            cone[DKS, j] = (rest + 2.0 * down * dx[j]) / (up + down)
            cone[DKS + 1, j] = (rest - 2.0 * up * dx[j]) / (up + down)
            for sign in range(2):
                bent = cone[RATIOS + sign, j] * cone[DKS + sign, j]
                cone[DHS + sign, j] = cone[AIMS + sign, j] - bent


@jit
def box_longest(cone, scales):
    """Largest step that keeps k and h positive."""
    fastest = 0.0
    for j in range(scales.size):
        if scales[j] > 0:
            for sign in range(2):
                fastest = max(fastest, -cone[DKS + sign, j] / cone[KS + sign, j])
                fastest = max(fastest, -cone[DHS + sign, j] / cone[HS + sign, j])
    return 1.0 / fastest if fastest > 0 else math.inf


@jit
def box_advance(cone, scales, t):
    """Move k and h by t."""
    for j in range(scales.size):
        for sign in range(2):
            k, h = cone[KS + sign, j], cone[HS + sign, j]
            cone[KS + sign, j] = max(k + t * cone[DKS + sign, j], TINY)
            cone[HS + sign, j] = max(h + t * cone[DHS + sign, j], TINY)
