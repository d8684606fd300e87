"""Blocks of the interior-point method: rows, variables and constraints of a noise.

A block brings the rows e_i and the variables x of `interior.py` for one kind of noise,
with the constraints that the noise adds, their multipliers and their moves:

* `Block`: no noise, x = (w, b).
* `SharedCone`: t ≥ ‖τ∘w‖, one round cone (theory §6.1); x = (w, t, b).
* `SumFacets`, `MaxFacets`: t ≥ Στ_j|w_j| and t ≥ max τ_j|w_j| (theory §10.2).
* `SignedParts`: boxes per sample (theory §8); x = (p, q, b) with w = p − q.
* `SmoothedSets`, `ConeSets`: ellipsoids and covariances per sample (theory §8);
  x = (w, b).

`SmoothedSets` is three to five times as quick as `ConeSets`, but makes no progress
where the optimum lies on a kink of the noise, as in 43 of 200 random small problems.
Then the method continues with its `successor`, `ConeSets`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wideberth.noise.error_bars import SmoothBars, images_of, lifted
from wideberth.noise.sets import SumOfSets
from wideberth.noise.sums import ratio
from wideberth.problem import Folded, Problem
from wideberth.problem.arrays import by_columns, fill, host, is_foreign, like, namespace
from wideberth.problem.limits import EPS, LITTLE, TINY
from wideberth.problem.rounding import accurate_sum
from wideberth.problem.rows import gamma
from wideberth.solvers.algebra import (
    Curvature,
    ExtendedRows,
    Factor,
    Scaling,
    ThinFactor,
    dots,
    jordan_product,
    longest_step,
)

if TYPE_CHECKING:
    from wideberth.solvers.interior import InteriorPoint

#: Least distance of the shares α/c from 0 and 1 at which the method starts, and least
#: Ω(w) as a share of the largest that a w of this length can have (0.01 and 0.05 are
#: even; 0.2 takes up to 1.4 times the passes).
START_INSIDE = 0.05
#: Least distance from the margin, and least Ω(w), that a start is made with: zero would
#: be on the boundary (a choice).
LEAST_DISTANCE = 1e-9


def block_of(
    problem: Problem, rows: ExtendedRows, others: NoiseModel | None = None
) -> Block:
    """The block of a problem's noise; `others` stand for samples not at hand."""
    kind = Block
    if not problem.noise.proportional:
        kind = SmoothedSets if problem.noise.smooth else SignedParts
    elif rows.noisy:
        round_or_sum: dict[float | None, type[Block]]
        round_or_sum = {1.0: SumFacets, 2.0: SharedCone}
        kind = round_or_sum.get(problem.noise.shape.dual_order, MaxFacets)
    return kind(problem, rows, others)


