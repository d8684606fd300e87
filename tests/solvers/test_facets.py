"""Boxes and cross-polytopes in the interior-point method, and what it stands on."""

import itertools

import numpy as np
import pytest

from polyhedral import (
    INTERCEPTS,
    SHAPES,
    assert_same,
    intercept_options,
    make_arguments,
)
from wideberth import Box, CrossPolytope, solve
from wideberth.problem import Problem
from wideberth.solvers.algebra import Curvature, Factor, ThinFactor
from wideberth.solvers.interior import InteriorPoint

CASES = list(itertools.product(SHAPES, INTERCEPTS, (0.0, 2.0)))


def assert_as_the_oracle(X, y, tol=1e-6, **options):
    """The answer is certified, and that of the conic solver; returned."""
    pytest.importorskip("cvxpy")
    found = solve(X, y, tol=1e-8, quiet=True, **options)
    oracle = solve(X, y, tol=1e-6, solver="conic", quiet=True, **options)
    assert found.converged
    assert found.certificate.bound <= 1e-8 * found.primal
    assert_same(found, oracle, tol)
    return found


# -- the optimum -----------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "intercept", "norm_penalty"), CASES)
def test_the_optimum_is_that_of_the_oracle(shape, intercept, norm_penalty):
    X, y, options = make_arguments(3, shape=shape, norm_penalty=norm_penalty)
    options |= intercept_options(intercept)
    options["sample_weight"] = np.tile([1.0, 0.0, 2.0], 10)
    options["radius"] = np.tile([0.1, 0.0], 15)
    found = assert_as_the_oracle(X, y, **options)
    assert found.solver == "newton"
    assert found.w.any()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("C", [1e-7, 1e-3, 1e3, 1e7])
def test_weights_of_all_sizes_are_served(shape, C):
    X, y, options = make_arguments(4, shape=shape, C=C, norm_penalty=0.1 * C)
    options |= intercept_options(1.0)
    found = solve(X, y, tol=1e-8, quiet=True, **options)
    assert found.converged
    problem = Problem.from_data(
        X,
        y,
        intercept=1.0,
        **{name: options[name] for name in ("C", "radius", "noise", "norm_penalty")},
    )
    pair = problem.at(found.w, found.b), problem.dual_at(found.alpha)
    assert problem.certificate(*pair).bound <= 1.01e-8 * found.primal


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("norm_penalty", [0.0, 1.0])
def test_a_single_feature_will_do(shape, norm_penalty):
    X, y, options = make_arguments(5, shape=shape, d=1, norm_penalty=norm_penalty)
    assert_as_the_oracle(X, y, **options)


@pytest.mark.parametrize("noise", [Box(np.zeros(5)), CrossPolytope(np.zeros(5))])
def test_noise_of_no_size_is_none(noise):
    X, y, options = make_arguments(6)
    exact = solve(X, y, tol=1e-9)
    for norm_penalty in (0.0, 3.0):
        options |= {"noise": noise, "norm_penalty": norm_penalty}
        assert_same(solve(X, y, tol=1e-9, **options), exact)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_radius_of_zero_leaves_the_penalty_alone(shape):
    X, y, options = make_arguments(7, shape=shape, radius=0.0)
    assert_same(solve(X, y, tol=1e-9, **options), solve(X, y, tol=1e-9))
    assert_as_the_oracle(X, y, **options | {"norm_penalty": 3.0})


# -- the steps -------------------------------------------------------------------------


def residuals(engine):
    """What is left of Qx = Σα_ie_i + Bᵀh."""
    return (
        engine.block.rows.penalty * engine.x
        - engine.combined
        - engine.block.adjoint(engine.block.h)
    )


@pytest.mark.parametrize(("shape", "intercept", "norm_penalty"), CASES)
def test_steps_of_newton_solve_their_equations(shape, intercept, norm_penalty):
    """The equations are linear, so what is left of them shrinks as one vector."""
    X, y, options = make_arguments(9, shape=shape, norm_penalty=norm_penalty)
    problem = Problem.from_data(X, y, intercept=intercept, **options)
    engine = InteriorPoint(problem)
    d, cone = problem.rows.d, engine.block
    for _ in range(6):
        before = residuals(engine)
        assert engine.step()
        after = residuals(engine)
        size = 1 + np.linalg.norm(engine.combined)
        share = (after @ before) / (before @ before)
        if np.linalg.norm(before) > 1e-9 * size:  # else all of it is rounding
            assert -1e-9 <= share < 1
        assert np.linalg.norm(after - share * before) <= 1e-9 * size
        engine.resync()  # the carried sum is that of α
        assert np.linalg.norm(residuals(engine) - after) <= 1e-9 * size
        assert cone.k.min() > 0
        assert cone.h.min() > 0
    image, t = cone.scales * engine.x[cone.noisy], engine.x[d]
    if problem.noise.sets.dual_order == 1:
        u = 0.5 * cone.scales * cone.k.sum(axis=0)
        assert u.sum() == pytest.approx(t, rel=1e-9)
        np.testing.assert_allclose(
            0.5 * cone.scales * (cone.k[0] - cone.k[1]), image, atol=1e-9 * t
        )
        force = cone.h.sum(axis=0) / cone.scales  # σ, one for all features
        np.testing.assert_allclose(force, force[0], rtol=1e-9)
    else:
        np.testing.assert_allclose(cone.k, [t + image, t - image], atol=1e-9 * t)


