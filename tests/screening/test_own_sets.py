import numpy as np
import pytest

from measured import FORMS, SPREADS, make_measured
from safety import Reference, examine, examine_carried, examine_measured
from wideberth.screening.regions import REGIONS, Region
from wideberth.screening.tests import TESTS

INTERCEPTS = (None, 1.0, 0.0)


@pytest.mark.parametrize("first", range(0, 30, 5))
def test_no_decision_and_no_bound_is_ever_wrong(first):
    for count in examine_measured(range(first, first + 5)).values():
        assert count["wrong"] == count["violated"] == count["outside"] == 0


def test_screening_fires_for_every_region_and_test():
    tally, rng = {}, np.random.default_rng(0)
    for form in ("ellipsoid", "box", "covariance"):
        problem = make_measured(1, form=form, n=25, intercept=1.0)
        for key, count in examine(Reference(problem), rng).items():
            tally.setdefault(key, []).append(count)
    for kind in REGIONS:
        for test in ("all tests", "separable", "tangent"):
            for count in tally[kind, test]:
                assert count["decisions"] > 0.1 * count["samples"]


def test_what_is_carried_along_a_path_is_right():
    rng = np.random.default_rng(5)
    for seed in range(6):
        problem = make_measured(seed, form=FORMS[seed], intercept=INTERCEPTS[seed % 3])
        for count in examine_carried(Reference(problem), rng).values():
            assert count["wrong"] == count["violated"] == count["outside"] == 0


# -- bounds over a ball, by points of it ------------------------------------------------


def ball(problem, w, radius):
    """A ball about w, as a region."""
    norm = float(np.linalg.norm(w)) + radius
    return Region(w, 0.0, problem.rows.margins(w), radius, radius**2, norm)


def in_ball(w, radius, rng, problem):
    """Points of a ball about w: at random, and where samples gain or lose the most."""
    d = w.size
    directions = [rng.normal(size=d) for _ in range(60)]
    z = problem.y[:, None] * problem.rows.dense(slice(None))
    delta = problem.radii[:, None] * problem.noise.sets.gradients(w)
    directions += [sign * row for row in z - delta for sign in (1, -1)]
    directions += [sign * row for row in z for sign in (1, -1)]
    directions += [-w, w]
    for u in directions:
        size = np.linalg.norm(u)
        if size > 0:
            yield w + radius * u / size
            yield w + 0.3 * radius * u / size


@pytest.mark.parametrize("k", range(len(FORMS) * len(SPREADS)))
def test_bounds_hold_at_every_point_of_a_ball(k):
    form, spread = FORMS[k % len(FORMS)], SPREADS[k // len(FORMS)]
    problem = make_measured(k, form=form, spread=spread, n=12, d=3, radii="random")
    rng = np.random.default_rng(k)
    w = rng.normal(size=3)
    w[rng.integers(3)] *= rng.choice([0.0, 1e-9, 1.0])
    for radius in (1e-6, 1e-2, 0.5, 3.0):
        region = ball(problem, w, radius)
        for test in ("separable", "tangent"):
            lower, upper = TESTS[test](problem, region)(slice(None))
            for x in in_ball(w, radius, rng, problem):
                margins = problem.rows.margins(x) - problem.noise.supports(x)
                room = 1e-12 * (1 + np.abs(margins) + problem.noise.supports(x))
                assert np.all(margins <= upper + room)
                assert np.all(margins >= lower - room)