class Block:
    """The contract of a block; by itself it has fixed rows and no constraint.

    A step calls in turn: `scale` at the current point, `system`, `move` along the
    predictor, `corrected` and `right_side`, `move` along the corrector, `longest`,
    `advance`; then `refresh` computes what does not move linearly.

    Where slacks depend on multipliers of the block too, a row's dα = θ(u − ⟨g,dx⟩)
    becomes θ'(u + shift − ⟨g,dx⟩) with 1/θ' = 1/θ + compliance.
    """

    #: The block that replaces this one where its steps make no progress.
    successor: type[Block] | None = None
    compliance: np.ndarray | None = None
    shift: np.ndarray | None = None

    def __init__(self, problem: Problem, rows: ExtendedRows, others=None):
        self.rows, self.others = rows, others
        self.adopt(problem)

    def adopt(self, problem: Problem) -> None:
        """Take over a problem."""
        self.problem, self.d = problem, problem.rows.d
        if self.rows.problem is not problem:
            self.rows = copy(self.rows)  # that of other copies of the method stays
            self.rows.adopt(problem)

    def shrink(self, keep: np.ndarray, problem: Problem) -> None:
        """Go on with the rows `keep` (a mask), which form `problem`."""
        self.adopt(problem)

    @property
    def turned(self) -> ExtendedRows:
        """The rows g_i along which slacks change."""
        return self.rows

    @property
    def size(self) -> int:
        """Variables in x."""
        return self.rows.penalty.size

    def weights(self, x: np.ndarray) -> np.ndarray:
        """w of x."""
        return x[: self.d]

    def filled(self, values: np.ndarray) -> np.ndarray:
        """Values of the first variables, and 0 for those beyond."""
        out = np.zeros(self.size)
        out[: values.size] = values
        return out

    def place(self, w, b: float, margins, distance: Callable) -> np.ndarray:
        """x at (w,b); `distance` is the mean distance of slacks from the margin."""
        return np.concatenate((w, [] if self.problem.intercept is None else [b]))

    def slacks(self, x: np.ndarray, margins: np.ndarray) -> np.ndarray:
        """Slacks at x, where `margins` are ⟨w,z_i⟩."""
        extras = self.rows.extras
        beyond = like(x[x.size - extras.shape[1] :], extras)
        return self.problem.targets - (margins + extras @ beyond)

    def begin(self, method: InteriorPoint) -> None:
        """Set the multipliers, once those of the hinges are known."""

    def true_slack(self, slack: np.ndarray) -> np.ndarray:
        """Slacks at w itself, where `slack` are those that steps see."""
        return slack

    def stationarity(self, method: InteriorPoint) -> float:
        """The gap beyond complementarity and the intercept's part (theory §6.1, §8)."""
        off = method.w - method.combined[: self.d]
        return 0.5 * float(off @ off)

    def value(self, w: np.ndarray) -> float:
        """Noise of folded samples, where the fold has none."""
        return 0.0

    def scale(self, method: InteriorPoint) -> None:
        """Compute the scaling at the current point."""

    def curvature(self) -> Curvature | None:
        """What the block adds to Newton's matrix Q + Σθ_i g_ig_iᵀ."""
        return None

    def system(
        self, theta: np.ndarray, vectors: Sequence[np.ndarray]
    ) -> tuple[Factor | ThinFactor | None, Sequence[np.ndarray]]:
        """What solves with Newton's matrix, and Σ θ_iv_i g_i for each of the vectors.

        With fewer rows than weights the matrix is a diagonal and as many rows, and the
        system that is solved as large as these are many.
        """
        parts, border = self.curvature(), self.rows.extras.shape[1]
        if self.problem.n < self.size - border and not is_foreign(theta):
            root = np.sqrt(theta)
            K = self.turned.dense() * root[:, None]
            whole = Curvature.of(self.rows.penalty, K)
            whole = whole if parts is None else whole + parts
            return whole.factor(border), [(vector * root) @ K for vector in vectors]
        matrix, sums = self.turned.gathered(theta, vectors)
        matrix.reshape(-1)[:: matrix.shape[0] + 1] += self.rows.penalty
        if parts is not None:
            parts.add_to(matrix)
        return Factor.of(matrix), sums

    def first_right(self) -> np.ndarray | float:
        """The predictor's right-hand side beyond Σα_ie_i − Qx and the rows' part."""
        return 0.0

    def along(self, dx: np.ndarray, weigh: Callable) -> np.ndarray:
        """Σ a_ig_i with a = weigh(rows, ⟨g_i,dx⟩)."""
        return self.turned.along(dx, weigh)

    def products(self, dx: np.ndarray) -> np.ndarray:
        """⟨g_i,dx⟩."""
        return self.turned.products(dx)

    def move(self, dx: np.ndarray, d_alpha: np.ndarray, aim: np.ndarray | None) -> None:
        """Note the block's moves that go with dx and dα; to 0 where `aim` is None."""

    def adjoint(self, h: np.ndarray) -> np.ndarray:
        """What multipliers h add to Qx = Σα_ie_i, in the order of x."""
        raise NotImplementedError

    def corrected(self, mu: float) -> np.ndarray | None:
        """What the corrector aims at, given μ and the predictor's moves."""
        return None

    def right_side(self, aim: np.ndarray) -> np.ndarray:
        """The corrector's right-hand side beyond the predictor's; sets `shift`."""
        raise NotImplementedError

    def longest(self) -> float:
        """Largest step that stays inside the block's constraints."""
        return np.inf

    def advance(self, t: float, ahead: np.ndarray) -> np.ndarray | float:
        """Move by t; returns Qx − Σα_ie_i after a whole step, to x = `ahead`."""
        return 0.0

    def refresh(self, method: InteriorPoint, afresh: bool = False) -> None:
        """Compute what does not move linearly; `afresh` the model of a fold too."""


class Inequalities(Block):
    """Constraints k ≥ 0 with multipliers h ≥ 0, whose products k·h → weight·μ."""

    k: np.ndarray
    h: np.ndarray
    weight: np.ndarray

    @abstractmethod
    def _moves(self, dx: np.ndarray, a: np.ndarray) -> np.ndarray:
        """dk that goes with dx, where dh = a − D dk."""

    def scale(self, method):
        self.ratio = self.h / self.k  # D

    def corrected(self, mu):
        """The a of dh = a − D dk, the predictor's error allowed for.

        (That of a predictor, which aims at 0, is −h.)
        """
        return (self.weight * mu - self.dk * self.dh) / self.k - self.h

    def right_side(self, aim):
        return self.adjoint(self.h + aim)

    def move(self, dx, d_alpha, aim):
        a = -self.h if aim is None else aim
        self.dk = self._moves(dx, a)
        self.dh = a - self.ratio * self.dk

    def longest(self):
        rates = (self.dk / self.k).min(initial=0.0), (self.dh / self.h).min(initial=0.0)
        fastest = -min(float(rates[0]), float(rates[1]))
        return 1 / fastest if fastest > 0 else np.inf

    def advance(self, t, ahead):
        full = self.adjoint(self.h + self.dh)
        self.k = np.maximum(self.k + t * self.dk, TINY)
        self.h = np.maximum(self.h + t * self.dh, TINY)
        return full


class RoundCones(Block):
    """Round cones k ∈ K with multipliers h ∈ K, in Nesterov–Todd scaling.

    All moves are kept scaled: g = W⁻¹dk and y − g = W dh, where λ∘y is what k∘h has to
    change by.
    """

    k: np.ndarray
    h: np.ndarray
    weight: np.ndarray
    scaling: Scaling

    def corrected(self, mu):
        """λ + y for the corrector: λ∘(λ+y) = weight·μe + g∘(λ+g), g the predictor's."""
        right = jordan_product(self.g, self.scaling.scaled + self.g)
        right[..., 0] += self.weight * mu
        return self.scaling.quotient(right)

    def _note(self, dk: np.ndarray, aim: np.ndarray | None) -> None:
        self.g = self.scaling.inverse(dk)
        self.dual_g = -self.scaling.scaled - self.g
        if aim is not None:
            self.dual_g += aim


# -- one shape that all samples share --------------------------------------------------


