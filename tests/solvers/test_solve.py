import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning

from problems import intercept_options, make_problem, problems
from wideberth import NullModelWarning, solve
from wideberth.problem import Pair, Problem
from wideberth.problem.certificate import Certificate
from wideberth.problem.endpoints import critical_radius
from wideberth.screening import Partition, Reduction
from wideberth.solvers.attempts import middle_of_best
from wideberth.solvers.conic import solve_conic
from wideberth.solvers.interior import InteriorPoint

SMOOTH = ("l2", "ellipsoid")


def arguments(problem, **changes):
    """What `solve` needs to rebuild a problem."""
    return {
        "X": problem.rows.X,
        "y": problem.y,
        "sample_weight": problem.weights,
        "radius": problem.radii,
        "noise": problem.noise.sets,
        "random_state": 0,
    } | (intercept_options(problem.intercept) | changes)


def quietly(**kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NullModelWarning)
        return solve(**kwargs)


@given(problems(shapes=SMOOTH, log_C=(-6, 6)))
@settings(max_examples=300)
def test_every_problem_is_solved_and_certified(problem):
    solution = quietly(**arguments(problem, tol=1e-7))
    assert solution.converged
    assert problem.gap(solution.w, solution.b, solution.alpha) == pytest.approx(
        solution.gap, abs=2 * solution.certificate.rounding
    )
    assert solution.relative_gap <= 1e-7
    assert solution.gap >= -solution.certificate.rounding
    assert np.all(solution.alpha >= 0)
    assert np.all(solution.alpha <= problem.weights)


