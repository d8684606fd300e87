"""Each allowance for rounding is needed, and enough.

Bounds on rounding are pessimistic, and a missing one hides behind the others. So each is
tested where nothing else can cover for it: against exact rationals (`fractions`) on
numbers made for it, in the worst order of summation that it allows, or, where one part
of the package hands its error to the next, by a value that is off by just as much as it
says it may be.
"""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mpf

from problems import make_problem
from torture_oracle import support
from wideberth import solve
from wideberth.noise import (
    L1,
    L2,
    Covariances,
    Ellipsoid,
    Ellipsoids,
    Linf,
    SumOfEllipsoids,
)
from wideberth.noise.error_bars import smooth_tangents
from wideberth.noise.sets import Noise
from wideberth.noise.shapes import ScaledShape
from wideberth.problem import Folded, Pair, Problem
from wideberth.problem.certificate import Certificate
from wideberth.problem.limits import BLOCK_ROWS
from wideberth.problem.rounding import (
    DualSums,
    accurate_sum,
    chain,
    slack_rounding,
    sum_of_products,
    sum_rounding,
    well_inside,
)
from wideberth.problem.rows import gamma
from wideberth.results import not_converged, shortfall
from wideberth.screening import fold_samples
from wideberth.screening.decisions import _intercept_bracket
from wideberth.screening.regions import build_region
from wideberth.solvers.base import Control
from wideberth.solvers.batches import InMemory, Proof
from wideberth.solvers.driver import Driver

U = Fraction(1, 2**53)
#: A little more than half a unit in the last place of 1: adding it rounds up by u.
CRUMB = 2.0**-53 * (1 + 2.0**-20)


def exact(values) -> Fraction:
    """Σ of floats, exactly."""
    return sum((Fraction(float(v)) for v in values), Fraction(0))


# -- what converged means ----------------------------------------------------------


@pytest.mark.parametrize("tol", [1e-4, 1e-6, 1e-9])
def test_gap_and_rounding_together_must_be_within_the_tolerance(tol):
    assert Certificate(2.0, 2.0 - tol, 0.9 * tol).proves(tol)
    assert not Certificate(2.0, 2.0 - tol, 1.1 * tol).proves(tol)
    assert not Certificate(2.0, 2.0 - 2.1 * tol, 0.0).proves(tol)
    assert not Certificate(2.0, 2.0, np.nan).proves(tol)
    assert not Certificate(2.0, np.nan, 0.0).proves(tol)


def test_below_the_floor_the_gap_is_within_tol_and_the_proof_within_the_floor():
    assert Certificate(1.0, 1.0 - 1e-12, 0.9e-9).proves(2e-12)
    assert not Certificate(1.0, 1.0 - 1e-12, 1.1e-9).proves(2e-12)
    assert not Certificate(1.0, 1.0 - 1e-10, 0.0).proves(2e-12)


def test_a_negative_gap_does_not_make_up_for_rounding():
    assert not Certificate(1.0, 1.0 + 1e-6, 1.5e-6).proves(1e-6)


def test_solvers_leave_room_for_rounding_and_do_not_chase_it():
    met = Certificate(1.0, 1.0 - 0.9e-6, 0.05e-6)
    short = Certificate(1.0, 1.0 - 0.9e-6, 0.2e-6)
    drowned = Certificate(1.0, 1.0 - 0.05e-6, 1e-3)
    assert met.meets(1e-6)
    assert not short.meets(1e-6)
    assert drowned.meets(1e-6)
    assert not drowned.proves(1e-6)