class Shared(Block):
    """t ≥ Ω(w) for noise that all samples share."""

    k: np.ndarray
    h: np.ndarray

    def place(self, w, b, margins, distance):
        """t starts beyond Ω(w), inside its constraint."""
        problem, shape, d = self.problem, self.problem.noise.shape, self.d
        size = shape.lipschitz(d) * float(np.linalg.norm(w))
        omega = max(shape.support(w), START_INSIDE * size, LEAST_DISTANCE)
        x = super().place(np.append(w, omega), b, margins, distance)
        # As far beyond Ω(w) as makes t, whose weight is Σα_iρ_i, count for as much as
        # all the rows, which start `distance` inside their bounds; a tenth at most if Ω
        # is smooth, and each facet of other shapes for no more than ten rows.
        c, most = problem.weights, LITTLE
        weight = 0.5 * float(c @ problem.radii) + problem.outside.scale
        total = 0.5 * distance(self.slacks(x, margins)) * float(namespace(c).sum(c))
        if not problem.noise.smooth:
            most = 1 / EPS
            total *= min(2 * shape.degrees(d) / (LITTLE * max(problem.n, 1)), 1.0)
        inside = total / max(weight * omega, TINY)
        self.inside = min(max(inside, LEAST_DISTANCE), most)
        x[d] *= 1 + self.inside
        return x

    def begin(self, method):
        least = EPS * float(method.xp.sum(method.c))
        self._multiply(method.x, max(-float(method.combined[self.d]), least, TINY))
        self._weigh(method.mu)

    @abstractmethod
    def _multiply(self, x: np.ndarray, s: float) -> None:
        """Set k at x and multipliers h, which are to sum to about s = Σα_iρ_i."""

    def _weigh(self, mu: float) -> None:
        """Set the weight of each product in μ, by what it is at the start."""
        self.weight = self.k * self.h / mu

    def stationarity(self, method):
        """½‖w‖² − ⟨d,w⟩ + st + ½dist(d, sU)²."""
        x, combined, d = method.x, method.combined, self.d
        near = self.problem.noise.shape.prox(
            combined[:d], max(-float(combined[d]), 0.0)
        )
        quadratic = 0.5 * float(x[:d] @ x[:d]) + 0.5 * float(near @ near)
        return quadratic - float(combined[: d + 1] @ x[: d + 1])


class SharedCone(RoundCones, Shared):
    """The round cone k = (t, τ∘w)."""

    def adopt(self, problem):
        super().adopt(problem)
        squares = np.broadcast_to(problem.noise.shape.squares, (self.d,))
        self.squares = squares.astype(float)
        self.scales = np.sqrt(self.squares)

    def _image(self, x):
        """B x = (t, τ∘w)."""
        out = np.empty(self.d + 1)
        out[0] = x[self.d]
        np.multiply(self.scales, x[: self.d], out=out[1:])
        return out

    def _multiply(self, x, s):
        """h_0 balances s, h_1 opposes w."""
        k = self.k = self._image(x)
        self.h = s * np.append(1.0, (self.inside - 1) * k[1:] / k[0])

    def _weigh(self, mu):
        self.weight = (self.k @ self.h) / mu

    def adjoint(self, h):
        out = np.zeros(self.size)
        out[: self.d], out[self.d] = self.scales * h[1:], h[0]
        return out

    def scale(self, method):
        self.scaling = Scaling(self._image(method.x), self.h)

    def curvature(self):
        """BᵀW⁻²B, W⁻² = ω(2(Jv)(Jv)ᵀ − J)."""
        d, v, omega = self.d, self.scaling.v, self.scaling.omega
        diagonal, row = np.zeros(self.size), np.zeros((1, self.size))
        diagonal[:d], diagonal[d] = omega * self.squares, -omega
        row[0, :d], row[0, d] = self.scales * v[1:], -v[0]
        row *= (2 * omega) ** 0.5
        return Curvature.of(diagonal, row)

    def right_side(self, aim):
        """Bᵀ(h + W⁻¹y)."""
        return self.adjoint(self.scaling.inverse(aim))

    def move(self, dx, d_alpha, aim):
        self._note(self._image(dx), aim)

    def longest(self):
        scaled, square = self.scaling.scaled, self.scaling.square
        steps = (longest_step(scaled, move, square) for move in (self.g, self.dual_g))
        return min(steps)

    def advance(self, t, ahead):
        dh = self.scaling.inverse(self.dual_g)
        full = self.adjoint(self.h + dh)
        self.h = self.h + t * dh
        return full


class Facets(Inequalities, Shared):
    """Pairs of inequalities k_j ≥ 0, a row for each sign.

    With one scale τ_j per feature t ≥ Ω(w) is

    * under boxes t = Στ_ju_j with u_j + w_j ≥ 0 and u_j − w_j ≥ 0;
    * under cross-polytopes t + τ_jw_j ≥ 0 and t − τ_jw_j ≥ 0.

    All that belongs to a feature alone is eliminated: the u_j and their equations
    h⁺_j + h⁻_j = στ_j, which leave a diagonal and a matrix of rank one in (w,t). So
    Newton's matrix is as large as under ellipsoids, and costs the same.
    """

    def adopt(self, problem):
        super().adopt(problem)
        scales = np.broadcast_to(problem.noise.shape.scales, (self.d,))
        self.noisy = np.flatnonzero(scales > 0)
        self.scales = scales[self.noisy].astype(np.float64)

    def scale(self, method):
        super().scale(method)
        self.sum = self.ratio[0] + self.ratio[1]
        self.difference = self.ratio[0] - self.ratio[1]


