"""Tests: bounds on the robust margin ψ_i(w*) of every sample over a region (theory §5).

With q_i = z_i − ρ_i p for any p ∈ U, ψ_i(w) = ⟨w,q_i⟩ − ρ_i(Ω(w) − ⟨p,w⟩) ≤ ⟨w,q_i⟩, so
each choice of p gives an upper bound. The tests differ in p and in how they bound the
bracket:

* `separable` (the paper): margin and noise apart.
* `tilted` (every shape): p = v, where the region itself bounds h = Ω(w) − ⟨v,w⟩ ≥ 0.
  Below, trading h against distance in ‖w−c‖² + sh ≤ r² gives
  ⟨c,q⟩ − t‖q‖ − ρ(r²−t²)/s with t = min(r, s‖q‖/2ρ): no loss at all for small ρ.
* `ellipsoid` (ℓ2, per-feature): p = v over the ellipsoid (u−g)ᵀA(u−g) ≤ r'², u = w −
  w_α, A = I + κ(diag τ² − vvᵀ), κ = s/2Ω_max; A⁻¹ by Sherman–Morrison.

All return bounds without a free intercept and with a penalised one.

Rounding. Each bound is a handful of operations on ⟨c,z_i⟩, ‖z_i‖ and ρ_i, whose errors
are at most γ_{d+4} of ‖c‖‖z_i‖ and ‖z_i‖. Squares under a root are enlarged by
γ_{4d+64}(‖z_i‖ + ρ_i‖v‖)² before it is taken (they may cancel), and every bound is
moved outwards by γ_{4d+64}·W·(‖z_i‖ + ρ_iκ_Ω), W = `norm_bound`, plus the like for b:
more than the sum of all errors, so a bound holds in exact arithmetic for the data as
stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from wideberth.noise.sets import Noise, same_for_all
from wideberth.problem import Problem
from wideberth.problem.arrays import at_least, namespace
from wideberth.problem.limits import TINY
from wideberth.problem.rows import gamma
from wideberth.screening.regions import NoiseCurvature, Region

Bounds = tuple[np.ndarray, np.ndarray]
RowIndex = slice | np.ndarray
#: A test prepared for a problem and a region: selected rows → bounds on their margins.
Test = Callable[[RowIndex], Bounds]


@dataclass(frozen=True)
class RowTerms:
    """What the tests need to know of the samples under test, and of the region."""

    margins: np.ndarray  # ⟨c,z_i⟩ + y_i b_c (b only where penalised)
    plain: np.ndarray  # ⟨c,z_i⟩
    squares: np.ndarray  # ‖z_i‖² + 1/λ_b
    noise: Noise
    extra: float  # 1/λ_b, or 0
    slack: np.ndarray  # outward move of every bound
    root_slack: np.ndarray  # enlargement of squares under a root

    @property
    def radii(self) -> np.ndarray | np.float64:
        """ρ_i; one number where it is the same for all."""
        radii = self.noise.radii
        return radii[0] if same_for_all(radii) else radii

    @classmethod
    def of(cls, problem: Problem, region: Region, rows) -> RowTerms:
        """Gather the samples `rows` (a slice or indices) of a problem."""
        norms, noise = problem.rows.norms()[rows], problem.noise.take(rows)
        plain = region.margins[rows]
        margins, extra, b_slack = plain, 0.0, 0.0
        if problem.intercept:
            extra = 1 / problem.intercept
            margins = plain + problem.y[rows] * region.b
            b_slack = abs(region.b) + region.radius * extra**0.5
        g = gamma(4 * problem.rows.d + 64)
        size = norms + noise.lipschitz(problem.rows.d)
        return cls(
            margins,
            plain,
            norms * norms + extra,
            noise,
            extra,
            g * (region.norm_bound * size + b_slack)
            + region.norm_bound * problem.axes_error(rows),
            g * (size * size + extra),
        )


def separable(problem: Problem, region: Region) -> Test:
    """Margin and noise bounded apart: the paper's Lemma, for every shape."""

    def bounds(rows: RowIndex) -> Bounds:
        terms = RowTerms.of(problem, region, rows)
        xp = namespace(terms.squares)  # chunks bring arrays of any library
        swing = region.radius * xp.sqrt(terms.squares) + terms.slack
        kappa = terms.noise.supports(region.w)
        spread = region.radius * terms.noise.lipschitz(problem.rows.d)
        return (
            terms.margins - swing - (kappa + spread),
            terms.margins + swing - at_least(0.0, kappa - spread),
        )

    return bounds


def tilted(problem: Problem, region: Region) -> Test:
    """Noise term bounded by the region itself, for every shape."""
    curvature = region.curvature
    if curvature is None:
        return separable(problem, region)
    v, s, r = curvature.v, curvature.s, np.float64(region.radius)
    v_square, v_center = float(v @ v), float(v @ region.w)

    def bounds(rows: RowIndex) -> Bounds:
        terms = RowTerms.of(problem, region, rows)
        rho = terms.radii
        inside = terms.squares - 2 * rho * curvature.tilt[rows] + rho * rho * v_square
        length = np.sqrt(np.maximum(inside + terms.root_slack, 0.0))
        level = terms.margins - rho * v_center
        # t = min(r, s‖q‖/2ρ), written so that ρ = 0 gives t = r.
        t = r * np.minimum(1.0, s * length / np.maximum(2 * rho * r, TINY))
        lower = level - t * length - rho * ((r - t) * (r + t) / s)
        return lower - terms.slack, level + r * length + terms.slack

    return bounds


