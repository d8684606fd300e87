"""Oracles of the tests: what answers are compared with.

Written from the definitions (theory §1, §2, §9, §15) with NumPy, SciPy, mpmath and
CVXPY, and without a line of the package:

* `Task`, `primal_value`, `dual_value`, `judge`: P(w,b) and D(α) in 200-bit arithmetic,
  whose exponents have no end, and every claim of an answer compared with them;
* `optimum`: the minimum, by a conic model in CVXPY;
* `make_solved`: problems built around their optimum;
* `worst_move`: the move of a row that lowers a linear score most, to attack radii with;
* `gaussian_by_em`, `posterior_by_quadrature`: populations as a textbook has them.
"""

from __future__ import annotations

import warnings
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
    norm_penalty: float = 0.0
    loss: str = "hinge"
    quantile: float = 0.5

    def __post_init__(self):
        dense = self.X.toarray() if sp.issparse(self.X) else np.asarray(self.X)
        n = dense.shape[0]
        self.sets = None
        if self.X_err is not None:
            self.sets = [
                [[mpf(float(v)) for v in row] for row in np.atleast_2d(own)]
                for own in np.asarray(self.X_err, dtype=float)
            ]
        if self.loss == "quantile":
            self.targets = [mpf(float(t)) for t in self.y]
            self.y = np.ones(n)
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
    """½‖w‖² + ½λ_b b² + s₀Ω(w) + Σ c_i [1 − ⟨w,z_i⟩ − y_i b + ρ_i Ω(w)]_+.

    Of the quantile loss, Σ c_i max(τ(r_i + ρ_iΩ), (1−τ)(ρ_iΩ − r_i)) is the last sum.
    """
    w, b = [mpf(float(v)) for v in w], mpf(float(b))
    supports = all_supports(task, w)
    value = mp.fdot(w, w) / 2 + mpf(task.intercept or 0) * b * b / 2
    if task.norm_penalty:
        value += mpf(float(task.norm_penalty)) * support(task.noise, w)
    rows = zip(task.Z, task.y, task.c, task.rho, supports, strict=True)
    for i, (z, y, c, rho, r) in enumerate(rows):
        if task.loss == "hinge":
            value += c * max(1 - mp.fdot(w, z) - y * b + rho * r, mpf(0))
            continue
        tau, rest = mpf(task.quantile), task.targets[i] - mp.fdot(w, z) - b
        value += c * max(tau * (rest + rho * r), (1 - tau) * (rho * r - rest))
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


# -- the minimum, by a conic model ---------------------------------------------------


@dataclass
class Optimum:
    """What an interior point of CVXPY found."""

    w: np.ndarray
    b: float
    value: float


def optimum(task: Task) -> Optimum:
    """Minimise the objective as the definition states it, with Clarabel.

    The value is that of the point found, in 200-bit arithmetic: an upper bound on the
    minimum, whatever the solver did.
    """
    import cvxpy as cp

    X = np.asarray(task.X.toarray() if sp.issparse(task.X) else task.X, dtype=float)
    n, d = X.shape
    c, rho = np.array(task.c, dtype=float), np.array(task.rho, dtype=float)
    w, b = cp.Variable(d), cp.Variable() if task.intercept is not None else 0.0
    value = 0.5 * cp.sum_squares(w) + task.norm_penalty * _omega(cp, task.noise, w)
    if task.intercept:
        value += 0.5 * task.intercept * cp.square(b)
    if task.X_err is None:
        sizes = rho * _omega(cp, task.noise, w)
    else:
        sizes = cp.hstack([rho[i] * _own(cp, task, i, w) for i in range(n)])
    if task.loss == "quantile":
        t, tau = np.array(task.targets, dtype=float), task.quantile
        rest = t - X @ w - b
        losses = cp.maximum(tau * (rest + sizes), (1 - tau) * (sizes - rest))
    else:
        y = np.array(task.y, dtype=float)
        losses = cp.pos(1 - cp.multiply(y, X @ w + b) + sizes)
    problem = cp.Problem(cp.Minimize(value + c @ losses))
    limits = ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": the value says how good
        problem.solve(solver=cp.CLARABEL, **dict.fromkeys(limits, 1e-10))
    at = w.value, float(b.value) if task.intercept is not None else 0.0
    return Optimum(*at, float(primal_value(task, *at)))


def _omega(cp, noise, w):
    """Ω(w) as an expression of CVXPY."""
    if isinstance(noise, str):
        return cp.norm(w, {"l2": 2, "linf": 1, "l1": "inf"}[noise])
    if np.ndim(noise) == 2:
        values, axes = np.linalg.eigh(noise)
        return cp.norm((axes * np.sqrt(np.maximum(values, 0))).T @ w)
    return cp.norm(cp.multiply(np.asarray(noise, dtype=float), w))


def _own(cp, task: Task, i: int, w):
    """r_i(w) of one sample as an expression of CVXPY."""
    errors = np.asarray(task.X_err, dtype=float)[i]
    if errors.ndim == 2:
        return _omega(cp, errors, w)
    return cp.norm(cp.multiply(errors, w), 1 if task.error_shape == "box" else 2)


# -- problems built around their optimum -----------------------------------------------


def omega(noise, w) -> float:
    """Ω(w) in float64."""
    return float(support(noise, [mpf(float(v)) for v in w]))


def subgradient(noise, w) -> np.ndarray:
    """A maximiser of ⟨w,δ⟩ over the unit set, away from kinks; 0 at w = 0."""
    w = np.asarray(w, dtype=float)
    if not w.any():
        return w
    if isinstance(noise, str):
        if noise == "l2":
            return w / np.linalg.norm(w)
        if noise == "linf":
            return np.sign(w)
        return np.sign(w) * (np.arange(w.size) == np.abs(w).argmax())
    if np.ndim(noise) == 2:
        image = np.asarray(noise) @ w
        return image / np.sqrt(w @ image)
    squares = np.square(np.asarray(noise, dtype=float))
    return squares * w / np.sqrt(squares @ w**2)