class SumFacets(Facets):
    """Boxes: Ω(w) = Στ_j|w_j|.

    With D = h/k, S = D⁺ + D⁻, M = D⁺ − D⁻ and dh = a − D dk,

        du = (a⁺ + a⁻ − M dw − τ dσ)/S,     dσ = (Στ(a⁺+a⁻)/S − ⟨m,dw⟩ − dt)/V,
        m = τM/S,  V = Στ²/S,   curvature diag(4D⁺D⁻/S) + (m,1)(m,1)ᵀ/V .
    """

    def _multiply(self, x, s):
        w = x[self.noisy]
        excess = float(x[self.d]) - float(self.scales @ np.abs(w))
        beyond = max(excess, TINY) / (max(w.size, 1) * self.scales)
        self.k = np.stack([np.maximum(w, 0), np.maximum(-w, 0)]) * 2 + beyond
        # h⁺ + h⁻ = sτ, and the products of both are the same.
        self.h = s * self.scales * self.k[::-1] / (self.k[0] + self.k[1])

    def widen(self, method: InteriorPoint, problem: Problem, places: np.ndarray):
        """Take in more features, all with w_j = 0; returns by how much t grows for it.

        Their products are as large as the mean of those before, and h opposes d_j as
        far as it may.
        """
        before = places[self.noisy]
        product = float((self.weight * method.mu).mean())
        s = float(self.adjoint(self.h)[self.d])
        old = np.stack([self.k, self.h, self.weight])
        self.adopt(problem)
        kept = np.isin(self.noisy, before)
        limit = s * self.scales
        combined = self.rows.combine(method.alpha) + self.rows.folded
        part = 0.5 + 0.5 * combined[self.noisy] / np.maximum(limit, TINY)
        part = np.clip(part, START_INSIDE, 1 - START_INSIDE)
        self.h = limit * np.stack([1 - part, part])
        beyond = 2 * product / np.maximum(limit, TINY)
        self.k = np.stack([beyond, beyond])
        self._weigh(method.mu)
        self.k[:, kept], self.h[:, kept], self.weight[:, kept] = old
        return float(self.scales[~kept] @ beyond[~kept])

    def scale(self, method):
        super().scale(method)
        self.slope = self.scales * self.difference / self.sum  # m
        self.spread = max(float(self.scales @ (self.scales / self.sum)), TINY)  # V

    def adjoint(self, h):
        out = np.zeros(self.size)
        out[self.noisy] = h[0] - h[1]
        total = h[0] + h[1]
        out[self.d] = float(total.sum()) / max(float(self.scales.sum()), TINY)
        return out

    def right_side(self, aim):
        total = aim[0] + aim[1]
        out = self.adjoint(self.h)
        lead = float(self.scales @ (total / self.sum)) / self.spread
        out[self.noisy] += aim[0] - aim[1] - self.difference * total / self.sum
        out[self.noisy] += lead * self.slope
        out[self.d] += lead
        return out

    def curvature(self):
        diagonal, row = np.zeros(self.size), np.zeros((1, self.size))
        diagonal[self.noisy] = 4 * self.ratio[0] * (self.ratio[1] / self.sum)
        row[0, self.noisy], row[0, self.d] = self.slope, 1.0
        row /= self.spread**0.5
        return Curvature.of(diagonal, row)

    def _moves(self, dx, a):
        dw, total = dx[self.noisy], a[0] + a[1]
        rise = float(self.scales @ (total / self.sum)) - float(self.slope @ dw)
        rest = total - self.scales * ((rise - float(dx[self.d])) / self.spread)  # τdσ
        # du ± dw, without the cancellation of the two.
        up = (rest + 2 * self.ratio[1] * dw) / self.sum
        down = (rest - 2 * self.ratio[0] * dw) / self.sum
        return np.stack([up, down])


class MaxFacets(Facets):
    """Cross-polytopes: Ω(w) = max τ_j|w_j|."""

    def _multiply(self, x, s):
        image = self.scales * x[self.noisy]
        t = max(float(x[self.d]), TINY)
        self.k = np.maximum(np.stack([t + image, t - image]), TINY)
        self.h = s / self.k / max(float((1 / self.k).sum()), TINY)

    def adjoint(self, h):
        out = np.zeros(self.size)
        out[self.noisy], out[self.d] = self.scales * (h[0] - h[1]), float(h.sum())
        return out

    def curvature(self):
        """diag(τ²S, ΣS), and what couples w and t: ceᵀ + ecᵀ with c = τM.

        That is ½(c+e)(c+e)ᵀ − ½(c−e)(c−e)ᵀ, in units that make its rows even.
        """
        diagonal, pair = np.zeros(self.size), np.zeros((2, self.size))
        diagonal[self.noisy] = self.scales**2 * self.sum
        diagonal[self.d] = float(self.sum.sum())
        couple = self.scales * self.difference
        size = float(couple @ (couple / (1 + diagonal[self.noisy])))
        unit = max(size, TINY) ** 0.5
        pair[:, self.noisy] = couple / unit
        pair[:, self.d] = 0.5 * unit, -0.5 * unit
        return Curvature(diagonal, pair, np.array([1.0, -1.0]))

    def _moves(self, dx, a):
        image = self.scales * dx[self.noisy]
        return np.stack([dx[self.d] + image, dx[self.d] - image])


# -- sets per sample -------------------------------------------------------------------


