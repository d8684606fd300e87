"""Sums of sets, Σ a_iU_i: the shortest way out of them, and how far in a point is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from wideberth.problem.arrays import at_least, concat, is_foreign, namespace
from wideberth.problem.limits import CACHED_ENTRIES, LITTLE, MOST_STEPS, TINY
from wideberth.problem.rounding import accurate_sum
from wideberth.problem.rows import gamma

#: Relative distance from a guess of w(α) within which it is taken: a choice; values are
#: valid wherever steps end.
_ENOUGH = 1e-3
#: Number of times that the ball about w(α) is narrowed in which sets known roughly may
#: put it: a choice; most of the gain is in the first two.
_NARROWER = 4
#: Relative decrease of ‖v‖² below which steps to w(α) end: a choice. At kinks they
#: creep; 1e-3 leaves relative gaps of 1e-4 there, and 1e-6 still 1e-7.
_STALLED = 1e-9


@dataclass(frozen=True)
class Pushes:
    """Sets of samples, each with a coefficient a_i ≥ 0: what Σ a_iκ_i is made of."""

    parts: tuple[tuple[Any, np.ndarray], ...] = ()  # of one kind of sets

    def __add__(self, other: Pushes) -> Pushes:
        parts = self.parts + other.parts
        if len(parts) < 2:
            return Pushes(parts)
        bars, a = parts[0]
        for more, b in parts[1:]:
            bars, a = bars.joined(more), concat([a, b])
        return Pushes(((bars, a),))

    def restricted(self, columns: np.ndarray) -> Pushes:
        """The same of some features alone."""
        return Pushes(tuple((bars.restricted(columns), a) for bars, a in self.parts))

    def sizes(self, w: np.ndarray) -> list[np.ndarray]:
        """Numbers of at least r_i(w), and not zero where a set is not a point."""
        return [bars.sizes(w) for bars, _ in self.parts]

    def bounds(self, w: np.ndarray) -> list[np.ndarray]:
        """Numbers of at least κ_i(w)."""
        return [bars.sizes(w) + bars.open_errors(w, 0.0) for bars, _ in self.parts]

    def pull(self, w: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray:
        """Σ a_iδ_i at w."""
        parts = zip(self.parts, sizes, strict=True)
        return np.sum([bars.pull(a, w, own) for (bars, a), own in parts], axis=0)

    def shrunk(self, d: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray:
        """(I + Σ a_i S_i/sizes_i)⁻¹d."""
        parts = zip(self.parts, sizes, strict=True)
        pressure = sum(bars.pressure(a, own) for (bars, a), own in parts)
        if np.ndim(pressure) == 1:
            return d / (1 + pressure)
        return np.linalg.solve(np.eye(d.size) + pressure, d)

    def stretch(self, d: np.ndarray, w: np.ndarray) -> float:
        """About the t that is best for tw in ½‖w−d‖² + Σ a_ir_i(w)."""
        along = float(w @ d) - self.total(w)
        return max(along / max(float(w @ w), TINY), LITTLE)

    def newton(self, d: np.ndarray, w: np.ndarray, sizes) -> np.ndarray:
        """w after a step of Newton's method for ½‖w−d‖² + Σ a_ir_i(w).

        w itself where rounding has left the curvature singular.
        """
        parts = zip(self.parts, sizes, strict=True)
        curvature = sum(bars.curvature(a, w, own) for (bars, a), own in parts)
        right = d - self.pull(w, sizes) - w
        try:
            return w + np.linalg.solve(np.eye(d.size) + curvature, right)
        except np.linalg.LinAlgError:
            return w

    def lifted(self, d: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray | None:
        """(Σ a_i S_i/sizes_i)⁻¹d; None where there is none."""
        parts = zip(self.parts, sizes, strict=True)
        pressure = sum(bars.pressure(a, own) for (bars, a), own in parts)
        if np.ndim(pressure) == 1:
            if np.any((pressure <= 0) & (d != 0)):
                return None
            return np.divide(d, pressure, out=np.zeros_like(d), where=pressure > 0)
        try:
            w = np.linalg.solve(pressure, d)
        except np.linalg.LinAlgError:
            return None
        off = np.linalg.norm(pressure @ w - d)  # as much as a dual point allows for
        return w if off <= gamma(8 * d.size + 64) * np.linalg.norm(d) else None

    def total(self, w: np.ndarray) -> float:
        """Σ a_i r_i(w)."""
        return sum(accurate_sum(a * bars.supports(w)) for bars, a in self.parts)

    def inscribed(self) -> float:
        """The radius of a Euclidean ball inside Σ a_iU_i; 0 where none is known."""
        return sum(bars.inscribed(a) for bars, a in self.parts)

    def error(self, w: np.ndarray) -> float:
        """How far Σ a_i κ_i(w) may be from it, beyond rounding of positive sums."""
        return sum(accurate_sum(a * bars.support_errors(w)) for bars, a in self.parts)

    def reach(self) -> float:
        """Σ a_i times the largest r_i(w) over ‖w‖₂ ≤ 1."""
        return sum(float(a @ bars.lipschitz()) for bars, a in self.parts)

    def opened(self, v: np.ndarray, error: float) -> tuple[float, float]:
        """What sets that are known up to `factor_errors` leave open of D and of w(α).

        v = d − Σa_iδ_i, known up to `error`, has δ_i in the sets of r_i, while the
        Lagrangian has κ_i (theory §8.3).
        """
        parts = [(bars, a) for bars, a in self.parts if bars.by_factors]
        most = sum(float(a @ bars.factor_errors()) for bars, a in parts)
        if most == 0:
            return 0.0, 0.0
        length, up = float(np.linalg.norm(v)) + error, 1 + gamma(64)
        value, ball = np.inf, (most + math.sqrt(most * (most + 2 * length))) * up
        center = ball
        for _ in range(_NARROWER):
            near = [a * bars.open_errors(v, ball + error) for bars, a in parts]
            value = sum(map(accurate_sum, near)) * up
            if not math.sqrt(2 * value) < ball:
                break
            ball = math.sqrt(2 * value) * up
        return value, center


#: Of samples that all share one shape.
NO_PUSHES = Pushes()


def descended(
    pushes: Pushes, d: np.ndarray, near, rough: bool, worth: float
) -> np.ndarray:
    """About the shortest v = d − Σa_iδ_i under smooth sets (see `measured.py`).

    With the gradients at `near`, where those fit it; else by a descent, whose steps
    creep where some r_i(w) is next to 0 or the a_i are large. There a step of Newton's
    method follows, as long as it leads to a shorter v; where it does not, after twice
    as many steps.
    """
    near = None if near is None or not near.any() else near
    stalled = _ENOUGH if rough or near is None else _STALLED
    w, best, least = d if near is None else near, d, np.inf
    sizes = pushes.sizes(w)
    if near is not None:
        best = d - pushes.pull(w, sizes)
        least = float(best @ best)
        off = best - w
        if float(off @ off) <= max(_ENOUGH**2 * least, 2 * stalled * worth):
            return best
    few = sum(a.shape[0] for _, a in pushes.parts) * d.size <= CACHED_ENTRIES
    steps, turn = 4 * MOST_STEPS if few else MOST_STEPS if near is None else 4, 2
    for step in range(steps):
        if step >= turn:
            scale = pushes.stretch(d, w)
            sizes = [scale * size for size in sizes]
        w = pushes.shrunk(d, sizes)
        ahead = pushes.sizes(w)
        both = [_larger(old, new) for old, new in zip(sizes, ahead, strict=True)]
        v, sizes = d - pushes.pull(w, both), ahead
        size, off = float(v @ v), np.inf
        if step >= turn:
            further = pushes.newton(d, w, sizes)
            there = pushes.sizes(further)
            shorter = d - pushes.pull(further, there)
            if (length := float(shorter @ shorter)) < size:
                w, sizes, v, size = further, there, shorter, length
                off = float((v - w) @ (v - w))
            else:
                turn = 2 * step
        if size < least:
            best = v
        if min(off, least - size) <= stalled * max(size, 2 * worth):
            break
        least = size
    return best


def gauged(pushes: Pushes, d: np.ndarray, most: float) -> tuple[float, float]:
    """The least t ≥ 0 with d ∈ tΣa_iU_i under smooth sets, between two bounds.

    From below by ⟨w,d⟩/Σa_ir_i(w) for any w. From above by δ_i = S_iw⁺/r_i(w), whose
    sum Σa_iδ_i is d for w⁺ = (Σa_iS_i/r_i(w))⁻¹d: they lie in tU_i for t the largest
    r_i(w⁺)/r_i(w). w⁺ is the next w; both meet where it is the last one.
    """
    if not d.any():
        return 0.0, 0.0
    # Of sums of positive numbers over all samples, and of a few operations on them.
    error = gamma(64) + max(bars.pull_rounding for bars, _ in pushes.parts)
    lower, upper, w = 0.0, np.inf, d / np.linalg.norm(d)
    for _ in range(2 * MOST_STEPS):
        total = pushes.total(w) + pushes.error(w)
        if total > 0:
            lower = max(lower, float(w @ d) / total * (1 - error))
        if lower > most:
            return lower, upper
        sizes = pushes.sizes(w)
        ahead = pushes.lifted(d, sizes)
        if ahead is None:  # nothing moves some feature that d has
            return lower, upper
        pairs = zip(pushes.bounds(ahead), sizes, strict=True)
        reached = max(float(ratio(new, old).max(initial=0.0)) for new, old in pairs)
        upper = min(upper, reached * (1 + error))
        if upper - lower <= _ENOUGH * LITTLE * upper:
            break
        w = ahead / np.linalg.norm(ahead)
    return min(lower, upper), upper


def _larger(one, other):
    return namespace(one).maximum(one, other)


def ratio(a, sizes: np.ndarray) -> np.ndarray:
    """a/sizes, 0 where a size is: such a set is a point as far as w can see."""
    if is_foreign(sizes):
        xp = namespace(sizes)
        return xp.where(sizes > TINY, a / at_least(TINY, sizes), 0.0)
    return np.divide(a, sizes, out=np.zeros(sizes.shape), where=sizes > TINY)
