"""Where the optimum must lie, given any primal point, any feasible dual one, their gap.

Let (w,b) be a primal point, α a feasible dual one, G = P(w,b) − D(α), w_α = w(α), and
for s = Σα_iρ_i > 0 let v = (d − w_α)/s, a subgradient of Ω at w_α. P is 1-strongly
convex and exactly L_α(u) − D(α) = ½‖u−w_α‖² + s(Ω(u) − ⟨v,u⟩) for every u, so (theory
§4)

    G ≥ ½‖w−w*‖² + ½‖w*−w_α‖² + s(Ω(w*) − ⟨v,w*⟩).

* `gap_ball` keeps the first term: ‖w*−w‖ ≤ √(2G). The paper's region (§4.1).
* `midpoint_ball` keeps the first two; by the parallelogram law w* lies in the ball
  about c = (w+w_α)/2 with r² = G − ¼‖w−w_α‖²: a ball inside the former, r ≤ √G (§4.2).
* `curved_region` keeps all three: ‖w*−c‖² + s(Ω(w*) − ⟨v,w*⟩) ≤ r² (§4.3). The noise
  itself confines w*: the larger s, the narrower the region. For Ω = ‖τ∘·‖ the last
  bracket is at least a quadratic form, (‖τ∘u‖² − ⟨v,u⟩²) / 2Ω_max, which makes
  the region an ellipsoid (§4.3').

A penalised intercept is one more coordinate √λ_b b that Ω does not see; a free one
leaves all of this untouched, since L_α does not depend on b when Σα_i y_i = 0 (§4.4).

Rounding. G is inflated by the error bound of both values, r by that of w_α; v is
scaled into U, and r² enlarged by max‖w‖ times the errors of sv and s. So each region
contains w* in exact arithmetic, for the data as stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from wideberth.problem import Pair, Problem
from wideberth.problem.arrays import host
from wideberth.problem.changes import Presolved
from wideberth.problem.rows import gamma


@dataclass(frozen=True)
class NoiseCurvature:
    """The noise term s(Ω(w) − ⟨v,w⟩) of a region."""

    s: float
    v: np.ndarray
    tilt: np.ndarray  # Zv


@dataclass(frozen=True)
class Region:
    """‖(w,√λ_b b) − center‖² [+ s(Ω(w) − ⟨v,w⟩)] ≤ radius², true at the optimum."""

    w: np.ndarray
    b: float
    margins: np.ndarray  # Z times the centre's w
    radius: float
    gap: float  # inflated by its rounding
    norm_bound: float  # on ‖w‖ at every point of the region, and at those it is made of
    curvature: NoiseCurvature | None = None
    #: w_α and Zw_α, about which the ellipsoid is built (curved regions only).
    anchor: tuple[np.ndarray, np.ndarray] | None = None

    def restored(self, units: Presolved) -> Region:
        """The same region in the user's units."""
        sigma, stretch, kappa = units.sigma, units.stretch, units.kappa
        curvature, anchor = self.curvature, self.anchor
        if curvature is not None:  # s and Zv scale like α‖x‖ and like ‖x‖
            curvature = NoiseCurvature(
                units.sample_weight(curvature.s) * sigma / stretch,
                stretch * curvature.v,
                stretch * sigma * curvature.tilt,
            )
        return replace(
            self,
            w=units.weights(self.w),
            radius=self.radius * kappa / sigma,
            gap=units.value(self.gap),
            norm_bound=self.norm_bound * kappa / sigma,
            curvature=curvature,
            anchor=anchor and (units.weights(anchor[0]), kappa * anchor[1]),
        )


def gap_ball(problem: Problem, pair: Pair) -> Region:
    """Ball about the primal point (theory §4.1)."""
    point, gap = pair.point, pair.certificate.bound
    radius = np.sqrt(2 * gap) * (1 + gamma(4))
    norm_bound = float(np.linalg.norm(point.w) + radius)
    return Region(point.w, point.b, point.margins, float(radius), gap, norm_bound)


def midpoint_radius(problem: Problem, pair: Pair) -> float:
    """Radius of the ball about the midpoint of w and w(α) (theory §4.2)."""
    point, dual, gap = pair.point, pair.dual, pair.certificate.bound
    apart = float(np.linalg.norm(point.w - dual.w))
    if problem.intercept:
        apart = float(np.hypot(apart, np.sqrt(problem.intercept) * (point.b - dual.b)))
    apart *= 1 - gamma(problem.rows.d + 8)
    apart = max(apart - dual.center_rounding, 0.0)
    half = apart / 2
    radius = np.sqrt(max(gap - half * half, 0.0)) * (1 + gamma(8))
    radius += dual.center_rounding  # twice what the error of w_α moves the midpoint by
    return float(radius)


