"""The compiled interior-point method, held against the problem's own P and D."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import make_problem
from wideberth.kernels.interior import minimise
from wideberth.problem import Problem
from wideberth.screening import Partition, Reduction
from wideberth.solvers.interior import InteriorPoint
from wideberth.solvers.small import _STEERING, _small_problem

SHAPES = ("l2", "linf", "ellipsoid", "box")
INTERCEPTS = (None, 0.0, 0.5)


def steering(most_steps=100):
    return _STEERING | {"most_steps": most_steps}


def stepped(
    problem, goal=1e-8, slack=None, least=None, many=None, few=0, steps=100, begin=None
):
    """x, α, steps, rows read and gap; without `least` no row is settled on the way."""
    n = problem.n
    least, many = n + 1 if least is None else least, n // 2 if many is None else many
    x, share, *counts = minimise(
        _small_problem(problem), goal, steering(steps), least, many, slack, few, begin
    )
    return x, problem.weights * share, *counts


def pair(problem, x, alpha):
    b = None if problem.intercept is None else float(x[-1])
    return problem.at(x[: problem.rows.d], b), problem.dual_at(alpha)


def gap_of(problem, x, alpha):
    """Relative gap, evaluated on the problem."""
    point, dual = pair(problem, x, alpha)
    return (point.value - dual.value) / max(abs(point.value), problem.least_scale)


def random_targets(problem, seed):
    return problem.with_targets(np.random.default_rng(seed).normal(size=problem.n))


def folded(problem, seed):
    """The problem with some rows at α_i = c_i folded, whatever is best for them."""
    away = np.random.default_rng(seed).random(problem.n) < 0.2
    nothing = np.zeros(problem.n, dtype=bool)
    partition = Partition(nothing, away, 0.0 * problem.y, 0.0 * problem.y)
    return Reduction.of(problem).shrink(partition).problem


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(5, 80),
    d=st.integers(1, 9),
    C=st.sampled_from([0.01, 1.0, 30.0]),
    radius=st.sampled_from([0.0, 0.1, 1.0]),
    shape=st.sampled_from(SHAPES),
    intercept=st.sampled_from(INTERCEPTS),
    weights=st.sampled_from(["ones", "random", "some zero"]),
    penalty=st.sampled_from([0.0, 0.3]),
    targets=st.booleans(),
    folds=st.booleans(),
)
def test_the_gap_is_never_too_small_and_closes(
    seed, n, d, C, radius, shape, intercept, weights, penalty, targets, folds
):
    """Every shape, intercept, weight, penalty, fold, and targets of both signs."""
    problem = make_problem(
        *(seed,),
        **{"n": n, "d": d, "C": C, "radius": radius, "shape": shape},
        **{"intercept": intercept, "weights": weights, "norm_penalty": penalty},
        spread_radii=True,
    )
    if targets:
        problem = random_targets(problem, seed)
    if folds and intercept != 0:  # a fold may leave a free intercept unbalanced
        problem = folded(problem, seed)
    x, alpha, *_, gap = stepped(problem, 1e-7)
    if not gap <= 1e-7:  # nothing is mended at the end of float64
        return
    point, dual = pair(problem, x, alpha)
    scale = max(abs(point.value), problem.least_scale)
    rounding = point.rounding + dual.rounding
    assert point.value - dual.value <= 1.01e-7 * scale + rounding


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("targets", [False, True])
def test_usual_problems_are_solved(shape, intercept, targets):
    for seed in range(5):
        problem = make_problem(seed, n=200, d=6, shape=shape, intercept=intercept)
        if targets:
            problem = random_targets(problem, seed)
        for least in (None, 24):
            x, alpha, steps, _, gap = stepped(problem, least=least)
            assert gap <= 1e-8
            assert steps <= 40
            assert gap_of(problem, x, alpha) <= 2e-8


@pytest.mark.parametrize("shape", ["l2", "linf", "ellipsoid"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_its_points_are_those_of_the_method_in_numpy(steps, shape, intercept):
    problem = make_problem(0, n=60, shape=shape, intercept=intercept)
    engine = InteriorPoint(problem)
    x, alpha, taken, read, _ = stepped(problem, 0.0, steps=steps)
    for _ in range(steps):
        assert engine.step()
    # A goal that is not met is tried again without settling rows.
    assert taken == 2 * steps
    assert read == 2 * (steps + 1) * problem.n
    # The Gram matrix is of float32, and later rows are left out of it.
    tol = 1e-5 if steps < 2 else 2e-2
    assert np.allclose(x, engine.x, rtol=tol, atol=tol)
    assert np.allclose(alpha, engine.alpha, rtol=tol, atol=tol)


def test_gram_matrices_are_of_float32_only_where_its_rounding_does_not_matter():
    """Near-copies of opposite label: late steps need more than seven digits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=120) > 0, 1, -1)
    X, y = np.vstack((X, X[:30] + 1e-4)), np.concatenate((y, -y[:30]))
    problem = Problem.from_data(1e3 * X, y, C=1e4)
    x, alpha, steps, _, gap = stepped(problem)
    assert gap <= 1e-8
    assert steps <= 40
    assert gap_of(problem, x, alpha) <= 2e-8


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("targets", [False, True])
def test_steps_on_few_rows_lead_to_the_optimum_of_all(shape, intercept, targets):
    problem = make_problem(
        3, n=600, d=6, shape=shape, intercept=intercept, norm_penalty=0.1
    )
    if targets:
        problem = random_targets(problem, 3)
    x, alpha, *_ = stepped(problem, 1e-9)
    best = pair(problem, x, alpha)[0].slack
    away = 0.1 * np.random.default_rng(0).normal(size=600)
    # As at the optimum, about as there, as little as nothing, and all wrong.
    for slack in (best, best + away, best - 0.3, -best):
        kept = slack.copy()
        x, alpha, steps, read, gap = stepped(problem, 1e-6, slack, least=24)
        assert gap <= 1e-6
        assert gap_of(problem, x, alpha) <= 1.2e-6
        np.testing.assert_array_equal(slack, kept)
        assert slack is not best or read < 0.1 * (steps + 1) * 600


