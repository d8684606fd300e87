"""Rows tied at the margin, and the interior-point method for many rows."""

import numpy as np

from support.problems import make_problem
from wideberth.problem import Pair, Problem
from wideberth.solvers.base import Control
from wideberth.solvers.shrinking import (
    CentralPath,
    OnPath,
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


# -- the central path ----------------------------------------------------------------


def on_path(problem, goal=1e-4):
    path, control = CentralPath(problem), Control(goal)
    step_to(goal, path, control, centred=True)
    path.centre(control)
    return path


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


def test_a_solution_on_the_path_is_certified_afresh():
    X, y = rare_class(6_000)
    problem = Problem.from_data(X, y, C=1.0, intercept=0.0)
    found = solve_tied(problem, Control(1e-5), on_path(problem))
    assert isinstance(found, OnPath)
    assert found.certificate.proves(1e-5)
    assert found.point.value == problem.at(found.point.w, found.point.b).value