@pytest.mark.parametrize(
    ("dual", "rounding", "tol", "said"),
    [
        (1 - 1e-3, 0.0, 1e-6, "relative gap 1.00e-03 > tol=1.00e-06"),
        (1 - 2.0**-21, 1e-6, 1e-6, "4.77e-07, which rounding may .* by 1.00e-06, > "),
        (1 - 2.0**-40, 2e-9, 1e-12, "tol=1.00e-12, of which 1e-09 has to be proven"),
    ],
)
def test_the_warning_says_what_the_proof_lacks(dual, rounding, tol, said):
    import re

    certificate = Certificate(1.0, dual, rounding)
    assert not certificate.proves(tol)
    assert re.search(said, shortfall(certificate, tol))
    assert re.search(said, str(not_converged(Control(tol), certificate, 0.1)))


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_a_converged_solution_is_within_tol_rounding_included(seed):
    # A column near 1e7 makes rounding matter; the start has a gap of 0.9 tol.
    problem = make_problem(seed, n=60, d=3, separation=0.5)
    X, y = problem.rows.X + np.array([1e7, 0.0, 0.0]), problem.y
    best = solve(X, y, C=0.1, tol=1e-6, quiet=True, fit_intercept=False)
    assert best.converged
    tol = 1.3 * best.certificate.rounding / best.primal
    assert 1e-9 < tol < 1e-6
    problem = Problem.from_data(X, y, C=0.1)
    low, high = 0.0, 1.0
    for _ in range(60):
        t = 0.5 * (low + high)
        gap = problem.gap((1 + t) * best.w, None, best.alpha)
        low, high = (t, high) if gap < 0.9 * tol * best.primal else (low, t)
    start = (1 + low) * best.w, 0.0, best.alpha
    found = solve(X, y, C=0.1, tol=tol, init=start, quiet=True, fit_intercept=False)
    bound = found.certificate.gap + found.certificate.rounding
    assert found.converged == (bound <= tol * found.primal)


# -- sums --------------------------------------------------------------------------


def worst_order(values, size=2048) -> float:
    """The sum of blocks, each added up term by term, and then block by block."""
    total = 0.0
    for start in range(0, len(values), size):
        total += float(np.cumsum(values[start : start + size])[-1])
    return total


@pytest.mark.parametrize("n", [30, 2048, 2048 * 50])
def test_sums_are_bounded_in_the_worst_order_of_their_blocks(n):
    values = np.zeros(n)
    values[:2048] = CRUMB
    values[::2048] = 4 * CRUMB  # one for each later block: too little to be kept whole
    values[0] = 1.0
    true = exact(values)
    for found in (worst_order(values), accurate_sum(values)):
        assert abs(Fraction(found) - true) <= Fraction(sum_rounding(n)) * true
    error = abs(Fraction(worst_order(values)) - true) / true
    assert error > (min(n, 2048) - 2) * U  # a few roundings would not cover it


@pytest.mark.parametrize("n", [30, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 7])
def test_sums_in_blocks_have_the_error_of_sums(n):
    assert sum_of_products(np.ones(n), np.full(n, 2.0)) == 2 * n
    a, b = np.full(n, CRUMB), np.random.default_rng(0).uniform(0.5, 2.0, size=n)
    a[0], b[0] = 1.0, 1.0
    found = Fraction(sum_of_products(a, b))
    true = sum(Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True))
    assert abs(found - true) <= Fraction(sum_rounding(n)) * true


def test_rounding_of_the_primal_in_blocks_is_that_of_all_samples():
    rng, n = np.random.default_rng(0), BLOCK_ROWS + 500
    X, w, b = rng.normal(size=(n, 3)), np.array([3.0, -4.0, 5.0]), 0.4
    y = np.where(X @ w > 0, 1.0, -1.0)
    for radius in (0.1, 0.2 * rng.random(n)):
        problem = Problem.from_data(X, y, C=0.3, radius=radius, intercept=0.0)
        point = problem.at(w, b)
        each = slack_rounding(problem, w, b, problem.noise.supports(w))
        active = point.slack > -each
        assert 0 < active.sum() < 0.5 * n
        least = float((problem.weights * each)[active].sum())
        hinge = problem.weights @ np.maximum(0.0, point.slack)
        assert least <= point.rounding <= 1.1 * least + 1e-12 * hinge
        assert point.hinge == pytest.approx(hinge, rel=1e-13)


def test_sums_of_folds_count_every_addition():
    # Chunks of one row each: their sums are added up one after the other.
    crumb = Folded(np.zeros(1), CRUMB, n=1, chain=chain(1, 1), size=CRUMB)
    fold = replace(crumb, total=1.0, size=1.0)
    for _ in range(16_000):
        fold = fold + crumb
    true = 1 + 16_000 * Fraction(CRUMB)
    error = abs(Fraction(fold.total) - true)
    assert 6 * Fraction(sum_rounding(16_001)) * true < error
    assert error <= Fraction(gamma(fold.chain)) * true
    rows = Problem.from_data(np.zeros((2, 1)), [1, -1]).rows
    nobody = rows.take(np.empty(0, dtype=int))
    empty = Problem(nobody, np.empty(0), Noise(L2(), np.empty(0)), None, fold)
    dual, point = empty.dual_at(np.empty(0)), empty.at(np.zeros(1))
    assert abs(Fraction(dual.value) - true) <= Fraction(dual.rounding)
    assert abs(Fraction(point.value) - true) <= Fraction(point.rounding)


