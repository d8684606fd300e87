"""Regions and tests held against their own definitions, on problems of known optimum."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import EXTREME_PENALTIES, SHAPES, make_solved, solved_problems
from safety import Reference, iterates, moved_at_margin
from wideberth.problem import Pair
from wideberth.problem.rows import as_rows
from wideberth.screening import Partition, Reduction, screen_points
from wideberth.screening.decisions import _intercept_bracket
from wideberth.screening.regions import REGIONS, build_region
from wideberth.screening.tests import TESTS, nameable_tests, quick_test

seeds = st.integers(0, 2**32 - 1)
EVERY = slice(None)
BOUNDED = (None, 1.0, *EXTREME_PENALTIES)


def reference_of(solved):
    return Reference(solved.problem, solved)


# -- regions ---------------------------------------------------------------------------


@given(solved_problems(), seeds)
@settings(max_examples=100)
def test_the_optimum_lies_in_every_region(solved, seed):
    reference = reference_of(solved)
    for point, dual in iterates(reference, np.random.default_rng(seed)):
        for kind in REGIONS:
            region = build_region(kind, solved.problem, Pair(point, dual))
            assert reference.lies_in(region)


def distance_from(region, problem, w, b):
    """‖(w, √λ_b b) − centre‖²."""
    return (
        float(np.sum((w - region.w) ** 2))
        + (problem.intercept or 0.0) * (b - region.b) ** 2
    )


@given(seeds, st.sampled_from(SHAPES), st.sampled_from((*BOUNDED, 0.0)))
@settings(max_examples=80)
def test_no_term_of_the_curved_region_is_wasted(seed, shape, intercept):
    # P* − D(α) = ½‖w*−w_α‖² + s(Ω(w*) − ⟨v,w*⟩) where α is off at the margin alone.
    solved = make_solved(seed, shape=shape, intercept=intercept, radius_decades=3)
    reference, rng = reference_of(solved), np.random.default_rng(seed)
    alpha = moved_at_margin(reference, 0.9, rng)
    dual = solved.problem.dual_at(alpha)
    region = build_region("ellipsoid", solved.problem, Pair(reference.point, dual))
    s = dual.s
    v = (dual.d - dual.w) / s
    bracket = solved.problem.noise.sets.support(solved.w) - v @ solved.w
    used = distance_from(region, solved.problem, solved.w, solved.b) + s * bracket
    assert used == pytest.approx(region.radius**2, rel=1e-4, abs=20 * reference.gap)
    assert region.curvature.s == pytest.approx(s)
    np.testing.assert_allclose(region.curvature.v, v, atol=1e-6)


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(BOUNDED[1:]))
@settings(max_examples=40)
def test_an_intercept_that_is_off_lies_on_the_midpoint_ball(seed, shape, intercept):
    # With no sample at the margin P is quadratic in b about its optimum.
    solved = make_solved(seed, shape=shape, intercept=intercept, at_margin=0.0)
    problem, b = solved.problem, solved.b
    reference = reference_of(solved)
    room = 0.5 * np.abs(reference.margins - 1)[solved.problem.weights > 0].min()
    point, dual = problem.at(solved.w, b + room), problem.dual_at(solved.alpha)
    region = build_region("midpoint", problem, Pair(point, dual))
    assert region.b == pytest.approx(b + 0.5 * room, rel=1e-9, abs=1e-12)
    used = distance_from(region, problem, solved.w, b)
    slack = 20 * reference.gap
    assert used == pytest.approx(region.radius**2, rel=1e-3, abs=slack)
    gap_ball = build_region("gap", problem, Pair(point, dual))
    used = distance_from(gap_ball, problem, solved.w, b)
    assert used == pytest.approx(gap_ball.radius**2, rel=1e-3, abs=slack)


# -- tests over a region ---------------------------------------------------------------


def with_probes(problem, rng, k=12):
    """The problem with rows of no weight besides, which change nothing but are tested."""
    d = problem.rows.d
    size = np.linalg.norm(problem.rows.X, axis=1).max()
    probes = size * rng.normal(size=(k, d)) * 10 ** rng.uniform(-2, 0, size=(k, 1))
    labels = np.where(rng.random(k) < 0.5, 1.0, -1.0)
    radii = rng.choice([0.0, 0.1, 1.0, 3.0], size=k) * size
    return replace(
        problem,
        rows=as_rows(
            np.vstack([problem.rows.X, probes]), np.concatenate([problem.y, labels])
        ),
        weights=np.concatenate([problem.weights, np.zeros(k)]),
        noise=problem.noise.with_radii(np.concatenate([problem.radii, radii])),
    )


def a_region(seed, shape, intercept, kind, closeness):
    """A region from a pair at some distance from the optimum, w ≠ w(α) and b ≠ b(α)."""
    rng = np.random.default_rng(seed)
    solved = make_solved(
        seed, n=8, d=int(rng.integers(1, 4)), shape=shape, intercept=intercept
    )
    problem = with_probes(solved.problem, rng)
    size = np.linalg.norm(solved.w)
    w = solved.w + rng.choice([0.0, closeness]) * size * rng.normal(size=solved.w.size)
    b = solved.b + closeness * rng.normal() if problem.intercept else None
    alpha = np.concatenate([solved.alpha, np.zeros(problem.n - solved.alpha.size)])
    alpha = alpha + closeness * problem.weights * rng.normal(size=problem.n)
    dual = problem.dual_at(alpha)
    if rng.integers(2):  # the pair of a solver that keeps w = w(α)
        w, b = dual.w, dual.b if problem.intercept else None
    point = problem.at(w, b)
    return (
        solved,
        problem,
        point,
        dual,
        build_region(kind, problem, Pair(point, dual)),
        rng,
    )


def supports(noise, points):
    """Ω of every row."""
    if noise.smooth:
        return np.sqrt(points**2 @ np.broadcast_to(noise.squares, points.shape[1:]))
    size = np.abs(points)
    return size.sum(axis=1) if noise.name == "linf" else size.max(axis=1)


def boundary(problem, region, start, rng, k=300):
    """Points (w, b) where the inequality of a region just holds, on rays from `start`."""
    noise, root = problem.noise.sets, np.sqrt(problem.intercept or 1.0)
    curvature = region.curvature

    def excess(points):
        w, b = points[:, :-1], points[:, -1]
        used = np.sum((w - region.w) ** 2, axis=1)
        if problem.intercept:
            used += (b - root * region.b) ** 2
        if curvature is not None:
            used += curvature.s * (supports(noise, w) - w @ curvature.v)
        return used - region.radius**2

    rays = rng.normal(size=(k, problem.rows.d + 1))
    if not problem.intercept:
        rays[:, -1] = 0.0
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    origin = np.append(start[0], root * start[1])
    assert excess(origin[None])[0] <= 1e-9 * region.radius**2
    low, high = np.zeros((k, 1)), np.full((k, 1), 2.5 * region.radius)
    for _ in range(45):
        middle = 0.5 * (low + high)
        inside = excess(origin + middle * rays)[:, None] <= 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    points = origin + low * rays
    return points[:, :-1], points[:, -1] / root


@pytest.mark.parametrize("kind", REGIONS)
@given(
    seeds,
    st.sampled_from(SHAPES),
    st.sampled_from(BOUNDED),
    st.sampled_from([0.5, 0.05, 1e-3]),
)
@settings(max_examples=60)
def test_bounds_hold_all_over_the_region(kind, seed, shape, intercept, closeness):
    solved, problem, _, _, region, rng = a_region(
        seed, shape, intercept, kind, closeness
    )
    w, b = boundary(problem, region, (solved.w, solved.b), rng)
    omega = supports(problem.noise.sets, w)
    psi = w @ (problem.rows.X * problem.y[:, None]).T - np.outer(omega, problem.radii)
    if problem.intercept:
        psi = psi + np.outer(b, problem.y)
    size = np.abs(psi).max(axis=0) * 1e-9
    for name in nameable_tests(problem, kind):
        lower, upper = TESTS[name](problem, region)(EVERY)
        assert np.all(lower <= psi.min(axis=0) + size)
        assert np.all(psi.max(axis=0) <= upper + size)


def tilted_rows(problem, v):
    """q_i = z_i − ρ_i v, with 1/√λ_b as one more coordinate where b is penalised."""
    q = problem.rows.X * problem.y[:, None] - np.outer(problem.radii, v)
    extra = problem.y / np.sqrt(problem.intercept) if problem.intercept else 0 * q[:, 0]
    return np.column_stack([q, extra])


@given(seeds, st.sampled_from(("l2", "ellipsoid")), st.sampled_from(BOUNDED))
@settings(max_examples=60)
def test_the_ellipsoid_test_is_the_exact_range_over_the_ellipsoid(
    seed, shape, intercept
):
    closeness = 10.0 ** -(seed % 4)
    _, problem, _, dual, region, _ = a_region(
        seed, shape, intercept, "ellipsoid", closeness
    )
    noise, d = problem.noise.sets, problem.rows.d
    s, v = dual.s, (dual.d - dual.w) / dual.s
    largest = noise.support(region.w) + region.radius * noise.lipschitz(d)
    kappa = s / (2 * largest)
    tau = np.broadcast_to(noise.squares, (d,))
    metric = np.eye(d + 1)  # the last coordinate is b's
    metric[:d, :d] += kappa * (np.diag(tau) - np.outer(v, v))
    inverse = np.linalg.inv(metric)
    offset = np.append(region.w - dual.w, 0.0)
    center = np.append(dual.w, 0.0) + inverse @ offset
    q = tilted_rows(problem, v)
    level = q[:, :d] @ center[:d] + problem.y * (region.b if intercept else 0.0)
    swing = region.radius * np.sqrt(np.einsum("ij,jk,ik->i", q, inverse, q))
    lower, upper = TESTS["ellipsoid"](problem, region)(EVERY)
    slack = 1e-6 * (np.abs(level) + swing + problem.radii * region.radius**2 / s)
    np.testing.assert_array_less(np.abs(upper - level - swing), slack)
    below = level - swing - problem.radii * region.radius**2 / s
    np.testing.assert_array_less(np.abs(lower - below), slack)


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(BOUNDED))
@settings(max_examples=60)
def test_the_tilted_test_trades_distance_against_noise(seed, shape, intercept):
    closeness = 10.0 ** -(seed % 4)
    _, problem, _, dual, region, _ = a_region(
        seed, shape, intercept, "ellipsoid", closeness
    )
    s, v = dual.s, (dual.d - dual.w) / dual.s
    q, r = tilted_rows(problem, v), region.radius
    level = q[:, :-1] @ region.w + problem.y * (region.b if intercept else 0.0)
    length = np.linalg.norm(q, axis=1)
    t = np.linspace(0, r, 2001)[:, None]
    below = (level - t * length - problem.radii * (r * r - t * t) / s).min(axis=0)
    lower, upper = TESTS["tilted"](problem, region)(EVERY)
    size = np.abs(level) + r * length + problem.radii * r * r / s
    np.testing.assert_array_less(np.abs(upper - level - r * length), 1e-6 * size)
    np.testing.assert_array_less(np.abs(lower - below), 2e-5 * size)


@given(seeds, st.sampled_from(SHAPES), st.sampled_from(BOUNDED))
@settings(max_examples=40)
def test_the_separable_test_is_exact_without_noise_and_for_the_noise_alone(
    seed, shape, intercept
):
    _, problem, _, _, region, _ = a_region(seed, shape, intercept, "midpoint", 0.1)
    noise, d, r = problem.noise.sets, problem.rows.d, region.radius
    z = tilted_rows(problem, np.zeros(d))
    level = z[:, :d] @ region.w + problem.y * (region.b if intercept else 0.0)
    swing = r * np.linalg.norm(z, axis=1)
    omega, spread = noise.support(region.w), r * noise.lipschitz(d)
    lower, upper = TESTS["separable"](problem, region)(EVERY)
    scale = np.abs(level) + swing + problem.radii * (omega + spread)
    most, least = omega + spread, max(omega - spread, 0.0)
    for found, expected in (
        (lower, level - swing - problem.radii * most),
        (upper, level + swing - problem.radii * least),
    ):
        np.testing.assert_array_less(np.abs(found - expected), 1e-9 * scale)


@given(seeds, st.sampled_from(SHAPES), st.sampled_from((None, 1.0)))
@settings(max_examples=60)
def test_all_tests_together_decide_what_each_decides(seed, shape, intercept):
    kind = ("midpoint", "ellipsoid")[seed % 2]
    _, problem, point, dual, _, _ = a_region(seed, shape, intercept, kind, 0.02)
    together = screen_points(problem, Pair(point, dual), region=kind)
    for test in nameable_tests(problem, kind):
        one = screen_points(problem, Pair(point, dual), region=kind, test=test)
        assert np.all(one.removed <= together.removed)
        assert np.all(one.saturated <= together.saturated)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["midpoint", "ellipsoid"])
def test_hardly_anything_escapes_the_quick_test(shape, kind):
    alone, together = 0, 0
    for seed in range(25):
        _, problem, point, dual, _, _ = a_region(seed, shape, None, kind, 0.02)
        test = quick_test(problem, kind)
        one = screen_points(problem, Pair(point, dual), region=kind, test=test)
        alone += np.count_nonzero(~one.free)
        all_tests = screen_points(problem, Pair(point, dual), region=kind)
        together += np.count_nonzero(~all_tests.free)
    assert together > 50
    assert alone >= 0.95 * together


# -- the bracket of a free intercept ---------------------------------------------------


@given(seeds)
@settings(max_examples=60)
def test_the_bracket_of_a_free_intercept_is_exact(seed):
    solved = make_solved(seed, n=15, intercept=0.0, radius_decades=3)
    problem, rng = solved.problem, np.random.default_rng(seed)
    margins = 1 - problem.at(solved.w, 0.0).slack
    low, high = _intercept_bracket(problem, margins, margins)
    assert low == pytest.approx(solved.b, abs=1e-6)
    assert high == pytest.approx(solved.b, abs=1e-6)
    below = margins - rng.exponential(size=problem.n)
    above = margins + rng.exponential(size=problem.n)
    low, high = _intercept_bracket(problem, below, above)
    best = [problem.best_intercept(1 - rng.uniform(below, above)) for _ in range(50)]
    assert low <= min(best)
    assert max(best) <= high
    positive = problem.y > 0
    ends = np.where(positive, above, below), np.where(positive, below, above)
    values = [problem.best_intercept(1 - end) for end in ends]
    assert values == pytest.approx([low, high], abs=1e-6)


@given(seeds)
@settings(max_examples=40)
def test_folded_samples_keep_the_bracket_where_it_is(seed):
    solved = make_solved(seed, n=15, intercept=0.0, at_margin=0.3)
    problem = solved.problem
    one_class = (solved.alpha >= problem.weights) & (problem.y > 0)
    nothing = np.zeros(problem.n)
    partition = Partition(one_class & False, one_class, nothing, nothing)
    small = Reduction.of(problem).shrink(partition).problem
    margins = 1 - small.at(solved.w, 0.0).slack
    bracket = _intercept_bracket(small, margins, margins)
    assert bracket == pytest.approx((solved.b, solved.b), abs=1e-6)


@given(solved_problems(intercepts=(0.0,)), seeds)
@settings(max_examples=40)
def test_decisions_with_a_free_intercept_are_right(solved, seed):
    reference, rng = reference_of(solved), np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for point, dual in iterates(reference, rng):
            partition = screen_points(solved.problem, Pair(point, dual))
            error, used = reference.error, solved.problem.weights > 0
            removed, saturated = partition.removed & used, partition.saturated & used
            assert np.all(reference.margins[removed] >= (1 - error)[removed])
            assert np.all(reference.margins[saturated] <= (1 + error)[saturated])
            assert np.all(partition.lower <= reference.margins + error)
            assert np.all(partition.upper >= reference.margins - error)