@pytest.mark.parametrize("border", [[0.0], [0.0, 0.0], [0.0, 2.0]])
def test_a_thin_factor_solves_what_a_dense_one_solves(border):
    rng = np.random.default_rng(11)
    n, d, border = 6, 20, np.array(border)
    K = rng.normal(size=(n, d + border.size))
    diagonal = 10.0 ** rng.uniform(-3, 3, size=d)
    matrix = np.diag(np.concatenate((diagonal, border))) + K.T @ K
    right = rng.normal(size=len(matrix))
    whole = np.concatenate((diagonal, border))
    thin = ThinFactor.of(Curvature.of(whole, K), border.size)
    dense = Factor.of(matrix)
    x = thin.solve(right)
    np.testing.assert_allclose(matrix @ x, right, atol=1e-9)
    np.testing.assert_allclose(x, dense.solve(right), rtol=1e-6, atol=1e-9)


def test_curvatures_with_signs_are_solved_with():
    """diag + squares − squares, by the smaller system."""
    rng = np.random.default_rng(16)
    d = 30
    bent = Curvature.of(rng.uniform(2, 3, size=d), 0.1 * rng.normal(size=(4, d)), -1.0)
    rows = Curvature.of(np.append(np.ones(d), [9.0, 0.0]), rng.normal(size=(6, d + 2)))
    whole = rows + bent
    matrix = whole.add_to(np.zeros((d + 2, d + 2)))
    right = rng.normal(size=d + 2)
    np.testing.assert_allclose(whole.product(right), matrix @ right, atol=1e-12)
    thin = whole.factor(2)
    assert isinstance(thin, ThinFactor)
    np.testing.assert_allclose(matrix @ thin.solve(right), right, atol=1e-9)


@pytest.mark.parametrize("shape", ["linf", "box"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_features_taken_in_on_the_way_change_no_value(shape, intercept):
    X, y, options = make_arguments(13, shape=shape, n=20, d=12, norm_penalty=0.5)
    whole = Problem.from_data(X, y, intercept=intercept, **options)
    J = np.array([0, 3, 4, 7, 8])
    engine = InteriorPoint(whole.with_features(J))
    for _ in range(4):
        assert engine.step()
    w, b, kept = engine.w.copy(), engine.b, engine.copied()
    old = dict(zip(J[kept.block.noisy].tolist(), kept.block.k.T, strict=True))
    engine.widen(whole, J)
    assert np.array_equal(engine.w[J], w)
    assert not np.delete(engine.w, J).any()
    assert engine.b == b
    before = kept.problem.at(kept.w, kept.b).value
    assert whole.at(engine.w, engine.b).value == pytest.approx(before, rel=1e-12)
    cone, t = engine.block, engine.x[12]
    for j, k in zip(cone.noisy.tolist(), cone.k.T, strict=True):
        assert j not in old or np.array_equal(k, old[j])
        assert (k[0] - k[1]) / 2 == pytest.approx(engine.w[j], abs=1e-12 * k.max())
    assert t - kept.x[5] == pytest.approx(
        0.5 * cone.scales @ cone.k.sum(axis=0)
        - 0.5 * kept.block.scales @ kept.block.k.sum(axis=0)
    )
    force = kept.block.h.sum() / kept.block.scales.sum()
    np.testing.assert_allclose(cone.h.sum(axis=0), force * cone.scales, rtol=1e-9)
    assert cone.h.min() > 0
    margins = whole.rows.margins(engine.w)
    beyond = engine.block.rows.extras @ engine.x[12:]
    np.testing.assert_allclose(engine.slack, 1 - margins - beyond, atol=1e-12)
    for _ in range(40):
        if engine.relative_gap <= 1e-9 or not engine.step():
            break
    best = solve(X, y, tol=1e-9, **options, **intercept_options(intercept))
    value = whole.at(engine.w, engine.b).value
    assert value == pytest.approx(best.primal, rel=1e-7)