class SignedParts(Inequalities):
    """Boxes per sample, with w = p − q for parts k = (p, q) ≥ 0.

    The noise ρ_i⟨e_i,|w|⟩ is linear then: rows (z_i − ρ_ie_i, −z_i − ρ_ie_i, y_i) and a
    plain hinge. ½(‖p‖² + ‖q‖²) keeps p and q from being positive both.
    """

    def adopt(self, problem):
        super().adopt(problem)
        d, rows = self.d, copy(self.rows)
        plain = rows.dense()
        z, ends = plain[:, :d], plain[:, d:]
        widths = problem.noise.sets.cells(slice(None), slice(None))
        moves = problem.radii[:, None] * widths
        rows.table = np.hstack((z - moves, -z - moves, ends))
        box = problem.outside.box(d)
        fold, rest = np.split(rows.folded, [d])
        rows.folded = np.concatenate((fold - box, -fold - box, rest))
        rows.penalty = np.append(np.ones(2 * d), rows.penalty[d:])
        self.rows = rows

    def weights(self, x):
        return x[: self.d] - x[self.d : 2 * self.d]

    def place(self, w, b, margins, distance):
        size = float(np.abs(w).max(initial=0.0))
        inside = max(START_INSIDE * size, LEAST_DISTANCE)
        parts = np.maximum(np.concatenate((w, -w)), 0.0) + inside
        return super().place(parts, b, margins, distance)

    def slacks(self, x, margins):
        return self.problem.targets - self.rows.products(x)

    def begin(self, method):
        """h is what Qx − Σα_ie_i asks for, as far as that is positive.

        Slacks move inside their bounds until they count for as much as the parts:
        without that, tiny slacks cut short the steps that noise asks of large parts.
        """
        self.k = self._moves(method.x)
        asked = self.k - self._moves(method.combined)
        least = max(LITTLE * float(np.abs(asked).mean()), TINY)
        self.h = np.maximum(asked, least)
        inside = float(self.k @ self.h) / max(accurate_sum(method.c), TINY)
        method.multiplier = method.multiplier + inside
        self.weight = self.k * self.h / method.mu

    def stationarity(self, method):
        combined = self._moves(method.combined)
        near = np.maximum(combined, 0.0)
        return 0.5 * float(self.k @ self.k + near @ near) - float(combined @ self.k)

    def curvature(self):
        return Curvature.of(self.filled(self.ratio))

    def adjoint(self, h):
        return self.filled(h)

    def _moves(self, dx, a=None):
        return dx[: 2 * self.d]