def scaled_ball(problem: Problem, pair: Pair) -> Region:
    """Ball about a multiple fw of the primal point, whose margins are known (§4.2).

    With c = (w + w_α)/2 and r of the midpoint ball, f the best multiple for c,
    ‖w* − fw‖ ≤ r + ‖c − fw‖. Near the optimum, and along a path in C, w_α is nearly a
    multiple of w, and this ball hardly larger than that one. No row is read for it.
    """
    point, w, w_alpha = pair.point, host(pair.point.w), host(pair.dual.w)
    square = float(w @ w)
    factor = 0.5 + 0.5 * float(w @ w_alpha) / square if square > 0 else 1.0
    factor = max(factor, 0.0)  # robust margins scale with factors that are not negative
    offset = float(np.linalg.norm(0.5 * (w + w_alpha) - factor * w))
    radius = (midpoint_radius(problem, pair) + offset) * (1 + gamma(problem.rows.d + 8))
    longest = max(1.0, factor) * square**0.5 + float(np.linalg.norm(w_alpha))
    return Region(
        factor * w,
        0.5 * (point.b + pair.dual.b),
        factor * point.margins,
        radius,
        pair.certificate.bound,
        longest + radius,
    )


def midpoint_ball(problem: Problem, pair: Pair) -> Region:
    """Ball about the midpoint of w and w(α) (theory §4.2)."""
    point, dual, radius = pair.point, pair.dual, midpoint_radius(problem, pair)
    same = point.w is dual.w or np.array_equal(point.w, dual.w)
    anchor_margins = point.margins if same else problem.rows.margins(dual.w)
    norms = np.linalg.norm(point.w), np.linalg.norm(dual.w)
    return Region(
        point.w if same else 0.5 * (point.w + dual.w),
        0.5 * (point.b + dual.b) if problem.intercept else point.b,
        point.margins if same else 0.5 * (point.margins + anchor_margins),
        radius,
        pair.certificate.bound,
        float(max(norms) + radius),
        anchor=(dual.w, anchor_margins),
    )


def curved_region(problem: Problem, pair: Pair) -> Region:
    """The midpoint ball narrowed by the noise term (theory §4.3); the ball if s = 0."""
    ball, dual = midpoint_ball(problem, pair), pair.dual
    s = dual.s
    if s <= 0 or not np.isfinite(1 / s):
        return ball
    shape = problem.noise.shape
    lipschitz = shape.lipschitz(problem.rows.d)
    norm = float(np.linalg.norm(dual.w))
    parallel = problem.noise.isotropic and norm > 0
    v = dual.w / norm if parallel else (dual.d - dual.w) / s
    size = shape.dual_norm(v) * (1 + gamma(4 * problem.rows.d + 8))
    if not np.isfinite(size):
        return ball
    v = v / max(size, 1.0)
    if parallel and ball.anchor is not None:  # v is a multiple of w_α: no pass
        tilt = ball.anchor[1] / (norm * max(size, 1.0))
    else:
        tilt = problem.rows.margins(v)
    # s(Ω(w) − ⟨v,w⟩) is off by ‖w‖ times that of sv = d − w_α, of s and of scaling v.
    error = 2 * dual.center_rounding + s * max(size - 1.0, 0.0) * lipschitz
    square = ball.radius * ball.radius + error * ball.norm_bound
    radius = float(np.sqrt(square) * (1 + gamma(8)))
    return replace(
        ball,
        radius=radius,
        norm_bound=ball.norm_bound + radius - ball.radius,
        curvature=NoiseCurvature(s, v, tilt),
    )


REGIONS = {"gap": gap_ball, "midpoint": midpoint_ball, "ellipsoid": curved_region}


def build_region(kind: str, problem: Problem, pair: Pair) -> Region:
    """Build the region called `kind`: "gap", "midpoint" or "ellipsoid" (strongest)."""
    if kind not in REGIONS:
        raise ValueError(
            f"region={kind!r} is not known; choose one of {sorted(REGIONS)}."
        )
    return REGIONS[kind](problem, pair)
