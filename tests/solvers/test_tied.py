"""Rows tied at the margin, and the interior-point method for many rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from support.problems import make_problem

from wideberth.problem import Pair, Problem
from wideberth.solvers.base import Control
from wideberth.solvers.interior import class_barrier
from wideberth.solvers.shrinking import (
    CentralPath,
    OnPath,
    centred_multipliers,
    is_tied,
    solve_tied,
    step_to,
)


def rare_class(n=60_000, d=6, share=0.02, seed=0):
    """Labels that hardly depend on the features: w is nearly 0, and rows are tied."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(n, d)) + 1e-3 * rng.normal(size=(n, d))
    y = np.where(rng.random(n) < share * (1 + 0.2 * (X[:, 0] > 3)), 1.0, -1.0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def large_problem(sparse=False, radius=0.1, seed=0):
    """One whose rows are too many for a table of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6_000, 50))
    y = np.where(X[:, 0] + rng.normal(size=6_000) > 0.5, 1.0, -1.0)
    X = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0)) if sparse else X
    return Problem.from_data(X, y, C=0.1, radius=radius, intercept=0.0)


def weighted_by_class(problem, heavy=50.0):
    """The problem as a sample has it: few rows of the common class, heavy ones."""
    weights = np.where(problem.y < 0, heavy, 1.0) * problem.weights
    return problem.take(np.arange(problem.n), weights=weights)


# -- barriers and reads --------------------------------------------------------------


def test_classes_weigh_the_same_in_the_barrier():
    problem = weighted_by_class(make_problem(0, n=200, d=3))
    barrier = class_barrier(problem)
    by_class = [(problem.weights / barrier)[problem.y == side] for side in (-1, 1)]
    assert by_class[0].mean() == pytest.approx(by_class[1].mean())
    assert barrier.max() == 1
    assert class_barrier(problem.take(np.flatnonzero(problem.y > 0))) is None


# -- the central path ----------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-12, 1e-3, 10.0])
def test_centred_pairs_solve_their_equations(mu):
    slack = np.array([-1e6, -3.0, -1e-9, 0.0, 1e-9, 0.5, 1e6])
    p, q = centred_multipliers(slack, mu)
    assert min(p.min(), q.min()) > 0
    np.testing.assert_allclose(mu / p + mu / q, 1.0, rtol=1e-12)  # 1−a and a
    np.testing.assert_allclose(p - q, slack, rtol=1e-9, atol=4 * mu * 1e-15)


def on_path(problem, goal=1e-4):
    path, control = CentralPath(problem), Control(goal)
    step_to(goal, path, control, centred=True)
    path.centre(control)
    return path


@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_a_path_carried_over_to_its_own_rows_is_where_it_was(radius):
    X, y = rare_class(3_000)
    problem = Problem.from_data(X, y, C=1.0, radius=radius, intercept=0.0)
    path = on_path(problem)
    products = path.dual_slack * path.multiplier / path.held
    assert np.sqrt(np.mean((products - 1) ** 2)) <= 0.1
    before = problem.rows.passes.rows_touched
    other = path.carried_over(problem)
    assert problem.rows.passes.rows_touched == before + problem.n
    assert other.mismatch() < 0.1
    np.testing.assert_allclose(other.dual_slack.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        other.combined,
        other.block.rows.combine(other.alpha) + other.block.rows.folded,
        atol=1e-9,
    )
    np.testing.assert_allclose(other.slack, path.slack, atol=1e-9)


def test_ties_are_told_from_a_vertex():
    X, y = rare_class(3_000)
    problem = Problem.from_data(X, y, C=1.0, intercept=0.0)
    tie = on_path(problem)
    found = Pair(problem.at(tie.w, tie.b), problem.dual_at(tie.alpha))
    assert is_tied(problem, found)
    vertex = make_problem(1, n=3_000, d=6, separation=0.5)
    path = on_path(vertex, 1e-7)
    found = Pair(vertex.at(path.w), vertex.dual_at(path.alpha))
    assert not is_tied(vertex, found)


def test_a_path_of_other_data_is_not_gone_on_with():
    X, y = rare_class(3_000)
    path = on_path(Problem.from_data(X, y, C=1.0, intercept=0.0), 1e-6)
    other = make_problem(1, n=3_000, d=6, C=1.0, intercept=0.0, separation=2.0)
    before = other.rows.passes.rows_touched
    assert solve_tied(other, Control(1e-4), path) is None
    assert other.rows.passes.rows_touched == before + other.n  # one read tells


def test_noise_takes_part_in_the_mismatch():
    problem = large_problem(radius=0.1)
    path = on_path(problem, 1e-5)
    assert np.linalg.norm(path.w) > 0.1
    other = path.carried_over(problem)
    whole, other.block.h = other.mismatch(), 0.0 * other.block.h
    assert whole < 0.3 * other.mismatch()  # what noise holds back counts


def test_a_solution_on_the_path_is_certified_afresh():
    X, y = rare_class(6_000)
    problem = Problem.from_data(X, y, C=1.0, intercept=0.0)
    found = solve_tied(problem, Control(1e-5), on_path(problem))
    assert isinstance(found, OnPath)
    assert found.certificate.proves(1e-5)
    assert found.point.value == problem.at(found.point.w, found.point.b).value
