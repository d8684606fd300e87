"""Where the optimum must be over a whole range of C, radius or norm penalty.

Solutions at two values p_a < p_b of a parameter, the ends of a `Span`, bound the
optimum at every value between them (theory §16). At p = (1−τ)p_a + τp_b take the points
on the lines between those of the ends,

    (w,b) = (1−τ)(w_a,b_a) + τ(w_b,b_b),    α = (1−τ)α_a + τα_b ,    v likewise,

where v stands for w(α): any d − δ with δ ∈ S will do in its place (theory §8). The
objective P_p(w,b) is convex in (w,b), and convex in p for fixed (w,b); D is concave. So
with Δw = w_b − w_a, and X for what both points cost at the other end,

    X = P_b(w_a) + P_a(w_b) − P_a(w_a) − P_b(w_b)
    G(τ) ≤ (1−τ)G_a + τG_b + τ(1−τ)K ,    K = X − ½‖Δw‖² − ½‖Δv‖² ,

and w*(p) lies in the ball of §4.2 about the midpoint of w and v, which moves on a line:

    ‖w* − ½(w + v)‖² ≤ G(τ) − ¼‖w − v‖² .

K is 0 where no sample changes its status in between. A single pair says this of a range
too: its points with α' = (p/p_a)α, evaluated at the other end, are the other pair.

α and δ are feasible along C and along the norm penalty. Along the radius Σα_iρ_iU_i may
be too small for δ, for α_i and ρ_i grow at once, and the middles z_i of lopsided sets
move. So v is off by τ(1−τ)E at most, E = Σ[Δρ_iΔα_i]_+ L_i + ‖ΣΔα_iΔz_i‖.

A penalised intercept is one more coordinate √λ_b b. Rounding: that of the values at
both ends, twice, since weights C·c_i are rounded as well; `center_rounding` of v; and γ
of the few operations here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wideberth.noise.sets import Noise
from wideberth.problem import Certificate, Pair, Problem
from wideberth.problem.arrays import at_least
from wideberth.problem.rounding import accurate_sum
from wideberth.problem.rows import gamma


@dataclass(frozen=True)
class Anchor:
    """A pair of points of the problem at one value of the parameter.

    `moving` is the noise under radii that the parameter multiplies; None where it is
    not the radius.
    """

    at: float
    problem: Problem
    pair: Pair
    moving: Noise | None = None

    @cached_property
    def gap(self) -> float:
        """What P − D is at most, in exact arithmetic and for weights not rounded."""
        found = self.pair.certificate
        return max(found.gap, 0.0) + 2 * found.rounding

    @property
    def doubt(self) -> float:
        """How far v may be from that of a feasible dual point."""
        return 2 * self.pair.dual.center_rounding

    @cached_property
    def primal(self) -> np.ndarray:
        """(w, √λ_b b), with b only where it is penalised."""
        return self._joined(self.pair.point.w, self.pair.point.b)

    @cached_property
    def dual(self) -> np.ndarray:
        """v, with b likewise."""
        return self._joined(self.pair.dual.w, self.pair.dual.b)

    def _joined(self, w: np.ndarray, b: float) -> np.ndarray:
        penalty = self.problem.intercept
        return np.append(w, np.sqrt(penalty) * b) if penalty else w

    @cached_property
    def apart(self) -> np.ndarray:
        """w − v, with b likewise."""
        return self.primal - self.dual

    @property
    def center(self) -> tuple[np.ndarray, float]:
        """The midpoint of w and v, and of b where it is penalised."""
        point, dual = self.pair.point, self.pair.dual
        b = 0.5 * (point.b + dual.b) if self.problem.intercept else point.b
        return 0.5 * (point.w + dual.w), b

    def value_at(self, other: Anchor) -> tuple[float, float]:
        """The primal value of the point at the other end, and its rounding."""
        point, there = self.pair.point, other.problem
        margins = point.margins if there.rows is self.problem.rows else None
        found = there.at(point.w, point.b, margins)
        return found.value, found.rounding

    def lacking(self, other: Anchor) -> float:
        """E: how far v may be from a feasible one in between, ÷ τ(1−τ)."""
        if self.moving is None:
            return 0.0
        noise, n, d = self.moving, self.problem.n, self.problem.rows.d
        step, up = other.at - self.at, 1 + gamma(n + d + 16)
        old, new = self.pair.dual.alpha, other.pair.dual.alpha
        moved = self._moved(other, new - old)
        if noise.proportional:
            sums = noise.sum(old).scale, noise.sum(new).scale
            growth = max(step * (sums[1] - sums[0]), 0.0)
            growth += abs(step) * gamma(n) * (sums[0] + sums[1])
            return (growth * noise.shape.lipschitz(d) + moved) * up
        growth = at_least(0.0, step * (new - old))
        return (accurate_sum(growth * noise.lipschitz(d)) + moved) * up

    def _moved(self, other: Anchor, alpha: np.ndarray) -> float:
        """‖Σα_i(z_i' − z_i)‖ at most, where middles of lopsided sets move with ρ."""
        here, there = self.problem.rows, other.problem.rows
        if here is there:
            return 0.0
        length = float(np.linalg.norm(there.combine(alpha) - here.combine(alpha)))
        mass = accurate_sum(abs(alpha) * (here.norms() + there.norms()))
        return length + (here.combine_rounding + gamma(8)) * mass


@dataclass(frozen=True)
class RangeProof:
    """Certificates of the models between two values of a parameter.

    P at most, and D at least, are linear between both ends, but for τ(1−τ) times
    `primal_bend` and `dual_bend`.
    """

    first: Certificate
    last: Certificate
    primal_bend: float
    dual_bend: float

    def at(self, t: float) -> Certificate:
        """That of the model (1−t)(w_a,b_a) + t(w_b,b_b)."""
        a, b, both = self.first, self.last, t * (1 - t)
        primal = (1 - t) * a.primal + t * b.primal + both * self.primal_bend
        dual = (1 - t) * a.dual + t * b.dual + both * self.dual_bend
        rounding = 2 * (a.rounding + b.rounding) + gamma(8) * (abs(primal) + abs(dual))
        least = (1 - t) * a.least_scale + t * b.least_scale
        return Certificate(primal, dual, rounding, least)

    def excess(self, tol: float) -> float:
        """Largest relative gap in between ÷ `tol`, or a bound on it.

        It is relative to D, or to the least scale of the problem where that shows less.
        """
        a, b = self.first, self.last
        gaps = [max(each.gap, 0.0) + 2 * each.rounding for each in (a, b)]
        bend = self.primal_bend - self.dual_bend
        scales = [
            (a.dual - 2 * a.rounding, b.dual - 2 * b.rounding, self.dual_bend),
            (a.least_scale, b.least_scale, 0.0),
        ]
        found = []
        for first, last, more in scales:
            least = -largest_between(-first, -last, -more)
            if least > 0:
                rest = gaps[0] - tol * first, gaps[1] - tol * last
                over = largest_between(*rest, bend - tol * more)
                found.append(
                    1 + over / (tol * (least if over > 0 else max(first, last)))
                )
        return min(found, default=np.inf)


@dataclass(frozen=True)
class Span:
    """What two anchors prove of the optima between them.

    `doubt` bounds the error of v.
    """

    first: Anchor
    last: Anchor
    proof: RangeProof
    doubt: float

    @classmethod
    def between(cls, first: Anchor, last: Anchor) -> Span:
        """The span of two anchors of one parameter."""
        a, b = first.pair.certificate, last.pair.certificate
        here, there = first.value_at(last), last.value_at(first)
        cross = here[0] + there[0] - a.primal - b.primal
        roundings = here[1] + there[1] + a.rounding + b.rounding
        cross += 2 * roundings + gamma(8) * (here[0] + there[0] + a.primal + b.primal)
        less, lacking = 1 - gamma(first.primal.size + 16), first.lacking(last)
        primal_bend = cross - 0.5 * less * _square(last.primal - first.primal)
        moved = float(np.linalg.norm(last.dual - first.dual)) - first.doubt - last.doubt
        dual_bend = 0.5 * less * max(moved, 0.0) ** 2
        doubt = max(first.doubt, last.doubt)
        longest = max(float(np.linalg.norm(each.dual)) for each in (first, last))
        dual_bend -= lacking * (longest + doubt + lacking / 8) / less
        proof = RangeProof(a, b, primal_bend, dual_bend)
        return cls(first, last, proof, doubt + lacking / 4)

    def share(self, at: float) -> float:
        """τ of a value of the parameter."""
        a, b = self.first.at, self.last.at
        return min(max((at - a) / (b - a), 0.0), 1.0)

    @cached_property
    def step(self) -> np.ndarray:
        """How the midpoint of w and v moves from the first end to the last."""
        return self.last.center[0] - self.first.center[0]

    def radius(self, start: float = 0.0, end: float = 1.0) -> float:
        """The largest radius of the ball about the midpoint, for τ from start to end.

        Squares of radii are linear between the ends too, but for a bend.
        """
        first, last, bend, added = self._squares
        square = largest_between(first, last, bend, start, end) + added
        return float(np.sqrt(max(square, 0.0)) * (1 + gamma(16)) + self.doubt)

    @cached_property
    def _squares(self) -> tuple[float, float, float, float]:
        a, b, proof = self.first, self.last, self.proof
        squares = _square(a.apart), _square(b.apart), _square(b.apart - a.apart)
        bend = proof.primal_bend - proof.dual_bend
        sizes = a.gap + b.gap + abs(proof.primal_bend) + abs(proof.dual_bend)
        added = gamma(a.primal.size + 32) * (sizes + sum(squares))
        added += 0.5 * max(squares[:2]) ** 0.5 * self.doubt
        ends = a.gap - 0.25 * squares[0], b.gap - 0.25 * squares[1]
        return *ends, bend + 0.25 * squares[2], added


def largest_between(
    first: float, last: float, bend: float, start: float = 0.0, end: float = 1.0
) -> float:
    """The largest (1−τ)·first + τ·last + τ(1−τ)·bend for τ from `start` to `end`."""
    places = [start, end]
    if bend > 0:
        peak = 0.5 + 0.5 * (last - first) / bend
        places += [peak] if start < peak < end else []
    return max((1 - t) * first + t * last + t * (1 - t) * bend for t in places)


def intercept_range(
    problem: Problem, lower: np.ndarray, upper: np.ndarray
) -> tuple[float, float]:
    """Bounds on a free b where every ψ_i(w*) without b lies in [lower, upper].

    b stands for the middle of all b at which the slope of P is 0, sums of weights that
    differ by rounding alone being equal. Both ends of this interval grow with every
    y_i(m_i − ψ_i), at which the slope rises by c_i (theory §4.4, §17).
    """
    y, weights, targets = problem.y, problem.weights, problem.targets
    used = weights > 0
    if not used.all():
        y, weights, targets = y[used], weights[used], targets[used]
        lower, upper = lower[used], upper[used]
    positive = y > 0
    balance, mass = 0.0, accurate_sum(weights)
    start = -accurate_sum(weights * positive)
    if problem.folded is not None:
        balance, mass = problem.folded.balance, mass + problem.folded.weight
    start -= balance
    equal = 4 * gamma(problem.n + 16 + problem.chain) * mass
    low = y * (targets - np.where(positive, upper, lower))
    high = y * (targets - np.where(positive, lower, upper))
    ends = []
    for breaks, (least, most) in ((low, (2.0, 0.5)), (high, (0.5, 2.0))):
        order = np.argsort(breaks)
        breaks, slopes = breaks[order], start + np.cumsum(weights[order])
        k = int(np.searchsorted(slopes, -least * equal))
        j = int(np.searchsorted(slopes, most * equal, side="right"))
        if start >= -least * equal or j >= breaks.size:
            ends.append(np.nan)
            continue
        ends.append(0.5 * float(breaks[k] + breaks[j]))
    if np.isnan(ends).any():  # the slope is 0 from −∞ on, or up to ∞
        return -np.inf, np.inf
    wiggle = 2.0**-50
    return ends[0] - wiggle * abs(ends[0]), ends[1] + wiggle * abs(ends[1])


def _square(vector: np.ndarray) -> float:
    return float(vector @ vector)
