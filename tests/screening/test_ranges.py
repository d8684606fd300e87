import numpy as np
import pytest

from ranges import draw_along, examine_span, span_of
from wideberth.screening.ranges import largest_between


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
