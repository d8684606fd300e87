from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from problems import INTERCEPTS, intercept_options, make_problem, problems
from wideberth import Box, CrossPolytope, solve
from wideberth.problem import Problem, changes
from wideberth.problem.endpoints import (
    critical_radius,
    critical_scale,
    null_certificate,
    saturation_scale,
)
from wideberth.problem.rows import as_rows
from wideberth.solvers.conic import solve_conic


def is_null(problem, tol=1e-3):
    """Whether w* = 0; None where the bracket is on both sides of 1."""
    bracket = critical_scale(problem, tol=tol)
    return True if bracket.upper <= 1 else False if bracket.lower > 1 else None


@given(problems())
@settings(max_examples=60)
def test_model_dies_exactly_at_the_critical_radius(problem):
    bracket = critical_radius(problem)
    if not np.isfinite(bracket.upper) or bracket.lower == 0:
        return
    above = problem.with_radii(bracket.upper * (1 + 1e-9))
    below = problem.with_radii(bracket.lower * (1 - 1e-9))
    assert is_null(above, tol=0.0) is True  # tol would end it on either side of 1
    assert is_null(below) in ((False,) if bracket.width == 0 else (False, None))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"intercept_penalty": 2.0, "C": 0.3},
        {"noise": np.array([1.0, 2.0, 0.5, 1.0])},
        {"noise": np.diag([1.0, 2.0, 0.5, 1.0]) + 0.3},
        {"noise": "linf", "sample_weight": np.linspace(0.1, 1.0, 40)},
    ],
    ids=["free", "none", "penalised", "scales", "covariance", "linf"],
)
def test_the_critical_radius_of_data_is_where_solve_ends(options):
    problem = make_problem(5, n=40, d=4)
    X, y = 1e40 * problem.rows.X, problem.y  # in units that have to be changed
    for name, default in (("C", 1.0), ("intercept_penalty", 0.0)):
        options = options | {name: 1e-80 * options.get(name, default)}
    bracket = critical_radius(X, y, **options)
    low, high = 0.9 * bracket.lower, 1.1 * bracket.upper
    for _ in range(7):
        middle = 0.5 * (low + high)
        found = solve(X, y, radius=middle, quiet=True, tol=1e-8, **options)
        assert found.converged
        low, high = (middle, high) if found.w.any() else (low, middle)
    assert low <= bracket.upper * 1.001
    assert high >= bracket.lower * 0.999


@pytest.mark.parametrize("seed", [1156, 578])
def test_rounding_is_not_taken_for_a_model(seed):
    # A constant feature says nothing beside a free intercept: its critical radius is 0.
    problem = make_problem(
        seed, n=33, d=1, C=10.0**1.5, intercept=0.0, weights="random",
        oddity="constant column", separation=0.0,
    )  # fmt: skip
    assert critical_radius(problem).lower == 0


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_samples_without_weight_do_not_bear_on_the_ends(intercept):
    problem = make_problem(5, intercept=intercept, n=30, radius=0.02)
    balanced = np.where(
        problem.y > 0, 1 / (problem.y > 0).sum(), 1 / (problem.y < 0).sum()
    )
    problem = problem.with_weights(balanced)
    far = replace(
        problem,
        rows=as_rows(
            np.vstack([problem.rows.X, 1e3 * np.ones((2, 4))]),
            np.concatenate([problem.y, [1.0, -1.0]]),
        ),
        weights=np.concatenate([problem.weights, [0.0, 0.0]]),
        noise=problem.noise.with_radii(np.concatenate([problem.radii, [0.0, 0.0]])),
    )
    assert saturation_scale(far) == pytest.approx(saturation_scale(problem))
    here, there = critical_scale(problem), critical_scale(far)
    assert there.lower == pytest.approx(here.lower, rel=1e-2)
    assert there.upper == pytest.approx(here.upper, rel=1e-2)


@pytest.mark.parametrize("intercept", [None, 1.0])
def test_no_radius_kills_a_model_with_a_noise_free_feature(intercept):
    problem = make_problem(3, shape="ellipsoid", intercept=intercept, n=21)
    assert 0 in problem.noise.sets.scales
    assert critical_radius(problem).lower == np.inf
    assert is_null(problem.with_radii(1e6)) is False


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_beyond_the_saturation_scale_some_sample_does_not(intercept):
    problem = make_problem(5, intercept=intercept, n=30, radius=0.02)
    if intercept == 0:
        weights = np.where(
            problem.y > 0, 1 / (problem.y > 0).sum(), 1 / (problem.y < 0).sum()
        )
        assert saturation_scale(problem) == 0
        problem = problem.with_weights(weights)
    scale = saturation_scale(problem)
    for factor, saturated in ((0.99, True), (1.01, False)):
        scaled = problem.with_weights(problem.weights * scale * factor)
        alpha = solve_conic(scaled).alpha
        assert np.all(alpha > (1 - 1e-5) * scaled.weights) == saturated