def test_zeros_in_between_do_not_lengthen_a_chain():
    problem = make_problem(0, n=5000)
    chosen = np.arange(5000) % 1000 == 7
    assert fold_samples(problem, chosen).chain <= 10
    assert fold_samples(problem, ~chosen).chain == chain(5000)


# -- the dual value ------------------------------------------------------------------


def far_apart(extra=(), fold=False, c=(0.5, 0.5)):
    """Rows M±1, whose optimum is w = 1, b = −M, α = (½, ½), P* = ½, and more."""
    M = 2.0**24
    X = np.array([[M + 1], [M - 1], *extra])
    y = np.array([1, -1, *[-1 for _ in extra]])
    weights = np.array([*c, *[1.0 for _ in extra]])
    problem = Problem.from_data(X, y, intercept=0.0).with_weights(weights)
    if not fold:
        return problem
    folded = np.arange(len(y)) < 2
    rest = np.flatnonzero(~folded)
    return replace(
        problem,
        rows=problem.rows.take(rest),
        weights=weights[rest],
        noise=problem.noise.take(rest),
        folded=fold_samples(problem, folded),
    )


def test_an_almost_balanced_point_does_not_claim_more_than_the_optimum():
    # Σα_i y_i = −6u passes as balanced, and lifts D by 6u·M above P* = ½.
    problem = far_apart(c=(1.0, 1.0))
    alpha = np.array([0.5 - 3 * 2.0**-53, 0.5 + 3 * 2.0**-53])
    dual = problem.dual_at(alpha)
    assert dual.alpha is alpha
    assert Fraction(dual.value) - Fraction(1, 2) > 5 * U * 2**24
    assert Fraction(dual.value) - Fraction(dual.rounding) <= Fraction(1, 2)
    # w(α') of the balanced point is 1.
    assert abs(Fraction(dual.w[0]) - 1) <= Fraction(dual.center_rounding)


def test_folded_rows_may_be_the_ones_out_of_balance():
    # The only row left is at the origin; those out of balance, 2²⁴ away, are folded.
    c = (0.5, 0.5 + 20 * 2.0**-53)
    problem = far_apart(extra=[[0.0]], fold=True, c=c)
    dual = problem.dual_at(np.zeros(1))
    assert np.isfinite(dual.value)
    assert Fraction(dual.value) - Fraction(1, 2) > 19 * U * 2**24
    assert Fraction(dual.value) - Fraction(dual.rounding) <= Fraction(1, 2)
    assert abs(Fraction(dual.w[0]) - 1) <= Fraction(dual.center_rounding)


def cancelling(seed):
    """One feature and rows of 1e12, where |Σα_i z_i| and Σα_i ρ_i differ by rounding."""
    rng = np.random.default_rng(seed)
    z = 1e12 * rng.uniform(0.5, 1.5, size=40)
    y = np.where(rng.random(40) < 0.5, 1.0, -1.0)
    radii = rng.permutation(z)
    problem = Problem.from_data((z * y)[:, None], y, radius=radii)
    alpha = rng.permutation(np.full(40, 0.7))
    d = sum(Fraction(a) * Fraction(v) for a, v in zip(alpha, z, strict=True))
    s = sum(Fraction(a) * Fraction(v) for a, v in zip(alpha, radii, strict=True))
    return problem, alpha, d, s


def test_no_model_is_certain_only_where_rounding_cannot_bring_one_back():
    spared, moved = 0, Fraction(1, 2**13)
    for seed in range(40):
        problem, alpha, d, s = cancelling(seed)
        # A nudge of the last radius that leaves Σα_iρ_i just below |Σα_i z_i|.
        nudged = problem.radii.copy()
        nudged[-1] = float(Fraction(nudged[-1]) + (d - s - moved) / Fraction(alpha[-1]))
        s = s + Fraction(alpha[-1]) * (
            Fraction(nudged[-1]) - Fraction(problem.radii[-1])
        )
        problem = problem.with_radii(nudged)
        dual = problem.dual_at(alpha)
        true = exact(alpha) - max(d - s, Fraction(0)) ** 2 / 2
        assert abs(Fraction(dual.value) - true) <= Fraction(dual.rounding)
        assert abs(Fraction(float(dual.w[0])) - max(d - s, 0)) <= dual.center_rounding
        # In the terms of a null model its value alone would be off by too much.
        lost = abs(Fraction(dual.value) - true)
        spared += not dual.w.any() and lost > 6 * Fraction(sum_rounding(40)) * 28
    assert spared > 0


