"""The robust SVM in 200-bit arithmetic: what a certificate is held against.

Written from the definition (theory §1, §2) with mpmath, whose exponents have no end, and
without a line of the package: P(w,b) and D(α) of an answer are recomputed from the data
as given, and every claim of the answer is compared with them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from mpmath import mp, mpf

mp.prec = 200

#: What float64 cannot be blamed for: a few roundings of each value.
UNIT = mpf(2) ** -48
#: Values below this underflow on their way; far below any objective in range.
FLOOR = mpf(2) ** -1070


@dataclass
class Task:
    """A problem as a user states it."""

    X: object
    y: np.ndarray
    C: float = 1.0
    radius: object = 0.0
    noise: object = "l2"
    sample_weight: object = None
    intercept: float | None = None

    def __post_init__(self):
        dense = self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)
        n = dense.shape[0]
        self.y = [int(label) for label in self.y]
        self.Z = [
            [mpf(float(x)) * label for x in row]
            for row, label in zip(dense, self.y, strict=True)
        ]
        weights = np.ones(n) if self.sample_weight is None else self.sample_weight
        self.c = [mpf(float(self.C)) * mpf(float(v)) for v in weights]
        self.rho = [mpf(float(r)) for r in np.broadcast_to(self.radius, (n,))]


@dataclass
class Answer:
    """A model, its dual point and what it claims about them."""

    w: np.ndarray
    b: float
    alpha: np.ndarray
    primal: float
    dual: float
    rounding: float
    converged: bool
    #: Whether Σα_i y_i = 0 is claimed where the intercept is free.
    balanced: bool = True


@dataclass
class Verdict:
    """True gap as a share of what was promised, and every broken promise."""

    ratio: float = 0.0
    complaints: list[str] = field(default_factory=list)


def judge(task: Task, answer: Answer, tol: float) -> Verdict:
    """Hold an answer against its problem."""
    numbers = (*answer.w, answer.b, *answer.alpha, answer.primal, answer.dual)
    if not np.isfinite(np.array(numbers, dtype=float)).all():
        return Verdict(complaints=["not finite: w, b, α or the certificate"])
    verdict = Verdict()
    say = verdict.complaints.append
    alpha = [mpf(float(a)) for a in answer.alpha]
    for i, (a, c) in enumerate(zip(alpha, task.c, strict=True)):
        if a < 0 or a > c * (1 + UNIT) + FLOOR:
            say(f"α_{i} = {float(a)!r} outside [0, {float(c)!r}]")
    if task.intercept == 0:
        off = abs(sum(a * y for a, y in zip(alpha, task.y, strict=True)))
        if answer.balanced and off > 1000 * UNIT * sum(alpha) + len(alpha) * FLOOR:
            say(f"Σα_i y_i = {float(off):.2e} with a free intercept")
        alpha = balanced(alpha, task.y)
    primal, dual = primal_value(task, answer.w, answer.b), dual_value(task, alpha)
    if primal - dual < -UNIT * abs(primal):
        say("the oracle contradicts weak duality")
    allowed = mpf(answer.rounding) + FLOOR
    if abs(primal - mpf(answer.primal)) > allowed + UNIT * primal:
        say(f"primal {answer.primal!r} is {mp.nstr(primal, 17)}, ±{float(allowed):.1e}")
    if mpf(answer.dual) - dual > allowed + UNIT * abs(dual):
        say(f"dual {answer.dual!r} is {mp.nstr(dual, 17)}, ±{float(allowed):.1e}")
    claimed = mpf(answer.primal) - mpf(answer.dual)
    if claimed < -allowed - UNIT * primal:
        say(
            f"gap {float(claimed):.2e} is negative beyond rounding {float(allowed):.1e}"
        )
    if answer.converged and primal > 0:
        verdict.ratio = float((primal - dual) / (mpf(tol) * primal))
        if verdict.ratio > 1 + 1e-6:
            say(
                f"certified at tol={tol:g}, true gap {verdict.ratio:.3g} times as large"
            )
    return verdict


def balanced(alpha, y):
    """α with the heavier class scaled down until Σα_i y_i = 0 exactly."""
    sums = {s: sum(a for a, t in zip(alpha, y, strict=True) if t == s) for s in (1, -1)}
    heavy = max(sums, key=sums.get)
    factor = sums[-heavy] / sums[heavy] if sums[heavy] else mpf(1)
    return [a * factor if t == heavy else a for a, t in zip(alpha, y, strict=True)]


def primal_value(task: Task, w, b):
    """½‖w‖² + ½λ_b b² + Σ c_i [1 − ⟨w,z_i⟩ − y_i b + ρ_i Ω(w)]_+."""
    w, b = [mpf(float(v)) for v in w], mpf(float(b))
    omega = support(task.noise, w)
    value = mp.fdot(w, w) / 2 + mpf(task.intercept or 0) * b * b / 2
    for z, y, c, rho in zip(task.Z, task.y, task.c, task.rho, strict=True):
        value += c * max(1 - mp.fdot(w, z) - y * b + rho * omega, mpf(0))
    return value


def dual_value(task: Task, alpha):
    """Σα_i − ½ dist(d, sU)² − (Σα_i y_i)²/(2λ_b)."""
    d = [mp.fdot(alpha, column) for column in zip(*task.Z, strict=True)]
    value = (
        mp.fsum(alpha) - squared_distance(task.noise, d, mp.fdot(alpha, task.rho)) / 2
    )
    if task.intercept:
        balance = sum(a * y for a, y in zip(alpha, task.y, strict=True))
        value -= balance**2 / (2 * mpf(task.intercept))
    return value


def support(noise, w):
    """Ω(w)."""
    if isinstance(noise, str):
        if noise == "l2":
            return mp.sqrt(mp.fdot(w, w))
        return max(map(abs, w)) if noise == "l1" else mp.fsum(map(abs, w))
    if np.ndim(noise) == 2:
        S = mp.matrix(np.asarray(noise).tolist())
        return mp.sqrt(max((mp.matrix(w).T * S * mp.matrix(w))[0], mpf(0)))
    scaled = [mpf(float(t)) * v for t, v in zip(noise, w, strict=True)]
    return mp.sqrt(mp.fdot(scaled, scaled))


def squared_distance(noise, d, s):
    """dist(d, sU)², U the unit set of the noise."""
    if isinstance(noise, str):
        if noise == "l2":
            return max(mp.sqrt(mp.fdot(d, d)) - s, mpf(0)) ** 2
        if noise == "linf":
            return mp.fsum(max(abs(v) - s, mpf(0)) ** 2 for v in d)
        return distance_to_cross_polytope([abs(v) for v in d], s)
    if np.ndim(noise) == 2:
        values, axes = mp.eigsy(mp.matrix(np.asarray(noise).tolist()))
        d = list(axes.T * mp.matrix(d))
        return distance_to_ellipsoid([mp.sqrt(max(v, mpf(0))) for v in values], d, s)
    return distance_to_ellipsoid([mpf(float(t)) for t in noise], d, s)


def distance_to_cross_polytope(sizes, s):
    """dist² of d to {‖p‖₁ ≤ s}: clip |d| at the level where Σ(|d_j|−θ)_+ is s."""
    if mp.fsum(sizes) <= s:
        return mpf(0)
    descending, total, theta = sorted(sizes, reverse=True), mpf(0), mpf(0)
    for k, size in enumerate(descending, 1):
        total += size
        if (level := (total - s) / k) <= size:
            theta = level
    return mp.fsum(min(size, theta) ** 2 for size in sizes)


def distance_to_ellipsoid(scales, d, s):
    """dist² of d to {Σ(p_j/τ_j)² ≤ s²}, p_j = 0 where τ_j = 0: a root by bisection.

    The projection is p_j = τ_j²d_j/(τ_j²+μ); any μ at or above the root gives a point of
    the set, hence a distance that is too large, never too small.
    """
    rest = mp.fsum(v * v for t, v in zip(scales, d, strict=True) if t == 0 or s == 0)
    noisy = [(t, abs(v)) for t, v in zip(scales, d, strict=True) if t > 0]
    if s == 0 or mp.fsum((v / t) ** 2 for t, v in noisy) <= s * s:
        return rest

    def outside(mu):
        return mp.fsum((t * v / (t * t + mu)) ** 2 for t, v in noisy) > s * s

    high = mp.sqrt(mp.fsum((t * v) ** 2 for t, v in noisy)) / s
    low = mpf(0)
    # First the magnitude, then the digits.
    step = high
    while not outside(step / 2**64) and step > high * mpf(2) ** -4000:
        step = high = step / 2**64
    for _ in range(260):
        middle = (low + high) / 2
        low, high = (middle, high) if outside(middle) else (low, middle)
    return rest + mp.fsum((v * high / (t * t + high)) ** 2 for t, v in noisy)