# -- a norm penalty --------------------------------------------------------------------


def penalised(problem, norm_penalty):
    return replace(problem, penalty=norm_penalty)


def in_closed_form(problem):
    """Ω°(Σc_iz_i) − Σc_iρ_i, the norm penalty from which on w* = 0."""
    c = problem.weights
    return problem.noise.sets.dual_norm(problem.rows.combine(c)) - c @ problem.radii


#: Shapes without scales of 0, which no penalty rules out.
NOISY = {
    "l2": "l2",
    "linf": "linf",
    "l1": "l1",
    "scales": np.array([1.0, 2.0, 0.5, 1.0]),
    "box": Box([1.0, 2.0, 0.5, 1.0]),
    "cross-polytope": CrossPolytope([1.0, 2.0, 0.5, 1.0]),
}


@pytest.mark.parametrize("shape", NOISY)
@pytest.mark.parametrize("intercept", [None, 0.0, 100.0])
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_a_penalty_leaves_no_model_exactly_from_the_closed_form_on(shape, intercept, C):
    """Classes of one weight: α = c is the only point, with an intercept as without."""
    rng = np.random.default_rng(0)
    y = np.tile([1, -1], 20)
    X = rng.normal(size=(40, 4)) + 0.5 * y[:, None]
    options = {"C": C, "radius": 0.05, "noise": NOISY[shape]}
    problem = Problem.from_data(X, y, intercept=intercept, **options)
    limit = in_closed_form(problem)
    assert limit > 0
    assert is_null(penalised(problem, limit * (1 + 1e-9))) is True
    assert is_null(penalised(problem, limit * (1 - 1e-9))) is False
    assert null_certificate(penalised(problem, limit * (1 + 1e-9))) is not None
    assert null_certificate(penalised(problem, limit * (1 - 1e-9))) is None
    options |= intercept_options(intercept) | {"tol": 1e-8, "quiet": True}
    for factor, dead in ((1 + 1e-6, True), (1 - 1e-2, False)):
        found = solve(X, y, norm_penalty=factor * limit, **options)
        assert found.converged
        assert found.w.any() != dead
    # It depends on C: the same penalty leaves a model where samples weigh more.
    limit *= 1 + 1e-6
    assert solve(X, y, norm_penalty=limit, **options | {"C": 1.1 * C}).w.any()
    scale = penalised(problem, limit).null_scale(problem.weights)
    assert scale == pytest.approx(1 + 1e-6)
    start = saturation_scale(penalised(problem, limit))
    assert (1 - 1e-11) * scale < start < scale  # null there whatever rounding does


@pytest.mark.parametrize("shape", ["l2", "linf", "l1", "box"])
@pytest.mark.parametrize("intercept_penalty", [0.0, 1.0])
def test_the_bracket_of_uneven_classes_holds_the_truth_under_a_penalty(
    shape, intercept_penalty
):
    """Σα_i is 2·10 + λ_b wherever α may be, so s₀ counts as a radius of s₀/Σα_i."""
    rng = np.random.default_rng(6)
    y = np.where(np.arange(30) % 3 == 0, 1, -1)
    X = rng.normal(size=(30, 4)) + 0.5 * y[:, None]
    options = {"noise": NOISY[shape], "intercept_penalty": intercept_penalty}
    free, mass = critical_radius(X, y, **options), 20 + intercept_penalty
    options["norm_penalty"] = 0.3 * free.upper * mass
    bracket = critical_radius(X, y, **options)
    assert bracket.width <= 0.01
    assert bracket.lower <= free.upper - options["norm_penalty"] / mass
    assert bracket.upper >= free.lower - options["norm_penalty"] / mass
    for radius, alive in ((0.99 * bracket.lower, True), (1.01 * bracket.upper, False)):
        found = solve(X, y, radius=radius, tol=1e-8, quiet=True, **options)
        assert found.converged
        assert found.w.any() == alive


def test_noise_of_exactly_the_critical_size_leaves_the_null_model():
    X, y = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0])
    for radius, null in ((1.0, True), (0.5, False)):
        problem = Problem.from_data(X, y, C=1.0, radius=radius, intercept=None)
        assert is_null(problem) is null


def test_columns_are_as_large_as_their_largest_value_of_either_sign():
    X = np.array([[1.0, -7.0, 0.0], [-3.0, -2.0, 0.0]])
    for form in (np.asarray, sp.csr_array):
        np.testing.assert_array_equal(changes._column_sizes(form(X)), [3.0, 7.0, 0.0])