def ellipsoid(problem: Problem, region: Region) -> Test:
    """Noise term as a quadratic form: ℓ2 and per-feature noise."""
    if region.curvature is None:
        return separable(problem, region)
    shape = _QuadraticRegion.of(problem, region, region.curvature)
    penalty = region.radius * region.radius / region.curvature.s

    def bounds(rows: RowIndex) -> Bounds:
        terms = RowTerms.of(problem, region, rows)
        rho, cross = terms.radii, shape.cross[rows]
        inside = cross * (shape.gain * cross - (2 * shape.boost) * rho)
        inside += shape.squares[rows] + rho * rho * shape.v_square
        inside += terms.extra + terms.root_slack
        swing = shape.radius * np.sqrt(np.maximum(inside, 0.0))
        swing += terms.slack
        level = shape.margins[rows] - rho * shape.v_center
        if terms.extra:
            level += terms.margins - terms.plain
        return level - swing - rho * penalty, level + swing

    return bounds


@dataclass(frozen=True)
class _QuadraticRegion:
    """The ellipsoid of a curved region: e + {A ≤ r'²}, with Z applied where needed.

    With B = diag(1 + κτ²) and v: A⁻¹ = B⁻¹ + gain·(B⁻¹v)(B⁻¹v)ᵀ, gain = κ/(1−κvᵀB⁻¹v).
    """

    radius: float
    margins: np.ndarray  # Ze
    v_center: float  # ⟨v,e⟩
    cross: np.ndarray  # ZB⁻¹v
    gain: float
    boost: float  # A⁻¹v = boost·B⁻¹v
    v_square: float  # vᵀA⁻¹v
    squares: np.ndarray  # ‖z_i‖² in the metric B⁻¹

    @classmethod
    def of(
        cls, problem: Problem, region: Region, curvature: NoiseCurvature
    ) -> _QuadraticRegion:
        noise, v, d = problem.noise.shape, curvature.v, problem.rows.d
        tau_squares = np.broadcast_to(noise.squares, (d,))
        scales = np.sqrt(tau_squares)
        largest = noise.support(region.w) + region.radius * noise.lipschitz(d)
        kappa = curvature.s / (2 * largest * (1 + gamma(d + 8))) if largest > 0 else 0.0
        diagonal = 1 + kappa * tau_squares
        u = np.divide(v, scales, out=np.zeros(d), where=scales > 0)
        # 1 − κvᵀB⁻¹v, as a sum of non-negative terms.
        rest = float(np.sum(u * u / diagonal)) + max(1 - float(u @ u), 0.0)
        reduced = v / diagonal
        if noise.isotropic:  # B is a multiple of the identity: no pass
            cross = curvature.tilt / diagonal[0]
            squares = problem.rows.norms() ** 2 / diagonal[0]
        else:
            cross = problem.rows.margins(reduced)
            squares = problem.rows.weighted_squares(1 / diagonal)
        assert region.anchor is not None
        w_alpha, margins = region.anchor
        center, offset = w_alpha, region.w - w_alpha
        if np.any(offset):
            moved = offset / diagonal + kappa / rest * reduced * float(reduced @ offset)
            center = w_alpha + moved
            margins = problem.rows.margins(center)
        # (diag τ² − vvᵀ)w_α = 0 up to rounding; what is left widens the ellipsoid.
        image = tau_squares * w_alpha
        left = np.linalg.norm(image - v * float(v @ w_alpha))
        left += gamma(4 * d + 16) * (np.linalg.norm(image) + np.linalg.norm(w_alpha))
        spread = 2 * region.radius + float(np.linalg.norm(offset))
        radius = np.sqrt(
            region.radius * region.radius + 2 * kappa * float(left) * spread
        )
        return cls(
            float(radius),
            margins,
            float(v @ center),
            cross,
            kappa / rest,
            1 / rest,
            float(v @ reduced) / rest,
            squares,
        )


def tangent(problem: Problem, region: Region) -> Test:
    """ψ_i between its tangent plane at the centre and a paraboloid below it.

    For sets per sample: ψ_i is concave, and κ_i at most quadratic (theory §8). Where w
    is next to a kink of κ_i the separable test is the better one below.
    """
    apart, r = separable(problem, region), region.radius

    def bounds(rows: RowIndex) -> Bounds:
        terms = RowTerms.of(problem, region, rows)
        lower, upper = apart(rows)
        z = problem.rows.dense(rows) * problem.y[rows, None]
        noise = terms.noise.tangents(z, region.w)
        level, square = terms.margins - noise.support, terms.extra
        above = r * np.sqrt(noise.rise**2 + square + terms.root_slack)
        below = r * np.sqrt(noise.fall**2 + square + terms.root_slack)
        low = level - below - r * r * noise.bend - terms.slack
        high = level + above + terms.slack
        return np.fmax(lower, low), np.fmin(upper, high)

    return bounds


TESTS: dict[str, Callable[[Problem, Region], Test]] = {
    "separable": separable,
    "tangent": tangent,
    "tilted": tilted,
    "ellipsoid": ellipsoid,
}


def quick_test(problem: Problem, kind: str) -> str:
    """The name of the one test to take where time counts."""
    if not problem.noise.proportional:
        return "tangent"
    if kind == "ellipsoid":
        return "ellipsoid" if problem.noise.smooth else "tilted"
    return "separable"


def nameable_tests(problem: Problem, kind: str) -> list[str]:
    """All tests that may be asked for by name."""
    if not problem.noise.proportional:
        return ["separable", "tangent"]
    names = {"separable", quick_test(problem, kind)}
    names |= {"tilted"} if kind == "ellipsoid" else set()
    return sorted(names)
