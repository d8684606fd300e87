"""Each allowance for rounding is needed, and enough.

Bounds on rounding are pessimistic, and a missing one hides behind the others. So each is
tested where nothing else can cover for it: against exact rationals (`fractions`) on
numbers made for it, in the worst order of summation that it allows, or, where one part
of the package hands its error to the next, by a value that is off by just as much as it
says it may be.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from problems import make_problem
from wideberth import solve
from wideberth.noise import L2, Covariances, Ellipsoids, SumOfEllipsoids
from wideberth.noise.sets import Noise
from wideberth.problem import Folded, Pair, Problem
from wideberth.problem.certificate import Certificate
from wideberth.problem.rounding import chain, sum_rounding
from wideberth.problem.rows import gamma
from wideberth.results import not_converged, shortfall
from wideberth.screening.regions import build_region
from wideberth.solvers.base import Control

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
        (1 - 2.0**-21, 1e-6, 1e-6, "4.77e-07 plus rounding of up to 1.00e-06 > tol"),
        (
            1 - 2.0**-40,
            2e-9,
            1e-12,
            "2.00e-09 > 1e-09, the least that is proven for tol=1.00e-12",
        ),
    ],
)
def test_the_warning_says_what_the_proof_lacks(dual, rounding, tol, said):
    import re

    certificate = Certificate(1.0, dual, rounding)
    assert not certificate.proves(tol)
    assert re.search(said, shortfall(certificate, tol))
    assert re.search(said, str(not_converged(Control(tol), certificate, 0.1)))


# -- sums --------------------------------------------------------------------------


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
    assert problem.fold(chosen).chain <= 10
    assert problem.fold(~chosen).chain == chain(5000)


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
        folded=problem.fold(folded),
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


# -- regions -------------------------------------------------------------------------


def test_the_midpoint_ball_holds_where_the_distance_to_w_alpha_is_overstated():
    # z = 1 twice: w* = 1, and w(α) = ¾ is stated as ¾ − 0.075.
    problem = Problem.from_data(np.array([[1.0], [-1.0]]), [1, -1])
    point, dual = problem.at(np.ones(1)), problem.dual_at(np.full(2, 0.375))
    assert point.value - dual.value == 0.5 * 0.25**2  # P = P*, D = D* − ½(1−w(α))²
    wrong = replace(dual, w=dual.w - 0.075, center_rounding=0.075)
    region = build_region("midpoint", problem, Pair(point, wrong))
    assert abs(1.0 - region.w[0]) <= region.radius


# -- out of core -----------------------------------------------------------------------


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
