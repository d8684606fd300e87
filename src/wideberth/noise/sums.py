"""Sums of sets per sample, S = Σ a_iU_i (theory §8).

Boxes add up to a box, and the shortest v = d − δ with δ ∈ S is a soft threshold of d.
Under ellipsoids and covariances S has no name, and v is the limit of

    w_{k+1} = (I + Σβ_iS_i)⁻¹d,   β_i = a_i/r_i(w_k),

which minimises a majorant of ½‖w−d‖² + Σa_ir_i(w) that touches it at w_k, so that this
never rises. The dual point of a step has δ_i = S_iw_{k+1} divided by the larger of
r_i(w_k) and r_i(w_{k+1}), which is in U_i from wherever it started: every v is valid,
while w_{k+1} itself need not be a v of this kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wideberth.noise.sets import SumOfSets
from wideberth.problem.arrays import at_least, is_foreign, namespace
from wideberth.problem.limits import CACHED_ENTRIES, LITTLE, MOST_STEPS, TINY
from wideberth.problem.rounding import accurate_sum, nearest_rounding
from wideberth.problem.rows import gamma

if TYPE_CHECKING:
    from wideberth.noise.error_bars import SmoothBars

#: Relative distance from a guess of w(α) within which it is taken: a choice; values are
#: valid wherever steps end.
_CLOSE = 1e-3
#: Relative decrease of ‖v‖² below which steps to w(α) end: a choice. At kinks they
#: creep; 1e-3 leaves relative gaps of 1e-4 there, and 1e-6 still 1e-7.
_STALLED = 1e-9


@dataclass(frozen=True)
class SumOfBoxes(SumOfSets):
    """The box of all δ with −down ≤ δ ≤ up: what boxes add up to.

    A lopsided one is that of z_i + δ, so that w(α) is the shortest v = d + δ; the sign
    does not matter elsewhere.
    """

    down: np.ndarray
    up: np.ndarray
    size: float  # Σ a_iL_i of the samples
    rounding: float  # bound on the errors of both ends, relative to `size`

    @classmethod
    def penalty(cls, s: float, n_features: int) -> SumOfBoxes:
        """That of a norm penalty s‖w‖₁: all features alike."""
        widths = np.full(n_features, float(s))
        return cls(widths, widths, s * n_features**0.5, 0.0)

    def __add__(self, other):
        size, rounding = self.size + other.size, max(self.rounding, other.rounding)
        ends = self.down + other.down, self.up + other.up
        return SumOfBoxes(*ends, size, rounding + gamma(1))

    def times(self, factor):
        ends = factor * self.down, factor * self.up
        return SumOfBoxes(*ends, factor * self.size, self.rounding + gamma(1))

    def restricted(self, columns):
        return replace(self, down=self.down[columns], up=self.up[columns])

    def _against(self, d: np.ndarray) -> np.ndarray:
        """How far the box reaches against the signs of d."""
        return np.where(d > 0, self.down, self.up)

    def support(self, w):
        return float(self._against(w) @ np.abs(w))

    def support_error(self, w):
        return self.rounding * self.size * float(np.linalg.norm(w))

    def lipschitz(self, n_features):
        return self.size

    def inscribed(self, n_features):
        least = np.minimum(self.down, self.up)
        return float(least.min(initial=np.inf)) if n_features else 0.0

    def closest(self, d, near=None, rough=False, worth=0.0):
        """A soft threshold of d."""
        return np.sign(d) * np.maximum(np.abs(d) - self._against(d), 0.0)

    def gauge(self, d, most=np.inf, fixed=None):
        """The largest ratio of any feature."""
        beyond = np.abs(d)
        if fixed is not None:
            beyond = np.maximum(beyond - fixed._against(d), 0.0)
        t = _largest_ratio(beyond, self._against(d))
        return t, t

    def largest_multiple(self, d, fixed):
        excess = np.abs(self.closest(d))
        return 1 / max(_largest_ratio(excess, fixed._against(d)), TINY)

    def box(self, n_features):
        return self.up

    def conic(self, cp, w):
        return self.up @ cp.abs(w)


def _largest_ratio(numbers: np.ndarray, widths: np.ndarray) -> float:
    """The largest ratio of any feature; those of 0 count as 0."""
    beyond = np.full(numbers.size, np.inf)
    ratios = np.divide(numbers, widths, out=beyond, where=widths > 0)
    return float(np.where(numbers == 0, 0.0, ratios).max(initial=0.0))


@dataclass(frozen=True)
class SumOfEllipsoids(SumOfSets):
    """Σ a_iU_i of sets with r_i(w) = √(wᵀS_iw), which has no shape of its own."""

    parts: tuple[tuple[SmoothBars, np.ndarray], ...] = ()  # sets and their a_i

    def __add__(self, other):
        return SumOfEllipsoids(self.parts + other.parts)

    def times(self, factor):
        return SumOfEllipsoids(tuple((bars, factor * a) for bars, a in self.parts))

    def restricted(self, columns):
        return SumOfEllipsoids(
            tuple((bars.restricted(columns), a) for bars, a in self.parts)
        )

    def lipschitz(self, n_features):
        return sum(float(a @ bars.lipschitz(bars.d)) for bars, a in self.parts)

    @property
    def rounding(self) -> float:  # type: ignore[override]
        """The largest bound on the error of any `pull`."""
        return max((bars.pull_rounding for bars, _ in self.parts), default=0.0)

    def conic(self, cp, w):
        # CVXPY before 1.8 knows no empty arrays.
        return sum(a @ bars.conic(cp, w) for bars, a in self.parts if a.size)

    def sizes(self, w: np.ndarray) -> list[np.ndarray]:
        """Numbers of at least r_i(w), and not zero where a set is not a point."""
        return [bars.sizes(w) for bars, _ in self.parts]

    def bounds(self, w: np.ndarray) -> list[np.ndarray]:
        """The same for the sets as given, where factors are off by something."""
        return [bars.sizes(w) + bars.open_errors(w, 0.0) for bars, _ in self.parts]

    def _over_parts(self, term: Callable, sizes: list[np.ndarray]) -> np.ndarray:
        """Σ term(sets, a, sizes) over the parts."""
        known = zip(self.parts, sizes, strict=True)
        return sum(term(bars, a, part) for (bars, a), part in known)

    def _point(self, w: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray:
        """Σ a_iδ_i, a point of the sum, with δ_i = S_iw/sizes_i."""
        return self._over_parts(lambda bars, a, part: bars.pull(a, w, part), sizes)

    def _matrix(self, sizes: list[np.ndarray]) -> np.ndarray:
        """Σ a_iS_i/sizes_i; its diagonal alone where it has no other entries."""
        return self._over_parts(lambda bars, a, part: bars.pressure(a, part), sizes)

    def _majorant_step(self, d: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray:
        """The minimiser (I + Σ a_iS_i/sizes_i)⁻¹d of the majorant with these sizes.

        d itself where rounding has left the matrix singular: every w leads to a v.
        """
        matrix = self._matrix(sizes)
        if np.ndim(matrix) == 1:
            return d / (1 + matrix)
        try:
            return np.linalg.solve(np.eye(d.size) + matrix, d)
        except np.linalg.LinAlgError:
            return d

    def _best_multiple(self, d: np.ndarray, w: np.ndarray) -> float:
        """About the t that is best for tw in ½‖w−d‖² + Σ a_ir_i(w)."""
        along = float(w @ d) - self.support(w)
        return max(along / max(float(w @ w), TINY), LITTLE)

    def newton_step(self, d: np.ndarray, w: np.ndarray, sizes) -> np.ndarray:
        """w after a step of Newton's method for ½‖w−d‖² + Σ a_ir_i(w).

        w itself where rounding has left the curvature singular.
        """
        curvature = self._over_parts(
            lambda bars, a, part: bars.curvature(a, w, part), sizes
        )
        right = d - self._point(w, sizes) - w
        try:
            return w + np.linalg.solve(np.eye(d.size) + curvature, right)
        except np.linalg.LinAlgError:
            return w

    def solved(self, d: np.ndarray, sizes: list[np.ndarray]) -> np.ndarray | None:
        """(Σ a_iS_i/sizes_i)⁻¹d; None where there is none."""
        matrix = self._matrix(sizes)
        if np.ndim(matrix) == 1:
            if np.any((matrix <= 0) & (d != 0)):
                return None
            return np.divide(d, matrix, out=np.zeros_like(d), where=matrix > 0)
        try:
            w = np.linalg.solve(matrix, d)
        except np.linalg.LinAlgError:
            return None
        off = np.linalg.norm(matrix @ w - d)
        return w if off <= nearest_rounding(d.size) * np.linalg.norm(d) else None

    def support(self, w):
        return sum(accurate_sum(a * bars.supports(w)) for bars, a in self.parts)

    def inscribed(self, n_features):
        return sum(bars.inscribed(a) for bars, a in self.parts)

    def support_error(self, w):
        return sum(accurate_sum(a * bars.support_errors(w)) for bars, a in self.parts)

    def closest(self, d, near=None, rough=False, worth=0.0):
        """By descent on majorants, which ends near the shortest v.

        If v with the δ_i at `near` is close to `near`, it is the answer. Steps are
        slow where some r_i(w) is nearly 0 or the a_i are large. Then a step of Newton's
        method follows each of them, while it leads to a shorter v; where it does not,
        it is tried again after twice as many steps.
        """
        near = None if near is None or not near.any() else near
        stalled = _CLOSE if rough or near is None else _STALLED
        w, best, least = d if near is None else near, d, np.inf
        sizes = self.sizes(w)
        if near is not None:
            best = d - self._point(w, sizes)
            least = float(best @ best)
            off = best - w
            if float(off @ off) <= max(_CLOSE**2 * least, 2 * stalled * worth):
                return best
        few = sum(a.shape[0] for _, a in self.parts) * d.size <= CACHED_ENTRIES
        steps = 4 * MOST_STEPS if few else MOST_STEPS if near is None else 4
        newton_from = 2
        for step in range(steps):
            creeping = step >= newton_from
            if creeping:
                scale = self._best_multiple(d, w)
                sizes = [scale * size for size in sizes]
            w = self._majorant_step(d, sizes)
            ahead = self.sizes(w)
            pairs = zip(sizes, ahead, strict=True)
            both = [namespace(new).maximum(old, new) for old, new in pairs]
            v, sizes = d - self._point(w, both), ahead
            square, off = float(v @ v), np.inf
            if creeping:
                further = self.newton_step(d, w, sizes)
                there = self.sizes(further)
                shorter = d - self._point(further, there)
                if (length := float(shorter @ shorter)) < square:
                    w, sizes, v, square = further, there, shorter, length
                    off = float((v - w) @ (v - w))
                else:
                    newton_from = 2 * step
            if square < least:
                best = v
            if min(off, least - square) <= stalled * max(square, 2 * worth):
                break
            least = square
        return best

    def gauge(self, d, most=np.inf, fixed=None):
        """Between two bounds, which meet; no norm penalty goes with these sets.

        From below by ⟨w,d⟩/Σa_ir_i(w) for any w. From above by δ_i = S_iw⁺/r_i(w),
        whose sum Σa_iδ_i is d for w⁺ = (Σa_iS_i/r_i(w))⁻¹d: they lie in tU_i for t the
        largest r_i(w⁺)/r_i(w). w⁺ is the next w; both meet where it is the last one.
        """
        if not d.any():
            return 0.0, 0.0
        # Of sums of positive numbers over all samples, and of a few operations on them.
        error = gamma(64) + self.rounding
        lower, upper, w = 0.0, np.inf, d / np.linalg.norm(d)
        for _ in range(2 * MOST_STEPS):
            support = self.support(w) + self.support_error(w)
            if support > 0:
                lower = max(lower, float(w @ d) / support * (1 - error))
            if lower > most:
                return lower, upper
            sizes = self.sizes(w)
            ahead = self.solved(d, sizes)
            if ahead is None:  # nothing moves some feature that d has
                return lower, upper
            pairs = zip(self.bounds(ahead), sizes, strict=True)
            t = max(float(ratio(new, old).max(initial=0.0)) for new, old in pairs)
            upper = min(upper, t * (1 + error))
            if upper - lower <= _CLOSE * LITTLE * upper:
                break
            w = ahead / np.linalg.norm(ahead)
        return min(lower, upper), upper

    def towards(self, d: np.ndarray) -> np.ndarray:
        """About the w at which Σa_iδ_i lies along d."""
        w = d
        for _ in range(MOST_STEPS):
            ahead = self.solved(d, self.sizes(w))
            if ahead is None or not ahead.any():
                break
            ahead = ahead * (float(np.linalg.norm(w)) / float(np.linalg.norm(ahead)))
            near = float(np.linalg.norm(ahead - w)) <= LITTLE * float(np.linalg.norm(w))
            w = ahead
            if near:
                break
        return w

    def left_open(self, v, error):
        most = sum(accurate_sum(a * bars.axes_errors()) for bars, a in self.parts)
        if most == 0:
            return 0.0, 0.0
        length, up = float(np.linalg.norm(v)) + error, 1 + gamma(64)
        value, ball = np.inf, (most + math.sqrt(most * (most + 2 * length))) * up
        center = ball
        for _ in range(MOST_STEPS):
            near = [a * bars.open_errors(v, ball + error) for bars, a in self.parts]
            value = sum(map(accurate_sum, near)) * up
            narrowed = math.sqrt(2 * value) * up
            if not narrowed < (1 - LITTLE) * ball:
                break
            ball = narrowed
        return value, center


def ratio(a, sizes: np.ndarray) -> np.ndarray:
    """a/sizes, and 0 where a size is 0: such a set does not move along w."""
    if is_foreign(sizes):
        xp = namespace(sizes)
        return xp.where(sizes > TINY, a / at_least(TINY, sizes), 0.0)
    return np.divide(a, sizes, out=np.zeros(sizes.shape), where=sizes > TINY)