SHAPES = {
    "l2": L2(),
    "linf": Linf(),
    "l1": L1(),
    "scales": Ellipsoid(np.array([1e-3, 1.0, 2.0, 0.5])),
}


def outermost(noise, d, error):
    """The point within `error` of d (Euclidean) that is farthest out of U."""
    candidates = [np.sign(d) + (d == 0)]
    candidates += [np.sign(d[j] or 1.0) * np.eye(d.size)[j] for j in range(d.size)]
    candidates.append(d)
    moved = [d + error * v / np.linalg.norm(v) for v in candidates]
    return max(moved, key=noise.dual_norm)


def facts(noise, **changes):
    """A problem of this noise for `well_inside`, which asks only for its sizes."""
    X = np.array([[1.0, 2.0, -1.0, 0.5], [-0.5, 1.0, 1.0, 2.0]])
    return replace(Problem.from_data(X, [1, -1], radius=0.25, noise=noise), **changes)


@pytest.mark.parametrize("shape", SHAPES)
def test_whatever_d_may_be_lies_inside_where_it_is_said_to(shape):
    noise, rng, told = SHAPES[shape], np.random.default_rng(5), 0
    problem, sums = facts(noise), DualSums(1.0, 1.0, 1.0)
    for _ in range(300):
        d, error = rng.normal(size=4), 10.0 ** rng.uniform(-6, -2)
        if rng.random() < 0.5:
            d = np.array([1.0, 1e-9, -1e-9, 0.0]) * d[0]
        worst = noise.dual_norm(outermost(noise, d, error))
        reach = noise.dual_norm(d)
        # On the way from "surely not" to "surely": where the answer turns matters.
        for s in np.linspace(reach, worst + 2 * (worst - reach), 12):
            if well_inside(problem, d, ScaledShape(noise, float(s)), sums, error):
                told += 1
                assert worst <= s
        surely = 4 * (reach + error / noise.inscribed(4))
        assert well_inside(problem, d, ScaledShape(noise, surely), sums, error)
    assert told > 0


