"""Regions and tests held against their own definitions, on problems of known optimum."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import EXTREME_PENALTIES, SHAPES, make_solved
from wideberth.problem import Pair
from wideberth.problem.rows import as_rows
from wideberth.screening.regions import REGIONS, build_region
from wideberth.screening.tests import TESTS, nameable_tests

seeds = st.integers(0, 2**32 - 1)
EVERY = slice(None)
BOUNDED = (None, 1.0, *EXTREME_PENALTIES)


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
