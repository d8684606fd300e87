"""Boxes and cross-polytopes in the interior-point method, and what it stands on."""

import itertools

import numpy as np
import pytest

from polyhedral import SHAPES, assert_same, make_arguments
from problems import INTERCEPTS, intercept_options
from wideberth import Box, CrossPolytope, solve
from wideberth.problem import Problem
from wideberth.solvers.algebra import Curvature, Factor, ThinFactor

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