def test_rows_are_settled_on_the_way():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 4))
    y = np.where(X[:, 0] + rng.normal(size=4000) > 0, 1, -1)
    problem = Problem.from_data(X, y, intercept=0.0)
    x, alpha, steps, read, gap = stepped(problem, least=16)
    assert gap <= 1e-8
    assert gap_of(problem, x, alpha) <= 2e-8
    assert read < 0.6 * (steps + 1) * 4000
    _, _, slow, all_read, _ = stepped(problem)
    assert all_read == (slow + 1) * 4000


def test_rows_settled_wrongly_come_back():
    """Rows as far from the margin as their slacks are wrong are all at a wrong bound."""
    problem = make_problem(1, n=600, d=6, intercept=0.0)
    x, alpha, *_ = stepped(problem, 1e-9)
    slack = pair(problem, x, alpha)[0].slack
    order = np.argsort(np.abs(slack))
    slack[order[100:160]] *= -1
    x, alpha, steps, read, _ = stepped(problem, 1e-6, slack, least=24)
    assert gap_of(problem, x, alpha) <= 1.2e-6
    assert read < 0.5 * (steps + 1) * 600


@pytest.mark.parametrize(("few", "rows"), [(0, 24), (100, 100), (301, 600)])
def test_steps_are_taken_on_as_many_rows_as_are_asked_for(few, rows):
    """Or on all, where that is more than half of them."""
    problem = make_problem(0, n=600, d=6)
    x, alpha, *_ = stepped(problem, 1e-9)
    slack = pair(problem, x, alpha)[0].slack
    _, _, steps, read, _ = stepped(problem, 1e-6, slack, least=24, few=few, steps=1)
    assert read >= 2 * rows
    _, _, steps, read, _ = stepped(problem, 1e-6, slack, least=24, few=few)
    assert read <= (steps + 1) * rows


def test_rows_of_no_weight_never_matter():
    problem = make_problem(0, n=300, d=4, intercept=0.0)
    weights = np.where(np.arange(300) < 40, 0.0, problem.weights)
    rest = problem.take(weights > 0)
    problem = problem.with_weights(weights)
    for slack in (None, np.zeros(300), np.ones(300)):
        x, alpha, *_ = stepped(problem, 1e-8, slack)
        other = stepped(rest, 1e-8)
        assert not alpha[:40].any()
        np.testing.assert_allclose(x, other[0], atol=1e-3)


def test_a_matrix_without_a_factor_is_noticed():
    """No row has a weight, and nothing else holds the intercept."""
    problem = replace(make_problem(0, intercept=0.0), weights=np.zeros(30))
    assert not stepped(problem)[-1] <= 1e-8


def test_the_gap_is_relative_to_the_least_scale():
    """Targets that a plane through all rows meets: P* is next to nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    problem = Problem.from_data(X, np.where(rng.random(100) < 0.5, 1, -1), C=1e6)
    problem = problem.with_targets(problem.y * (X @ [1e-3, 2e-3, -1e-3]))
    x, alpha, steps, _, gap = stepped(problem, 1e-6)
    assert gap <= 1e-6
    assert steps <= 60
    assert gap_of(problem, x, alpha) <= 1.1e-6


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("off", [0.01, 100.0])
def test_from_a_model_it_gets_there_and_sooner_from_a_near_one(shape, intercept, off):
    problem = make_problem(3, n=200, d=5, shape=shape, intercept=intercept)
    x, _, steps, _, _ = stepped(problem, least=20)
    w, b = x[:5], 0.0 if intercept is None else x[-1]
    moves = off * np.random.default_rng(0).normal(size=6) * abs(w).max()
    begin = np.append(w, b) + moves
    slack = problem.slack(begin[:5], begin[5])
    found = stepped(problem, slack=slack, least=20, begin=begin)
    assert found[4] <= 1e-8
    assert gap_of(problem, *found[:2]) <= 2e-8
    if off < 1:
        assert found[2] <= steps
