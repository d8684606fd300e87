import numpy as np
import pytest

from problems import make_problem
from ranges import draw_along, examine_span, span_of
from wideberth.problem import Certificate
from wideberth.screening.ranges import RangeProof, intercept_range, largest_between


@pytest.mark.parametrize("seed", range(36))
def test_every_optimum_between_lies_in_the_region_and_the_certificate_holds(seed):
    rng = np.random.default_rng(seed)
    along, low, high = draw_along(seed)
    kind = ("exact", "rough", "one pair", "random")[seed // 9]
    span = span_of(along, low, high, kind, rng)
    assert examine_span(along, span, rng, values=2) == {"outside": 0, "uncertified": 0}


def test_squares_between_are_largest_where_calculus_says():
    rng = np.random.default_rng(0)
    for first, last, bend, *ends in rng.normal(size=(50, 5)):
        start, end = sorted(np.clip(ends, 0, 1))
        t = np.linspace(start, end, 2001)
        values = (1 - t) * first + t * last + t * (1 - t) * bend
        found = largest_between(first, last, bend, start, end)
        assert values.max() - 1e-12 <= found <= values.max() + 1e-5


def test_no_gap_between_two_certificates_exceeds_what_is_stated():
    rng, tol = np.random.default_rng(0), 1e-3
    for first, last in rng.uniform(0.5, 2.0, size=(100, 2)):
        gaps = first * 10 ** rng.uniform(-6, 0), last * 10 ** rng.uniform(-6, 0)
        ends = [
            Certificate(each, each - gap, 1e-3 * gap)
            for each, gap in zip((first, last), gaps, strict=True)
        ]
        bends = 10 ** rng.uniform(-5, -1), -(10 ** rng.uniform(-5, -1))
        proof = RangeProof(*ends, *bends)
        most = proof.excess(tol) * tol * (1 + 1e-12)
        for t in np.linspace(0, 1, 101):
            found = proof.at(t)
            assert found.bound <= most * found.scale


@pytest.mark.parametrize("seed", range(6))
def test_margins_that_are_known_tell_the_intercept_and_wider_ones_contain_it(seed):
    problem = make_problem(seed, n=20 + seed % 2, intercept=0.0, radius=0.1)
    if seed < 3:  # classes that balance: b is the middle of an interval
        y = np.resize([-1.0, 1.0], problem.n)
        problem = problem.with_labels(y)
    rng = np.random.default_rng(seed)
    w = 0.05 * rng.normal(size=problem.rows.d)
    margins = problem.robust_margins(w)
    b = problem.at(w).b
    assert intercept_range(problem, margins, margins) == pytest.approx((b, b), abs=1e-9)
    low, high = intercept_range(problem, margins - 0.1, margins + 0.2)
    assert low <= b <= high


# Noise of one shape whose Σα_iρ_i grows with the radius; boxes whose middles move.
@pytest.mark.parametrize("seed", [37, 259])
def test_sets_that_change_with_the_radius_are_counted(seed):
    along, low, high = draw_along(seed)
    span = span_of(along, low, high, "exact", np.random.default_rng(0))
    found = examine_span(along, span, np.random.default_rng(0), values=2)
    assert found == {"outside": 0, "uncertified": 0}