@dataclass(frozen=True)
class Solved:
    """A problem as `solve` takes it, with its optimum, exact up to rounding."""

    arguments: dict
    w: np.ndarray
    b: float
    alpha: np.ndarray
    #: Robust margins at the optimum.
    margins: np.ndarray


def make_solved(
    seed: int, *, n=40, d=4, noise="l2", radius=0.3, intercept=None, at_margin=0.2
):
    """A problem built around its optimum (theory §2).

    With robust margins m_i ≤ 1 where α_i = c_i, ≥ 1 where α_i = 0 and 1 between, rows

        z_i = (m_i − y_i b + ρ_i Ω(w)) w/‖w‖² + t_i ,   ⟨t_i,w⟩ = 0 ,

    have the margins m_i at (w,b), and Σα_i z_i = w + sv with a subgradient v of Ω at w
    iff ‖w‖² = Σα_i(m_i − y_i b) and Σα_i t_i = s(v − Ω(w) w/‖w‖²): then w is optimal.
    Two rows and the fraction `at_margin` of the others have m_i = 1 and 0 < α_i < c_i.
    """
    rng = np.random.default_rng([seed, 31])
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    kind = rng.choice(
        ["margin", "full", "zero"], size=n, p=[at_margin, *2 * [(1 - at_margin) / 2]]
    )
    kind[:2] = "margin"
    m = np.where(kind == "full", rng.uniform(0.0, 1.0, size=n), 1.0)
    m = np.where(kind == "zero", 1 + rng.exponential(size=n), m)
    alpha = np.where(kind == "zero", 0.0, rng.exponential(size=n))
    b = 0.0
    if intercept is not None:  # both classes balance; then any b is stationary
        up = y > 0
        alpha = np.where(up, alpha, alpha * alpha[up].sum() / alpha[~up].sum())
    if intercept == 0:
        b = float(rng.normal())
    if intercept:  # λ_b b = Σα_i y_i
        scale = 0.5 * np.sqrt(intercept * (alpha @ m))
        alpha[0] += scale
        b = float(y[0] * scale / intercept)
    rho = radius * rng.uniform(0.5, 1.5, size=n)
    w = rng.normal(size=d)
    w *= np.sqrt(alpha @ (m - y * b)) / np.linalg.norm(w)
    size, v, square = omega(noise, w), subgradient(noise, w), w @ w
    across = rng.normal(size=(n, d))
    across -= np.outer(across @ w, w) / square
    wanted = (alpha @ rho) * (v - size * w / square)
    across += (wanted - alpha @ across) / alpha.sum()
    Z = np.outer((m - y * b + rho * size) / square, w) + across
    c = np.where(kind == "margin", alpha / rng.uniform(0.1, 0.9, size=n), alpha)
    c = np.where(kind == "zero", rng.exponential(size=n), c)
    arguments = {"X": y[:, None] * Z, "y": y, "C": 1.0, "sample_weight": c}
    arguments |= {"radius": rho, "noise": noise, "fit_intercept": intercept is not None}
    arguments |= {"intercept_penalty": intercept or 0.0}
    return Solved(arguments, w, b, alpha, m)


# -- attacks ---------------------------------------------------------------------------


def worst_move(noise, w, length: float) -> np.ndarray:
    """The move of Ω°-length `length` that changes ⟨w,x⟩ most."""
    return length * subgradient(noise, w)


def length(noise, move) -> float:
    """The size of a move: it lies in the set of this radius, and in no smaller one."""
    if np.ndim(noise) == 2:
        return float(np.sqrt(move @ np.linalg.solve(noise, move)))
    return float(np.linalg.norm(np.divide(move, noise)))


# -- populations -----------------------------------------------------------------------


def gaussian_by_em(X, E, steps=5000) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of the Gaussian behind measurements, NaN where missing.

    The textbook's EM, row by row (Bovy, Hogg and Roweis 2011).
    """
    mean, spread = np.nanmean(X, axis=0), np.diag(np.nanvar(X, axis=0))
    for _ in range(steps):
        posteriors = [gaussian_posterior(x, e, mean, spread) for x, e in zip(X, E)]  # noqa: B905
        before, mean = mean, np.mean([p[0] for p in posteriors], axis=0)
        spread = np.mean(
            [V + np.outer(x - mean, x - mean) for x, V in posteriors], axis=0
        )
        if np.abs(mean - before).max() < 1e-13:
            break
    return mean, spread


def gaussian_posterior(x, e, mean, spread) -> tuple[np.ndarray, np.ndarray]:
    """Posterior mean and covariance of the true features of one row."""
    there = ~np.isnan(x)
    gain = spread[:, there] @ np.linalg.inv(
        spread[np.ix_(there, there)] + np.diag(e[there] ** 2)
    )
    return mean + gain @ (x[there] - mean[there]), spread - gain @ spread[there]


def posterior_by_quadrature(density, x: float, e: float) -> tuple[float, float]:
    """Mean and variance of one true value with any prior density, by quadrature."""
    from scipy.integrate import quad

    def moment(k):
        def weight(t):
            return t**k * density(t) * np.exp(-0.5 * ((x - t) / e) ** 2)

        return quad(weight, x - 12 * e, x + 12 * e, limit=400, points=[x])[0]

    total = moment(0)
    mean = moment(1) / total
    return mean, moment(2) / total - mean**2
