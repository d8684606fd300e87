"""Newton's method on a smoothed hinge, and where it is chosen."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth import NullModelWarning, solve
from wideberth.problem import Problem
from wideberth.solvers import newton as newton_solver
from wideberth.solvers.base import Control, Random
from wideberth.solvers.driver import solve_in_memory
from wideberth.solvers.newton import Newton, smoothing_pays
from wideberth.solvers.smoothed import Smoothed, solve_smoothed

NOISES = {"none": (0.0, "l2"), "ball": (0.1, "l2"), "ellipsoid": (0.1, "scales")}


def table(n=3000, d=150, seed=0, sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ np.diag(1.0 / np.arange(1, d + 1) ** 0.5)
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0.2, 1.0, -1.0)
    return (sp.csr_array(np.where(np.abs(X) > 0.1, X, 0.0)) if sparse else X), y


def problem_of(noise="none", intercept=None, C=0.3, norm_penalty=0.0, **shape):
    X, y = table(**shape)
    radius, name = NOISES[noise]
    if name == "scales":
        name = np.linspace(0.0, 2.0, X.shape[1])
    return Problem.from_data(
        X,
        y,
        C=C,
        radius=radius,
        noise=name,
        intercept=intercept,
        norm_penalty=norm_penalty,
    )


def seeded(tol, **limits):
    return Control(tol, random=Random(0), **limits)


def smoothed_value(problem, width, w, b):
    """P_h as its definition has it."""
    slack = problem.slack(w, b)
    share = np.clip(slack / width + 0.5, 0.0, 1.0)
    loss = share * slack - 0.5 * width * (share - 0.5) ** 2 + width / 8
    value = 0.5 * w @ w + 0.5 * (problem.intercept or 0.0) * b * b
    value += problem.weights @ loss
    value += problem.penalty * problem.noise.sets.support(w)
    return value


def at_some_point(problem, width=0.7, seed=1):
    rng = np.random.default_rng(seed)
    search = Smoothed(problem, seeded(1e-6))
    w = rng.normal(size=problem.rows.d) / problem.rows.d**0.5
    b = 0.3 if problem.intercept is not None else 0.0
    search.point, search.width = problem.at(w, b), width
    search._weigh()
    search._differentiate()
    return search


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("intercept", [None, 0.0, 2.0])
@pytest.mark.parametrize("norm_penalty", [0.0, 0.5])
def test_derivatives_are_those_of_the_smoothed_objective(
    noise, intercept, norm_penalty
):
    problem = problem_of(
        noise,
        intercept,
        n=400,
        d=7,
        norm_penalty=norm_penalty if noise != "none" else 0,
    )
    search = at_some_point(problem)
    w, b, d = search.point.w, search.point.b, problem.rows.d
    v = np.append(w, b) if intercept is not None else w

    def value(v):
        return smoothed_value(problem, search.width, v[:d], v[d] if v.size > d else 0.0)

    def gradient(v):
        moved = at_some_point(problem)
        moved.point = problem.at(v[:d], v[d] if v.size > d else 0.0)
        moved._weigh()
        moved._differentiate()
        return moved.gradient

    step = 1e-5
    units = step * np.eye(v.size)
    slopes = [(value(v + unit) - value(v - unit)) / (2 * step) for unit in units]
    np.testing.assert_allclose(search.gradient, slopes, rtol=1e-5, atol=1e-5)
    tiny = 1e-9 * np.eye(v.size)  # so near that no row leaves the band
    bends = np.array([(gradient(v + u) - gradient(v - u)) / 2e-9 for u in tiny])
    inside = np.flatnonzero((search.share > 0) & (search.share < 1))
    curvature = search._curvature_of(inside)
    exact = np.array([curvature(unit) for unit in np.eye(v.size)])
    scale = np.abs(exact).max()
    np.testing.assert_allclose(exact, exact.T, atol=1e-9 * scale)
    np.testing.assert_allclose(exact, bends, atol=1e-4 * scale)
    factor = search._factor(search._gram(inside, problem.weights[inside]))
    solved = np.array([factor.solve(row) for row in exact])
    np.testing.assert_allclose(solved, np.eye(v.size), atol=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("intercept", [None, 0.0, 2.0])
def test_answers_are_those_of_the_interior_point_method(sparse, noise, intercept):
    problem = problem_of(noise, intercept, n=4000, d=70, sparse=sparse)
    best = solve_in_memory(problem, seeded(1e-9))
    for tol in (0.1, 1e-3, 1e-7):
        control = seeded(tol)
        found = solve_smoothed(problem, control)
        assert found.certificate.proves(tol)
        assert found.dual.value <= best.point.value + best.point.rounding
        assert found.point.value >= best.dual.value - best.dual.rounding
        assert control.trace[-1]["gap"] <= tol * found.point.value
        afresh = problem.rows.margins(found.point.w)
        np.testing.assert_array_equal(found.point.margins, afresh)


@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_a_line_search_ends_below_its_start(radius):
    """A slope that is little beside the first one may be far beyond the minimum."""
    rng = np.random.default_rng(0)
    X, right = rng.normal(size=(3000, 3)), rng.random(3000) < 0.97
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] = np.where(right, 1.0, -1.0) * y
    search = Smoothed(Problem.from_data(X, y, C=10.0, radius=radius), seeded(1e-3))
    start = search.point.value
    assert search._move(np.array([100.0, 0.0, 0.0]))
    assert search.point.value < 0.5 * start


def test_separable_data_of_large_weight_is_solved():
    X, _ = table(n=4000, d=70)
    y = np.where(X @ np.ones(70) > 0, 1.0, -1.0)
    X += 0.5 * y[:, None] / 70**0.5
    for C in (1.0, 1e8):
        problem = Problem.from_data(X, y, C=C)
        assert solve_smoothed(problem, seeded(1e-6)).certificate.proves(1e-6)


def test_noise_that_leaves_no_way_down_is_left_to_the_other_method():
    X, y = table(n=4000, d=70)
    problem = Problem.from_data(X, y, C=1.0, radius=50.0)
    search = Smoothed(problem, seeded(1e-6))
    assert search.run() is None
    assert search.astray
    with pytest.warns(NullModelWarning):
        found = solve(X, y, C=1.0, radius=50.0, solver="newton", fit_intercept=False)
    assert found.converged
    assert not found.w.any()


@pytest.mark.parametrize("radius", [0.1, 0.3])
def test_much_noise_has_a_way_down_from_the_kink_at_zero(radius):
    sizes = np.arange(1, 71)  # what tells the classes apart takes a long w
    X = np.random.default_rng(0).normal(size=(4000, 70)) / sizes
    y = np.where(X @ sizes + 5 * X[:, 0] > 0, 1.0, -1.0)
    problem = Problem.from_data(X, y, C=1.0, radius=radius)
    search = Smoothed(problem, seeded(1e-2))
    found = search.run()
    assert found is not None
    assert found.certificate.proves(1e-2)


def test_where_steps_are_over_the_best_points_come_back():
    problem = problem_of(n=4000, d=70)
    control = seeded(1e-9, max_iter=2)
    found = Newton().solve(problem, control)
    assert control.steps == 2
    assert found.status == "out of steps"
    assert found.point.margins.size == found.dual.alpha.size == problem.n


# -- where it is chosen -------------------------------------------------------------


def test_it_is_for_rows_and_features_that_are_many(monkeypatch):
    assert smoothing_pays(problem_of(n=4000, d=200))
    assert not smoothing_pays(problem_of(n=1000, d=20))  # a table fits
    assert not smoothing_pays(problem_of(n=4000, d=100))  # Gram matrices are cheap
    X, y = table(n=4000, d=200)
    assert not smoothing_pays(Problem.from_data(X, y, C=1.0, radius=0.1, noise="linf"))
    foreign = Problem.from_data(X, y, C=1.0, X_err=np.full(X.shape, 0.1))
    assert not smoothing_pays(foreign)
    monkeypatch.setattr(newton_solver, "_GRAM_PASSES", 0.0)
    assert smoothing_pays(problem_of(n=4000, d=100))
    assert not smoothing_pays(problem_of(n=200_000, d=4))  # a sample does better
