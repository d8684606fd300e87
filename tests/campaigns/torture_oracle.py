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
#: Most steps to the point of a sum of ellipsoids that is next to another one.
STEPS = 3000
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
    X_err: object = None
    error_shape: str = "ellipsoid"

    def __post_init__(self):
        dense = self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)
        n = dense.shape[0]
        self.sets = None
        if self.X_err is not None:
            self.sets = [
                [[mpf(float(v)) for v in row] for row in np.atleast_2d(own)]
                for own in np.asarray(self.X_err, dtype=float)
            ]
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
    primal = primal_value(task, answer.w, answer.b)
    dual = dual_value(task, alpha, answer.w)
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
    supports = all_supports(task, w)
    value = mp.fdot(w, w) / 2 + mpf(task.intercept or 0) * b * b / 2
    rows = zip(task.Z, task.y, task.c, task.rho, supports, strict=True)
    for z, y, c, rho, r in rows:
        value += c * max(1 - mp.fdot(w, z) - y * b + rho * r, mpf(0))
    return value


def all_supports(task: Task, w):
    """r_i(w) of every sample."""
    if task.sets is None:
        return [support(task.noise, w)] * len(task.y)
    return [own_support(own, task.error_shape, w) for own in task.sets]


def own_support(own, shape: str, w):
    """The largest ⟨w,δ⟩ over the set of one sample: errors, or a covariance."""
    if len(own) > 1:
        return mp.sqrt(max(mp.fdot(w, [mp.fdot(row, w) for row in own]), mpf(0)))
    parts = [e * abs(v) for e, v in zip(own[0], w, strict=True)]
    return mp.fsum(parts) if shape == "box" else mp.sqrt(mp.fdot(parts, parts))


def dual_value(task: Task, alpha, near=None):
    """Σα_i − ½ dist(d, sU)² − (Σα_i y_i)²/(2λ_b), or Σα_iρ_iU_i in place of sU.

    Of sums of ellipsoids the distance is bounded from above, by steps from `near`.
    """
    d = [mp.fdot(alpha, column) for column in zip(*task.Z, strict=True)]
    pushes = [a * rho for a, rho in zip(alpha, task.rho, strict=True)]
    if task.sets is None:
        distance = squared_distance(task.noise, d, mp.fsum(pushes))
    elif task.error_shape == "box":
        columns = zip(*(own[0] for own in task.sets), strict=True)
        sizes = [mp.fdot(pushes, e) for e in columns]
        distance = mp.fsum(
            max(abs(v) - t, mpf(0)) ** 2 for v, t in zip(d, sizes, strict=True)
        )
    else:
        distance = distance_to_sum(task.sets, pushes, d, near)
    value = mp.fsum(alpha) - distance / 2
    if task.intercept:
        balance = sum(a * y for a, y in zip(alpha, task.y, strict=True))
        value -= balance**2 / (2 * mpf(task.intercept))
    return value


def distance_to_sum(sets, pushes, d, near):
    """dist² of d to Σa_iU_i, U_i ellipsoids, or more: the best of many points of it.

    φ(w) = ½‖w−d‖² + Σa_ir_i(w) is least where d − Σa_iδ_i = w. Each step takes the
    lower of Newton's w and (I + Σa_iS_i/r_i(w))⁻¹d, which never rises. δ_i = S_iw over
    r_i(w), or over a larger r_i of the step before, lies in U_i.
    """
    matrices = [
        mp.diag([e * e for e in own[0]]) if len(own) == 1 else mp.matrix(own)
        for own in sets
    ]
    used = [(a, S) for a, S in zip(pushes, matrices, strict=True) if a > 0]
    target, unit, floor = mp.matrix(d), mp.eye(len(d)), mpf(2) ** -150

    def look(w):
        images = [S * w for _, S in used]
        squares = [(w.T * image)[0] for image in images]
        sizes = [mp.sqrt(max(v, mpf(0))) + floor for v in squares]
        off = w - target
        value = (off.T * off)[0] / 2
        return images, sizes, value + mp.fdot([a for a, _ in used], sizes)

    def rest(images, sizes):
        v = target
        for (a, _), image, r in zip(used, images, sizes, strict=True):
            v = v - image * (a / r)
        return v

    w = mp.matrix([mpf(float(v)) for v in near]) if near is not None else target
    best, (images, sizes, value) = mp.fdot(d, d), look(w)
    for _ in range(STEPS):
        pressure, curvature, v = unit.copy(), unit.copy(), rest(images, sizes)
        for (a, S), image, r in zip(used, images, sizes, strict=True):
            pressure += S * (a / r)
            curvature += (S - image * image.T / (r * r)) * (a / r)
        turned = w + mp.lu_solve(curvature, v - w)
        w = mp.lu_solve(pressure, target)
        before = sizes
        images, sizes, value = look(w)
        v = rest(images, [max(pair) for pair in zip(sizes, before, strict=True)])
        best = min(best, (v.T * v)[0])
        ahead = look(turned)
        if ahead[2] < value:
            w, (images, sizes, value) = turned, ahead
            v = rest(images, sizes)
            best = min(best, (v.T * v)[0])
        # φ(w) is at least ½‖d‖² − ½ dist², which ends it.
        if value - (mp.fdot(d, d) - best) / 2 <= mpf(2) ** -70 * abs(value):
            break
    return best


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