@pytest.mark.parametrize("intercept", [None, 0.0])
@pytest.mark.parametrize("n", [2, 3000])
def test_inside_means_inside_for_any_rounding_of_s_and_of_the_balance(n, intercept):
    d, size, total, g = np.array([0.6, 0.8, 0.0, 0.0]), 1.0, 1.0, sum_rounding(n)
    X, y = np.tile([[1.0, 2.0, -1.0, 0.5]], (n, 1)), np.where(np.arange(n) % 2, 1, -1)
    problem = Problem.from_data(X, y, radius=0.25, intercept=intercept)
    # The s of a point that is balanced exactly, and d there.
    shift = 5 * g * total if intercept == 0 else 0.0
    for k in np.arange(-40, 100 * n, n // 2):
        s = size * (1 + k * 2.0**-52)
        least = s * (1 - g) - shift * problem.radii.max()
        most = size + shift * problem.largest_norm
        sums = DualSums(total, total, total)
        if well_inside(problem, d, ScaledShape(L2(), s), sums, 0.0):
            assert most <= least
    assert well_inside(problem, d, ScaledShape(L2(), 1 + 1e-10), sums, 0.0)


# -- regions -------------------------------------------------------------------------


def linear_problem(noise, n_features=4):
    """A problem whose samples all are saturated at the optimum, and that optimum.

    C is so small that no slack reaches 0 near w*: there P(w) = ½‖w‖² − ⟨d,w⟩ + sΩ(w)
    up to a constant, w* = w(c), and the inequalities of the regions are equalities.
    """
    rng = np.random.default_rng(3)
    y = np.where(np.arange(16) % 2, 1.0, -1.0)
    X = y[:, None] * (1.0 + 0.1 * rng.normal(size=(16, n_features)))
    problem = Problem.from_data(X, y, C=2.0**-8, radius=0.125, noise=noise)
    return problem, problem.dual_at(problem.weights)


def off_by(problem, dual, error, s_error):
    """Dual points that are as wrong as they say: w in some direction, or s and w."""
    rng = np.random.default_rng(0)
    directions = [*np.eye(dual.w.size), dual.w, dual.d - dual.w]
    directions += [rng.normal(size=dual.w.size) for _ in range(4)]
    for v, sign in itertools.product(directions, (1.0, -1.0)):
        w = dual.w + sign * error * v / np.linalg.norm(v)
        yield replace(dual, w=w, center_rounding=error * (1 + 1e-9))
    for sign in (1.0, -1.0):
        s = dual.s + sign * s_error
        w = problem.noise.sets.prox(dual.d, s)
        moved = s_error * problem.noise.sets.lipschitz(w.size) * (1 + 1e-9)
        yield replace(dual, s=s, w=w, center_rounding=moved)


REGION_SHAPES = ["l2", "linf", "l1", np.array([0.02, 1.0, 2.0, 0.5])]


def left_side(problem, region, w):
    """‖w − centre‖² + s(Ω(w) − ⟨v,w⟩) in 200 bits."""
    w = [mpf(float(x)) for x in w]
    noise = (
        problem.noise.sets.scales if problem.noise.sets.name == "ellipsoid" else None
    )
    value = sum((a - mpf(float(c))) ** 2 for a, c in zip(w, region.w, strict=True))
    if region.curvature is not None:
        v = [mpf(float(x)) for x in region.curvature.v]
        omega = support(problem.noise.sets.name if noise is None else noise, w)
        inner = sum(a * b for a, b in zip(v, w, strict=True))
        value += mpf(region.curvature.s) * (omega - inner)
    return value


@pytest.mark.parametrize("noise", REGION_SHAPES, ids=["l2", "linf", "l1", "scales"])
@pytest.mark.parametrize("kind", ["midpoint", "ellipsoid"])
def test_regions_hold_for_a_dual_point_as_wrong_as_it_says(noise, kind):
    problem, dual = linear_problem(noise)
    best = dual.w
    assert problem.at(best).slack.min() > 0.1  # all saturated indeed
    for move, error in itertools.product((0.0, 1e-2), (1e-5, 1e-3)):
        points = [best + move * v for v in (*np.eye(4), -np.ones(4))]
        for w in points:
            # Gap of (w, c) with the dual value at the optimum; rounding is beside the
            # point here and far below the errors tried.
            point = problem.at(w)
            for wrong in off_by(problem, dual, error, 0.1 * dual.s):
                region = build_region(kind, problem, Pair(point, wrong))
                inside = left_side(problem, region, best)
                assert inside <= mpf(float(region.radius)) ** 2 * (1 + mpf(1e-9))


def test_the_midpoint_ball_holds_where_the_distance_to_w_alpha_is_overstated():
    # z = 1 twice: w* = 1, and w(α) = ¾ is stated as ¾ − 0.075.
    problem = Problem.from_data(np.array([[1.0], [-1.0]]), [1, -1])
    point, dual = problem.at(np.ones(1)), problem.dual_at(np.full(2, 0.375))
    assert point.value - dual.value == 0.5 * 0.25**2  # P = P*, D = D* − ½(1−w(α))²
    wrong = replace(dual, w=dual.w - 0.075, center_rounding=0.075)
    region = build_region("midpoint", problem, Pair(point, wrong))
    assert abs(1.0 - region.w[0]) <= region.radius


@pytest.mark.parametrize("noise", REGION_SHAPES, ids=["l2", "linf", "l1", "scales"])
def test_the_tilt_of_a_region_lies_in_the_unit_set(noise):
    # Ω(w) ≥ ⟨v,w⟩ for every w: what the tests over curved regions rest on.
    for seed in range(40):
        problem = make_problem(seed, n=12, radius=0.3)
        problem = replace(
            problem, noise=Noise(linear_problem(noise)[0].noise.sets, problem.radii)
        )
        rng = np.random.default_rng(seed)
        dual = problem.dual_at(rng.random(12) * problem.weights)
        for given in (dual, *off_by(problem, dual, 1e-4, 0.1 * dual.s)):
            region = build_region("ellipsoid", problem, Pair(problem.at(dual.w), given))
            if region.curvature is None:
                continue
            v = [Fraction(float(x)) for x in region.curvature.v]
            if problem.noise.sets.name == "linf":
                assert max(map(abs, v)) <= 1
            elif problem.noise.sets.name == "l1":
                assert sum(map(abs, v)) <= 1
            else:
                scales = np.broadcast_to(problem.noise.sets.scales, 4)
                squares = (
                    x / Fraction(float(t)) for x, t in zip(v, scales, strict=True)
                )
                assert sum(x * x for x in squares) <= 1


# -- the bracket of a free intercept ---------------------------------------------------


def exact_bracket(problem, lower, upper):
    """Where the slope of P in b may cross 0, in rationals (theory §4.4)."""
    y = [int(label) for label in problem.y]
    c = [Fraction(float(w)) for w in problem.weights]
    low, high = ([Fraction(float(v)) for v in part] for part in (lower, upper))
    start = -sum(c[i] for i in range(len(y)) if y[i] > 0)
    if problem.folded is not None:
        start -= Fraction(problem.folded.balance)
    first = sorted((y[i] * (1 - (high[i] if y[i] > 0 else low[i])), c[i])
                   for i in range(len(y)))  # fmt: skip
    last = sorted((y[i] * (1 - (low[i] if y[i] > 0 else high[i])), c[i])
                  for i in range(len(y)))  # fmt: skip
    slope, b_low = start, None
    for at, jump in first:
        slope += jump
        if slope >= 0:
            b_low = at
            break
    slope, b_high = start, None
    for at, jump in last:
        if slope <= 0:
            b_high = at
        slope += jump
    return b_low, b_high


def test_the_bracket_of_the_intercept_holds_whatever_rounding_does_to_slopes():
    # Equal weights: slopes that are 0 exactly, and not in floating point.
    differ = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(10, 60))
        y = rng.permutation(np.where(np.arange(2 * n) < n, 1, -1))
        X = rng.normal(size=(2 * n, 2))
        problem = Problem.from_data(X, y, C=0.1 * (1 + seed), intercept=0.0)
        middle, width = rng.normal(size=2 * n), 0.01 * rng.random(2 * n)
        lower, upper = middle - width, middle + width
        found = _intercept_bracket(problem, lower, upper)
        true = exact_bracket(problem, lower, upper)
        assert Fraction(float(found[0])) <= true[0]
        assert true[1] <= Fraction(float(found[1]))
        slope = -problem.weights[y > 0].sum() + np.cumsum(problem.weights)
        differ += slope[n - 1] != 0
    assert differ > 0