@dataclass(frozen=True)
class NoiseModel:
    """Σ c_iκ_i of samples at α_i = c_i as a quadratic, true at w to second order."""

    w: np.ndarray
    value: float
    gradient: np.ndarray
    curvature: Curvature
    rounding: float  # bound on the error of the gradient, which is Σ c_iδ_i
    apart: bool = True  # whether the sets are sums over features: ellipsoids

    @classmethod
    def of(
        cls, folded: SumOfSets, w: np.ndarray, smoothing=0.0, majorised=False
    ) -> NoiseModel:
        """That of Σ c_iρ_iU_i, r_i being √(r_i² + `smoothing`) in its derivatives.

        A `majorised` one has Σ c_iS_i/r_i for its curvature, and is nowhere less than
        the noise: steps of Newton's method may go back and forth over a kink.
        """
        d, value, gradient, rounding = w.size, 0.0, np.zeros(w.size), 0.0
        apart = True
        few = sum(a.shape[0] for _, a in folded.parts) < d
        curvature = Curvature.of(np.zeros(d), dense=not few)
        for bars, a in folded.parts:
            bars.visited()
            for J, part in bars.blocks():
                sizes = part.sizes(w)
                value += float(a[J] @ sizes)
                sizes = (sizes * sizes + smoothing) ** 0.5
                gradient += part.pull(a[J], w, sizes)
                pressure = part.pressure(a[J], sizes)
                apart &= pressure.ndim == 1
                curvature += _spread(pressure)
                if not majorised:
                    lengths = ratio(ratio(a[J], sizes) ** 0.5, sizes)
                    curvature += _squares(part.images(w) * lengths[:, None], few, -1.0)
            relative = bars.pull_rounding * bars.lipschitz(d) + bars.axes_errors()
            rounding += float(a @ relative)
        return cls(w, value, gradient, curvature, rounding, apart)

    def __add__(self, other: NoiseModel) -> NoiseModel:
        """Both, about the point of the other."""
        value, gradient = self.at(other.w)
        return NoiseModel(
            other.w,
            value + other.value,
            gradient + other.gradient,
            self.curvature + other.curvature,
            self.rounding + other.rounding,
            self.apart and other.apart,
        )

    def nearest(self, d: np.ndarray) -> NoiseModel:
        """The model with the points δ_i ∈ U_i nearest to d that follow from those at w.

        With δ_i all tδ_i of ``|t| ≤ 1`` are in U_i, and of ellipsoids all that shrink
        each feature by a number of its own, for S_iu/r_i(w) is where r_i(u) ≤ r_i(w).
        """
        gradient = self.gradient
        if self.apart:
            widths = np.abs(gradient)
            return replace(self, gradient=np.clip(d, -widths, widths))
        t = float(d @ gradient) / max(float(gradient @ gradient), TINY)
        return replace(self, gradient=min(max(t, -1.0), 1.0) * gradient)

    def turned(self, d: np.ndarray) -> np.ndarray:
        """About the w whose Σ c_iδ_i lies along d, by one step from that of the model.

        The step is that of `SumOfEllipsoids.gauge`, for ellipsoids.
        """
        if not self.apart:
            return self.w
        some = self.gradient != 0
        return np.divide(d * self.w, self.gradient, out=self.w.copy(), where=some)

    def fixed(self, fold: Folded) -> Folded:
        """Samples folded with their δ_i at the point of the model: Σ c_i(z_i − δ_i)."""
        moved, size = fold.d - self.gradient, float(np.linalg.norm(self.gradient))
        error = fold.rounding + self.rounding + gamma(2) * (fold.mass + size)
        return replace(fold, d=moved, rounding=error, mass=fold.mass + size)

    def at(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient."""
        step = w - self.w
        bent = self.curvature.product(step)
        value = self.value + float((self.gradient + 0.5 * bent) @ step)
        return value, self.gradient + bent


class OwnSets(Block):
    """Smooth sets per sample, κ_i(w) = ρ_i‖F_iᵀw‖.

    `noise` are κ_i(w), `attained` is Σα_i⟨δ_i,w⟩ for the block's δ_i ∈ ρ_iU_i, and
    `pulled` what these and folded samples add to Σα_iz_i beyond `combined`. `model` is
    that of folded samples whose noise is a quadratic.
    """

    model: NoiseModel | None
    noise: np.ndarray
    attained: float
    pulled: np.ndarray

    @abstractmethod
    def refresh(self, method: InteriorPoint, afresh: bool = False) -> None:
        """Set `noise`, `attained` and `pulled` at the current point."""

    def begin(self, method):
        self.refresh(method, afresh=True)

    def value(self, w):
        return 0.0 if self.model is None else self.model.at(w)[0]

    def _of_model(self, w):
        """What the model adds to Σα_i(z_i − δ_i)."""
        return np.zeros(self.d) if self.model is None else -self.model.at(w)[1]

    def stationarity(self, method):
        """½‖w − v‖² + Σα_i(κ_i(w) − ⟨δ_i,w⟩), v = Σα_i(z_i − δ_i)."""
        off = method.w - method.combined[: self.d] - self.pulled
        spare = float(method.alpha @ self.noise) - self.attained
        return 0.5 * float(off @ off) + max(spare, 0.0)


def _spread(spread: np.ndarray) -> Curvature:
    """diag(`spread`), or that matrix."""
    if spread.ndim == 1:
        return Curvature.of(spread)
    return Curvature.of(np.zeros(len(spread)), full=spread)


def _squares(rows: np.ndarray, few: bool, sign: float = 1.0) -> Curvature:
    """±Σ r_kr_kᵀ, kept as rows where these are few."""
    nothing = np.zeros(rows.shape[1])
    if few:
        return Curvature.of(nothing, rows, sign)
    return Curvature.of(nothing, full=sign * host(rows.T @ rows))


class _RowsAndSets(NamedTuple):
    """Some rows, and their sets; None where none of them moves, as at quantile ½."""

    rows: slice
    Z: np.ndarray
    bars: SmoothBars | None
    radii: np.ndarray


class SmoothedSets(OwnSets):
    """Slacks that are convex instead of affine: rows that turn with w.

    g_i = z_i − ∇κ_i(w), and the noise adds Σα_i∇²κ_i(w) to Newton's matrix.

    r_i is smoothed to √(r_i² + ε²) with ε² = μ/2. The dual point has δ_i = ∇κ_i(w),
    smoothed likewise, which lies in ρ_iU_i. Where the optimum lies on a kink, ε falls
    faster than Newton's method can follow, and steps make no more progress.

    A step reads the rows and their errors three times, piece by piece: at x, along the
    predictor and along the corrector.
    """

    def adopt(self, problem):
        super().adopt(problem)
        xp = namespace(problem.radii)
        Z = by_columns(self.rows.dense())  # so scaling all rows takes half the time
        self.pieces = []
        for J, bars in problem.noise.ellipsoids.blocks():
            radii = problem.radii[J]
            own = bars.by_columns() if bool(xp.any(radii > 0)) else None
            self.pieces.append(_RowsAndSets(J, Z[J, :], own, radii))

    def slacks(self, x, margins):
        noise = self.problem.noise.supports(self.weights(x))
        return super().slacks(x, margins) + noise

    def true_slack(self, slack):
        return slack + (self.noise - self.problem.radii * self.sizes)

    def refresh(self, method, afresh=False):
        """Visit the rows at x for the present ε: the gap, and sums for a step."""
        outside, tilted = self.problem.outside, self.problem.m is not None
        if afresh or tilted:  # most of the noise of the quantile loss is folded
            self.model = self.others
            if outside.parts:
                smoothing = 0.5 * method.mu if tilted else 0.0
                model = NoiseModel.of(outside, method.w, smoothing)
                self.model = model if self.others is None else self.others + model
        problem, xp, d, c = self.problem, method.xp, self.d, method.c
        self.w, n, size, alpha = method.w, problem.n, self.size, method.alpha
        theta, per_mu = method.hinge_curvature()
        theta, push, mu = c * theta, alpha * problem.radii, method.mu
        self.sizes, supports, products = (fill(c, n, value) for value in (1.0, 0, 0))
        few = 2 * n < d and not is_foreign(c)
        whole = Curvature.of(self.rows.penalty, dense=not few)
        sums = np.zeros((3, size))
        problem.rows.passes.add(n)
        for J, Z, bars, radii in self.pieces:
            products[J] = Z @ like(method.x, Z)
            rows = xp.asarray(Z, copy=True)
            if bars is not None:
                supports[J] = bars.supports(self.w)
                self.sizes[J] = sizes = xp.sqrt(supports[J] ** 2 + 0.5 * mu)
                images = bars.images(self.w)
                rows[:, :d] -= images * (radii / sizes)[:, None]
                images *= (xp.sqrt(push[J] / sizes) / sizes)[:, None]
                whole += _squares(images, few, -1.0)
                whole += _spread(bars.pressure(push[J], sizes))
            slack = problem.targets[J] - products[J] + radii * self.sizes[J]
            weighed = alpha[J], theta[J] * slack, theta[J] * per_mu[J]
            sums += host(xp.stack(weighed) @ rows)
            rows *= xp.sqrt(theta[J])[:, None]
            whole += _squares(rows, few)
        self.sums, self.pulled = sums[1:], self._of_model(self.w)
        self.whole = whole if self.model is None else whole + self.model.curvature
        self.noise = problem.radii * supports
        self.attained = float(alpha @ (self.noise * supports / self.sizes))
        method.slack = problem.targets - products + problem.radii * self.sizes
        method.combined = sums[0] + self.rows.folded

    def first_right(self):
        return self.filled(self.pulled)

    def system(self, theta, vectors):
        """As gathered at x, for the same θ and vectors."""
        return self.whole.factor(self.rows.extras.shape[1]), self.sums

    def longest(self):
        """Never a whole step, after which μ, and with it ε, might be 0."""
        return 1.0

    def along(self, dx, weigh):
        total = np.zeros(self.size)
        self.problem.rows.passes.add(self.problem.n)
        for piece in self.pieces:
            J, Z, bars, radii = piece
            a = weigh(J, self._change(piece, dx))
            total += host(Z.T @ a)
            if bars is not None:
                total[: self.d] -= bars.pull(a * radii, self.w, self.sizes[J])
        return total

    def products(self, dx):
        change = 0.0 * self.sizes
        self.problem.rows.passes.add(self.problem.n)
        for piece in self.pieces:
            change[piece.rows] = self._change(piece, dx)
        return change

    def _change(self, piece: _RowsAndSets, dx: np.ndarray) -> np.ndarray:
        """⟨g_i,dx⟩ of the rows of a piece."""
        J, Z, bars, radii = piece
        change = Z @ like(dx, Z)
        if bars is None:
            return change
        return change - radii * bars.along(self.w, dx[: self.d], self.sizes[J])


def _lengths(images: np.ndarray) -> np.ndarray:
    """The length of each row."""
    return np.sqrt(dots(images, images))


class ConeSets(RoundCones, OwnSets):
    """A cone k_i = (t_i, F_iᵀw) for every sample, u_i = m_i − ⟨w,z_i⟩ − y_ib + ρ_it_i.

    The multiplier h_i ∈ K of a cone has h_i0 = α_iρ_i, so −F_ih_i1 is α_i times a point
    δ_i of ρ_iU_i: every iterate is a dual point, kinks included (w* = 0, or samples
    that w* does not see).

    Of Newton's matrix only w and b are left: dt_i follows from them. With the scaling
    of `algebra.Scaling`, p_i = F_iv_1 and dh = r − W⁻²dk, rows are g_i = z_i −
    (2ρ_iv_0/q_i) p_i, their compliance is ρ_i²/(ω_iq_i), their shift ρ_ir_i0/(ω_iq_i),
    and

        Σ ω_iF_iF_iᵀ − Σ (2ω_i/q_i) p_ip_iᵀ   and   Σ F_i(r_i1 + (2v_0r_i0/q_i) v_1)

    are added to the matrix and to the right-hand side.

    Cones of rows that move, `own`, come first. Folded samples follow, whose noise
    Σ a_iκ_i(w) lies outside the hinges: they have a_i for α_iρ_i, and no row.
    """

    def adopt(self, problem):
        super().adopt(problem)
        self.model, bars = self.others, problem.noise.ellipsoids
        used = problem.radii * problem.weights * bars.lipschitz(self.d) > 0
        self.own = np.flatnonzero(used)
        self.radii = problem.radii[self.own]
        parts, folded = [bars.take(self.own)], []
        for bars, a in problem.outside.parts:
            J = np.flatnonzero(a * bars.lipschitz(self.d) > 0)
            parts.append(bars.take(J))
            folded.append(a[J])
        self.folded, self.sets = np.concatenate([*folded, self.radii[:0]]), parts
        self.factors = np.concatenate([part.factors(np.ones(part.n)) for part in parts])

    def place(self, w, b, margins, distance):
        bars, length = self.sets[0], float(np.linalg.norm(w))
        image = images_of(self.factors[: self.own.size], w)
        least = START_INSIDE * length * bars.lipschitz(self.d)
        t = (1 + LITTLE) * np.maximum(_lengths(image), least)
        self.k = np.column_stack((np.maximum(t, LEAST_DISTANCE), image))
        return super().place(w, b, margins, distance)

    def shrink(self, keep, problem):
        kept = keep[self.own]
        for name in ("k", "h", "weight"):
            setattr(self, name, getattr(self, name)[: kept.size][kept])
        super().shrink(keep, problem)

    def slacks(self, x, margins):
        return super().slacks(x, margins) + self._raised(self.k[: self.own.size, 0])

    def _raised(self, t):
        """What t_i of rows that move add to the slacks."""
        out = np.zeros(self.problem.n)
        out[self.own] = self.radii * t
        return out

    def begin(self, method):
        t, image = self.k[:, 0], self.k[:, 1:]
        h0 = method.alpha[self.own] * self.radii
        self.h = np.column_stack((h0, image * (-(1 - LITTLE) * h0 / t)[:, None]))
        self.weight = dots(self.k, self.h) / method.mu
        length = float(np.linalg.norm(method.w))
        self.unit = LITTLE * max(length, LEAST_DISTANCE) / method.mu
        super().begin(method)

    def _centre_folded(self, method):
        """Add the cones of folded samples, centred: k∘h = 2a·inside·(1, 0), h_0 = a.

        `inside` falls with μ from a tenth of the largest r_i(w) that a w as long as
        the first one can have.
        """
        count, a = self.own.size, self.folded
        image = images_of(self.factors[count:], method.w)
        widths = [part.lipschitz(self.d) for part in self.sets[1:]]
        inside = self.unit * method.mu * np.concatenate([*widths, a[:0]])
        t = inside + np.hypot(inside, _lengths(image))
        h = np.column_stack((a, image * (-a / t)[:, None]))
        self.k = np.concatenate((self.k[:count], np.column_stack((t, image))))
        self.h = np.concatenate((self.h[:count], h))
        self.weight = np.append(self.weight[:count], 2 * a * inside / method.mu)

    def refresh(self, method, afresh=False):
        """h_0 stays αρ to the last digit, and k_1 the image of w."""
        if afresh:
            self._centre_folded(method)
        count = self.own.size
        image = images_of(self.factors, method.w)
        self.k = np.column_stack((self.k[:, 0], image))
        h0 = np.append(method.alpha[self.own] * self.radii, self.folded)
        self.h = np.column_stack((h0, self.h[:, 1:]))
        lengths = _lengths(image)
        self.noise = self._raised(lengths[:count])
        self.outside = float(self.folded @ lengths[count:])
        self.attained = -float(np.vdot(self.h[:, 1:], image)) - self.outside
        self.pulled = self._lifted(self.h[:, 1:]) + self._of_model(method.w)

    def value(self, w):
        return super().value(w) + self.outside

    def true_slack(self, slack):
        return slack + (self.noise - self._raised(self.k[: self.own.size, 0]))

    def _lifted(self, parts):
        """Σ F_ip_i."""
        return lifted(self.factors, parts).sum(axis=0)

    @property
    def turned(self):
        return self._turned

    def scale(self, method):
        self.scaling = Scaling(self.k, self.h)
        v0, self.v1 = self.scaling.v[:, 0], self.scaling.v[:, 1:]
        omega, own = self.scaling.omega, self.own.size
        q = 2 * v0**2 - 1
        self.first, self.lean = omega * q, 2 * v0 / q
        self.compliance = self._raised(self.radii / self.first[:own])
        self.shift = self._raised(-self.h[:own, 0] / self.first[:own])
        self.total = np.zeros_like(self.h)  # h + r
        p = lifted(self.factors, self.v1)
        self._turned = copy(self.rows)
        self._turned.table = np.array(self.rows.dense())
        moved = (self.radii * self.lean[:own])[:, None] * p[:own]
        self._turned.table[self.own, : self.d] -= moved
        self.p = p * np.sqrt(2 * omega / q)[:, None]

    def curvature(self):
        bent, omega = _squares(self.p, True, -1.0), self.scaling.omega
        ends = np.cumsum([part.n for part in self.sets])
        for part, weights in zip(self.sets, np.split(omega, ends[:-1]), strict=True):
            bent += _spread(part.pressure(weights, np.ones(part.n)))
        return bent if self.model is None else bent + self.model.curvature

    def _pushed(self, r):
        """Σ F_i(r_i1 + (2v_0r_i0/q_i) v_1)."""
        return self._lifted(r[:, 1:] + (self.lean * r[:, 0])[:, None] * self.v1)

    def first_right(self):
        return self.filled(self.pulled - self._pushed(self.h))

    def right_side(self, aim):
        self.total = self.scaling.inverse(aim)
        own = self.own.size
        self.shift = self.shift + self._raised(self.total[:own, 0] / self.first[:own])
        return self.filled(self._pushed(self.total))

    def move(self, dx, d_alpha, aim):
        image = images_of(self.factors, dx[: self.d])
        dh0 = np.append(self.radii * d_alpha[self.own], 0.0 * self.folded)
        dt = (self.total[:, 0] - self.h[:, 0] - dh0) / self.first
        dt += self.lean * dots(self.v1, image)
        self.dk = np.column_stack((dt, image))
        self._note(self.dk, aim)
        # dh = r − W⁻²dk, its first entry to the last digit: h may be next to an end.
        twice = 2 * (self.scaling.v[:, 0] * dt - dots(self.v1, image))
        self.dh = self.total - self.h
        self.dh[:, 0] = dh0
        self.dh[:, 1:] += self.scaling.omega[:, None] * (
            twice[:, None] * self.v1 - image
        )

    def longest(self):
        return min(longest_step(self.k, self.dk), longest_step(self.h, self.dh))

    def advance(self, t, ahead):
        full = self._lifted(self.h[:, 1:] + self.dh[:, 1:])
        self.k, self.h = self.k + t * self.dk, self.h + t * self.dh
        return self.filled(full + self._of_model(ahead[: self.d]))


SmoothedSets.successor = ConeSets
