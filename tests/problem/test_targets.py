"""Targets m_i other than 1 (theory §14), held against the conic oracle.

Whatever holds for classification is claimed for targets of either sign, with ties,
over many orders of magnitude, and where the optimum is 0.
"""

from dataclasses import replace

import numpy as np
import pytest

from problems import INTERCEPTS, SHAPES, TARGETS, make_problem, solved_pair
from wideberth.problem import Pair
from wideberth.problem.changes import presolve
from wideberth.problem.endpoints import (
    Face,
    critical_scale,
    null_certificate,
    saturation_scale,
)
from wideberth.screening import screen_at_hand
from wideberth.solvers.conic import solve_conic


def optimum(problem, solver="newton", tol=1e-9):
    """The pair that a solver proves."""
    return solved_pair(problem, tol, solver)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("targets", TARGETS[1:4])
def test_the_optimum_is_that_of_the_oracle(targets, shape, intercept):
    for seed in range(3):
        problem = make_problem(
            seed, shape=shape, intercept=intercept, targets=targets, C=3.0
        )
        oracle = solve_conic(problem)
        scale = problem.at(oracle.w, oracle.b).scale
        found = optimum(problem, tol=1e-7)
        assert found.certificate.proves(1e-7)
        assert found.point.value == pytest.approx(
            oracle.certificate.primal, abs=1e-6 * scale
        )


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("targets", TARGETS[1:])
def test_screening_fires(targets, intercept):
    problem = make_problem(1, intercept=intercept, targets=targets, n=60)
    best = optimum(problem)
    assert screen_at_hand(problem, best, "ellipsoid").share > 0.5


# -- the ends --------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("targets", TARGETS[1:])
def test_the_face_holds_the_dual_optima_at_w_0(targets, intercept):
    for seed in range(20):
        problem = make_problem(
            seed, intercept=intercept, targets=targets, n=15, weights="random"
        )
        face = Face.of(problem)
        flat = replace(problem, rows=problem.rows.take_columns(np.array([], dtype=int)))
        point = flat.at(np.zeros(0))
        rng = np.random.default_rng(seed)
        other = face.project(face.caps * rng.normal(size=face.tied.size))
        for beta in (face.middle, other):
            alpha = face.whole(beta)
            assert np.all((alpha >= 0) & (alpha <= problem.weights))
            dual = problem.dual_at(alpha, combined=np.zeros(problem.rows.d))
            value = dual.value + 0.5 * dual.w @ dual.w
            assert value == pytest.approx(point.value, abs=1e-9 * point.scale + 1e-12)


@pytest.mark.parametrize("shape", ["l2", "linf"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("targets", TARGETS[1:4])
def test_the_model_dies_at_the_critical_radius(targets, intercept, shape):
    for seed in range(4):
        problem = make_problem(
            seed, intercept=intercept, targets=targets, shape=shape, radius=1.0, n=20
        )
        bracket = critical_scale(problem, tol=1e-6, max_iter=3000)
        if not np.isfinite(bracket.upper):
            continue
        above = problem.with_radii(1.01 * bracket.upper * problem.radii)
        proven = above.dual_at(null_certificate(above, above.weights, 3000))
        null = above.at(np.zeros(above.rows.d))
        assert null.value - proven.value <= 1e-9 * null.scale
        if bracket.lower > 0:
            below = problem.with_radii(0.9 * bracket.lower * problem.radii)
            assert np.linalg.norm(optimum(below).point.w) > 1e-6


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("targets", ["normal", "decades"])
def test_weights_stay_at_their_bounds_up_to_the_saturation_scale(targets, intercept):
    for seed in range(30):
        problem = make_problem(seed, intercept=intercept, targets=targets, n=12)
        scale = saturation_scale(problem)
        assert 0 < scale < np.inf
        free = intercept == 0
        face = Face.of(problem if free else replace(problem, intercept=None))
        assert not face.tied.size
        for factor, stays in ((1 - 1e-6, True), (1.1, False)):
            there = problem.with_weights(factor * scale * problem.weights)
            dual = there.dual_at(factor * scale * face.fixed)
            pair = Pair(there.at(dual.w, None if free else dual.b), dual)
            assert (pair.gap <= pair.certificate.rounding) == stays


def test_a_sample_that_is_tied_at_w_0_leaves_no_saturation_scale():
    problem = make_problem(0, targets="ties")
    assert saturation_scale(problem) == 0.0
    below = make_problem(0, targets="negative")  # all beyond their targets, α = 0
    assert saturation_scale(below) == np.inf


# -- scales, units, polish -------------------------------------------------------------


def test_gaps_are_relative_to_the_best_constant_where_the_objective_vanishes():
    rng = np.random.default_rng(0)
    problem = make_problem(0, intercept=0.0, n=20, radius=0.0, C=1e6)
    problem = problem.with_targets(problem.y * 3.0)  # m_i = y_i·3: b = 3 leaves nothing
    null = problem.at(np.zeros(problem.rows.d))
    assert null.value == 0.0
    assert null.scale == pytest.approx(1e-6 * 3.0 * 1e6 * 20)
    found = optimum(problem)
    assert found.certificate.proves(1e-9)
    spread = problem.with_targets(problem.y * 3.0 + rng.normal(size=20))
    null = spread.at(np.zeros(spread.rows.d))
    assert spread.least_scale == null.value
    assert optimum(spread, tol=1e-6).certificate.proves(1e-6)


@pytest.mark.parametrize("unit", [1e-60, 1e-12, 1e12, 1e60])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_another_unit_of_the_targets_changes_the_unit_of_the_answer(intercept, unit):
    problem = make_problem(3, intercept=intercept, targets="normal", norm_penalty=0.01)
    usual = optimum(problem, tol=1e-8)
    other = replace(
        problem.with_weights(problem.weights * unit), penalty=problem.penalty * unit
    ).with_targets(unit * problem.m)
    presolved = presolve(other)
    assert (presolved.kappa == 1.0) == (1e-9 < unit < 1e9)
    found = optimum(presolved.problem, tol=1e-8)
    assert found.certificate.proves(1e-8)
    w, b, alpha = presolved.outward(found.point.w, found.point.b, found.dual.alpha)
    size = np.linalg.norm(usual.point.w)
    assert np.linalg.norm(w / unit - usual.point.w) <= 1e-3 * size
    certificate = presolved.certificate(found.certificate)
    assert certificate.primal / unit / unit == pytest.approx(
        usual.point.value, rel=1e-6
    )
    back = presolved.inward(w, b, alpha)
    np.testing.assert_allclose(back[0], found.point.w, rtol=1e-14)
    np.testing.assert_allclose(back[2], found.dual.alpha, rtol=1e-14)