def test_the_ends_of_the_bracket_allow_for_their_own_rounding():
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = np.where(np.arange(8) % 2, 1, -1)
        problem = Problem.from_data(rng.normal(size=(8, 2)), y, intercept=0.0)
        lower = 0.1 * rng.normal(size=8)  # 1 − lower is rounded
        upper = lower + 1e-9 * rng.random(8)
        found = _intercept_bracket(problem, lower, upper)
        true = exact_bracket(problem, lower, upper)
        assert Fraction(float(found[0])) <= true[0]
        assert true[1] <= Fraction(float(found[1]))
        wrong += any(Fraction(float(end)) != end for end in true)
    assert wrong > 0


# -- out of core -----------------------------------------------------------------------


def chunks_of(problem, size):
    from wideberth.data.chunks import Chunk

    X, y = problem.rows.X, problem.y
    parts = range(0, problem.n, size)
    return [Chunk(X[k : k + size], y[k : k + size], number=j)
            for j, k in enumerate(parts)]  # fmt: skip


def test_out_of_core_both_values_bring_their_rounding():
    problem = make_problem(0, n=20)
    run = Driver(InMemory(problem), Control(1e-6))
    run.point = problem.at(np.zeros(4))
    alone = run.certificate
    dual = replace(problem.dual_at(np.zeros(20)), rounding=0.25)
    run.proof = Proof(dual, run.point)
    assert run.certificate.rounding == alone.rounding + 0.25
    run.point = replace(run.point, rounding=0.5)
    assert run.certificate.rounding == 0.75
    assert not run.certificate.proves(0.01)


