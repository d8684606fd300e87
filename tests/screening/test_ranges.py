import numpy as np
import pytest

from problems import make_problem
from ranges import draw_along, examine_span, span_of
from wideberth.screening.ranges import intercept_range, largest_between


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