@given(problems(shapes=SMOOTH, log_C=(-2, 2), max_n=25))
@settings(max_examples=60)
def test_agrees_with_the_oracle(problem):
    solution = quietly(**arguments(problem, tol=1e-10))
    oracle = solve_conic(problem).certificate
    assert solution.primal <= oracle.primal * (1 + 1e-8)
    assert solution.primal >= oracle.dual * (1 - 1e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_an_answer_is_proven_once(fit_intercept, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    proofs, of = [], Certificate.of
    monkeypatch.setattr(
        Certificate, "of", lambda *pair: proofs.append(pair) or of(*pair)
    )
    solve(X, y, C=1.0, radius=0.05, fit_intercept=fit_intercept)
    assert sum(len(point.margins) == len(y) for point, _ in proofs) == 1


@pytest.fixture(scope="module")
def tall():
    """Large enough for subsamples, working sets and screening to take part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 12)) * rng.uniform(0.1, 3, size=12)
    X = np.column_stack([X, X[:, 0] - X[:, 1], rng.random(20_000) < 0.002])
    y = np.where(X @ rng.normal(size=14) + rng.normal(size=20_000) > 0.3, 1, -1)
    return X, y


@pytest.mark.parametrize("intercept", [None, 1.0, 0.0])
@pytest.mark.parametrize("radius", [0.0, 0.1])
@pytest.mark.parametrize("C", [1e-3, 10.0])
def test_tall_data_needs_few_passes(tall, C, radius, intercept):
    X, y = tall
    solution = solve(
        X, y, C=C, radius=radius, random_state=0, **intercept_options(intercept)
    )
    assert solution.converged
    # At most 45 on any kernels tried; `make bench-guard` watches the counts.
    assert solution.passes < 200
    problem = Problem.from_data(X, y, C=C, radius=radius, intercept=intercept)
    engine = InteriorPoint(problem)
    while engine.relative_gap > 1e-9:
        assert engine.step()
    assert solution.primal == pytest.approx(engine.primal, rel=2e-6)


def test_warm_start_from_the_solution_takes_no_step(tall):
    X, y = tall
    options = {"C": 0.1, "radius": 0.05, "random_state": 0}
    solution = solve(X, y, **options)
    again = solve(X, y, init=solution, **options)
    # Equal rows are looked for, and rows near the margin are gathered once more.
    assert again.passes <= 3.1
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.w, solution.w)


def test_a_poor_warm_start_is_only_a_start():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(14_000, 40))  # too large for second attempts
    y = np.where(X[:, 0] + rng.normal(size=14_000) > 0.3, 1, -1)
    start = np.zeros(X.shape[1]), 0.0, np.zeros(X.shape[0])
    solution = solve(X, y, C=0.01, tol=1e-3, init=start, fit_intercept=False)
    assert solution.converged
    assert solution.w.any()


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_raw_features_of_very_different_size_converge_far(C):
    X, y = load_wine(return_X_y=True)
    options = {"C": C, "tol": 1e-9, "fit_intercept": True}
    assert solve(X, np.where(y == 0, 1, -1), max_iter=200, **options).converged


def test_quiet_leaves_warnings_in_the_solution(tall):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution = solve(*tall, max_iter=3, quiet=True, fit_intercept=False)
    (note,) = solution.notes
    assert isinstance(note, ConvergenceWarning)


@pytest.mark.parametrize("noise", ["l2", "linf"])
def test_samples_of_no_weight_do_not_move_an_intercept_that_is_not_unique(noise):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), np.resize([1, -1], 20)
    given = {"C": 0.02, "noise": noise, "radius": 0.01, "tol": 1e-8}
    alone = solve(X, y, **given)
    weights = np.repeat([1.0, 0.0], 20)
    beside = solve(np.r_[X, 30 * X], np.r_[y, y], sample_weight=weights, **given)
    assert beside.b == pytest.approx(alone.b, abs=1e-6)


@pytest.mark.parametrize("intercept", [None, 1.0, 0.0])
def test_null_model_warns_and_names_the_critical_radius(intercept):
    problem = make_problem(1, n=30, intercept=intercept)
    bracket = critical_radius(problem)
    options = arguments(problem)
    with pytest.warns(
        NullModelWarning, match=r"critical radius \(one for all samples\) is"
    ):
        dead = solve(**options | {"radius": 1.01 * bracket.upper})
    assert not dead.w.any()
    assert dead.converged
    alive = solve(**options | {"radius": 0.99 * bracket.lower, "tol": 1e-8})
    assert alive.converged
    assert alive.w.any()


def test_not_converging_is_said_with_gap_tolerance_and_remedy(tall):
    X, y = tall
    with pytest.warns(ConvergenceWarning, match=r"relative gap .* > tol=.*max_iter=3"):
        solution = solve(X, y, max_iter=3, fit_intercept=False)
    assert not solution.converged
    assert np.isfinite(solution.w).all()
    with pytest.warns(ConvergenceWarning, match="raise max_seconds"):
        solve(X, y, max_seconds=1e-6, fit_intercept=False)


def test_rows_settled_wrongly_cannot_make_an_unbalanced_dual_point():
    # Few weights, small C: the first working set folds more of one class than the
    # free rows of the other can balance. D of such α says nothing.
    problem = make_problem(
        1, n=25_000, d=5, intercept=0.0, separation=0.3, weights="some zero"
    )
    solution = solve(
        problem.rows.X,
        problem.y,
        C=1e-5,
        radius=0.05,
        sample_weight=problem.weights,
        fit_intercept=True,
        tol=1e-9,
        random_state=0,
    )
    assert 0 <= solution.relative_gap <= 1e-9
    assert abs(solution.alpha @ problem.y) <= 1e-12 * solution.alpha.sum()


def test_a_dual_point_that_cannot_be_balanced_has_no_value():
    problem = make_problem(0, n=40, intercept=0.0)
    one_class = Partition(
        np.zeros(40, dtype=bool), problem.y > 0, np.zeros(40), np.zeros(40)
    )
    small = Reduction.of(problem).shrink(one_class)
    light = small.problem.with_weights(0.1 * small.problem.weights)
    assert light.dual_at(np.zeros(light.n)).value == -np.inf


@pytest.mark.parametrize("zeros", [0, 9])
@pytest.mark.parametrize("n", [8, 40, 3000])
def test_the_middle_beside_a_flat_intercept_is_that_of_all_sorted(n, zeros):
    rng = np.random.default_rng(n)
    X, y = rng.normal(size=(n, 3)), np.where(np.arange(n) % 2, 1, -1)
    weights = np.ones(n)
    weights[:zeros] = 0.0 if n > 10 else 1.0
    problem = Problem.from_data(X, y, intercept=0.0, sample_weight=weights)
    w = rng.normal(size=3)
    best = problem.at(w)
    dual = problem.dual_at(0.1 * problem.weights)
    breaks = np.sort((problem.y * problem.at(w, 0.0).slack)[problem.weights > 0])
    k = np.searchsorted(breaks, best.b)
    off = problem.at(w, breaks[k - 1] + 0.1 * (breaks[k] - breaks[k - 1]))
    assert off.value == pytest.approx(best.value, rel=1e-12)
    found = middle_of_best(problem, Pair(off, dual), 1e-4)
    assert found.point.b == pytest.approx(best.b, rel=1e-9)
    assert found.point.b == pytest.approx(0.5 * (breaks[k - 1] + breaks[k]), rel=1e-9)