@pytest.mark.parametrize("seed", range(3))
def test_out_of_core_the_certificate_covers_chunks_of_single_rows(seed):
    # Null models: values are sums over chunks alone, known exactly.
    rng = np.random.default_rng(seed)
    n = 200
    X = rng.normal(size=(n, 2))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    weight = 0.1 * rng.random(n)
    chunks = [(X[k : k + 1], y[k : k + 1], weight[k : k + 1]) for k in range(n)]
    found = solve(chunks, C=1.0, radius=50.0, tol=1e-9, quiet=True, fit_intercept=False)
    assert found.converged
    assert not found.w.any()
    true, slip = exact(weight), Fraction(found.certificate.rounding)
    assert abs(Fraction(found.primal) - true) <= slip
    assert abs(Fraction(found.dual) - true) <= slip


def test_outcomes_prove_what_their_points_do():
    problem = make_problem(1)
    outcome = Pair(problem.at(np.zeros(4)), problem.dual_at(np.zeros(30)))
    assert outcome.certificate == problem.certificate(outcome.point, outcome.dual)


# -- sets per sample ---------------------------------------------------------------


def test_a_size_of_a_covariance_allows_for_the_sum_that_it_is():
    """‖Fᵀw‖ of one column, whose other terms round the first one up again and again."""
    d = 1000
    small = 2.0**-27 * np.sqrt(2) * (1 + 2.0**-20)  # squared a little over 2⁻⁵³
    w, worst = np.full(d, small), Fraction(0)
    for place in (0, d // 2, d - 1):  # whichever is added first
        w[:] = small
        w[place] = 1.0
        bars = Covariances.of_factors(w[None, :, None].copy())
        size, off = bars.supports(w)[0], bars.size_errors(w)[0]
        away = abs(Fraction(size) - sum(Fraction(x) ** 2 for x in w))
        assert away <= Fraction(off)
        worst = max(worst, away)
    assert worst > 4 * Fraction(gamma(1))  # which is all that one rounding would allow


def test_a_tangent_holds_where_sizes_are_as_wrong_as_they_say():
    rng = np.random.default_rng(0)
    worst = np.inf
    for _ in range(300):
        F = rng.normal(size=(3, 3))
        m, z, rho = rng.normal(size=3), rng.normal(size=3), 0.7
        parts, off = m @ F, 10.0 ** rng.uniform(-3, 0)
        wrong = parts - off * parts / np.linalg.norm(parts)  # shorter by `off`
        reach = np.linalg.norm(F, 2)
        found = smooth_tangents(
            z[None],
            np.array([rho]),
            (F @ wrong)[None],
            np.array([np.linalg.norm(wrong)]),
            np.array([reach]),
            np.array([off]),
        )
        for u in (rng.normal(size=3), np.linalg.solve(F.T, parts)):
            u = u / np.linalg.norm(u) * off / reach
            exact = (m + u) @ z - rho * np.linalg.norm((m + u) @ F)
            r = np.linalg.norm(u)
            bound = m @ z - found.support[0] - found.fall[0] * r - found.bend[0] * r * r
            room = exact - (bound - rho * off)
            assert room >= -1e-12
            worst = min(worst, room / (rho * off))
    assert worst < 0.2


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_bounds_on_the_null_model_allow_for_sums_over_all_samples(place):
    """One feature: t* = |d|/Σa_ie_i. All terms but one round the sum up."""
    n, d = 8192, np.array([0.7])
    a = np.full(n, CRUMB)
    a[{"first": 0, "middle": n // 2, "last": n - 1}[place]] = 1.25
    lower, upper = SumOfEllipsoids(((Ellipsoids.of(np.ones((n, 1))), a),)).gauge(d)
    t = Fraction(0.7) / exact(a)
    assert Fraction(lower) <= t <= Fraction(upper)
    assert upper - lower <= 1e-9 * upper


def test_an_upper_bound_on_the_null_model_is_rounded_up():
    n = 8192
    a, needed = np.full(n, CRUMB), []
    for place in (0, n // 2, n - 1):  # whichever is added first
        a[:], a[place] = CRUMB, 1.25
        total = SumOfEllipsoids(((Ellipsoids.of(np.ones((n, 1))), a),))
        sizes = total.sizes(np.ones(1))
        ahead = total.solved(np.array([0.7]), sizes)
        (new,) = total.bounds(ahead)
        reached = float((new / sizes[0]).max())
        needed.append(Fraction(0.7) / exact(a) / Fraction(reached) - 1)
    assert max(needed) > Fraction(gamma(16))
