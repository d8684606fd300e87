"""The compiled engine: the same answers as Newton's method, chosen by the call alone."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from problems import PENALISED_SHAPES, make_problem, problems
from wideberth import RobustLinearSVC, RobustLinearSVCCV, path, solve
from wideberth.kernels.sweeps import ascend
from wideberth.problem import Problem
from wideberth.solvers.attempts import prove
from wideberth.solvers.base import Control
from wideberth.solvers.compiled import mehrotra, nearest_rows, small_factor
from wideberth.solvers.compiled import small as compiled
from wideberth.solvers.compiled.nearest_rows import minimise_nearest
from wideberth.solvers.compiled.small import MANY_PROBLEMS, is_small, solve_small
from wideberth.solvers.extended_rows import ExtendedRows
from wideberth.solvers.interior import InteriorPoint
from wideberth.solvers.newton import solver as newton_solver
from wideberth.solvers.newton.settings import SETTINGS
from wideberth.solvers.registry import choose_solver, get_solver
from wideberth.solvers.starts import Predictor, carry_scaled


@pytest.fixture
def served(monkeypatch):
    """Whether the compiled engine served each problem it was asked for."""
    found = []

    def watched(*problem):
        outcome = solve_small(*problem)
        found.append(outcome is not None)
        return outcome

    monkeypatch.setattr(newton_solver, "solve_small", watched)
    return found


def data(n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1, -1)


# -- the optimum -----------------------------------------------------------------------


@settings(max_examples=60)
@given(problem=problems(shapes=PENALISED_SHAPES, norm_penalties=(0.0, 0.3)))
def test_the_answer_is_that_of_newton(problem):
    found, other = (
        prove(problem, Control(tol=1e-7), None, get_solver(name).solve)
        for name in ("compiled", "newton")
    )
    assert found.proves(1e-7) or not other.proves(1e-7)
    if found.proves(1e-7) and other.proves(1e-7):
        assert abs(found.point.value - other.point.value) <= 2e-7 * other.point.value


@pytest.mark.parametrize("intercept", [None, 0.0, 0.5])
@pytest.mark.parametrize("noise", ["l2", "linf", np.array([0.0, 1.0, 2.0, 0.5, 1, 1])])
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_its_steps_are_those_of_newton(noise, radius, intercept, served, monkeypatch):
    """On all rows; those that are left out of the Gram matrix may cost a step."""
    X, y = data()
    options = {"radius": radius, "noise": noise, "fit_intercept": intercept is not None}
    options |= {"intercept_penalty": intercept or 0.0, "tol": 1e-6}
    monkeypatch.setattr(compiled, "_can_be_swept", lambda problem: False)
    found = solve(X, y, solver="compiled", **options)
    other = solve(X, y, solver="newton", screening=None, **options)
    assert served == [True]
    assert found.solver == "compiled"
    assert found.converged
    assert found.n_iter <= other.n_iter + 2
    assert abs(found.primal - other.primal) <= 2e-6 * other.primal
    assert found.passes == 6 * (found.n_iter + 1) + 2


def test_shared_radii_weights_and_penalties_are_considered(served):
    X, y = data()
    rng = np.random.default_rng(1)
    options = {"radius": rng.uniform(0, 0.2, 120), "norm_penalty": 0.3}
    options["sample_weight"] = np.where(rng.random(120) < 0.2, 0.0, rng.random(120))
    for form in (X, X.astype(np.float32), sp.csr_array(X)):
        found = solve(form, y, solver="compiled", **options)
        other = solve(form, y, solver="newton", **options)
        assert found.converged
        assert abs(found.primal - other.primal) <= 2e-6 * other.primal
    assert served == [True] * 3


def test_the_gap_that_steers_is_that_of_the_points():
    """Equal scales have a closed form; unequal ones a bound from above."""
    X, y = data()
    for noise in ("l2", "linf", np.linspace(0.5, 2, 6)):
        problem = Problem.from_data(X, y, radius=0.1, noise=noise)
        x, alpha, _, reached = compiled._minimised(problem, 1e-3)
        assert reached
        gap = problem.gap(x[:6], None, alpha) / problem.at(x[:6]).value
        assert 0 <= gap <= 1e-3


def test_gram_matrices_are_of_float32_only_where_its_rounding_does_not_matter(served):
    """Near-copies of opposite label: late steps need more than seven digits."""
    X, y = data()
    X, y = np.vstack((X, X[:30] + 1e-4)), np.concatenate((y, -y[:30]))
    options = {"C": 1e4, "tol": 1e-8, "fit_intercept": False}
    found = solve(1e3 * X, y, solver="compiled", **options)
    assert served == [True]
    assert found.n_iter <= 40


def test_gram_matrices_are_summed_in_blocks():
    """Of as many rows as BLAS takes unpacked, and what is left over."""
    rows = np.random.default_rng(0).normal(size=(700, 60))
    part, gram = np.empty((60, 60)), np.full((60, 60), np.nan)
    mehrotra._sum_products(rows, 650, part, gram)
    np.testing.assert_allclose(gram, rows[:650].T @ rows[:650], atol=1e-9)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 8, 11])
def test_a_matrix_is_factorised(size):
    rows = np.random.default_rng(size).normal(size=(2 * size, size))
    expected = np.linalg.cholesky(rows.T @ rows).T
    matrix = rows.T @ rows
    assert small_factor.factorise(matrix)
    np.testing.assert_allclose(np.triu(matrix), expected, atol=1e-12)
    x = np.empty(size)
    small_factor.solve_factored(matrix, rows[0].copy(), x)
    np.testing.assert_allclose(rows.T @ rows @ x, rows[0], atol=1e-9)
    assert not small_factor.factorise(rows.T @ rows - 100 * np.eye(size))


# -- the rows nearest to the margin ----------------------------------------------------


@pytest.fixture
def stepped(monkeypatch):
    """Steps, rows that they read and gap of each problem that steps were taken on."""
    found = []

    def watched(*given):
        *answer, steps, read, gap = minimise_nearest(*given)
        found.append((steps, read, gap))
        return *answer, steps, read, gap

    monkeypatch.setattr(nearest_rows, "minimise_nearest", watched)
    return found


@pytest.mark.parametrize("intercept", [None, 0.0, 0.5])
@pytest.mark.parametrize("noise", ["l2", "linf", np.array([0.0, 1.0, 2.0, 0.5, 1, 1])])
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_steps_on_few_rows_lead_to_the_optimum_of_all(
    noise, radius, intercept, stepped
):
    X, y = data(n=600)
    given = {"radius": radius, "noise": noise, "intercept": intercept}
    problem = Problem.from_data(X, y, norm_penalty=radius, **given)
    x, alpha, *_ = compiled._minimised(problem, 1e-6)
    b = None if intercept is None else x[-1]
    best = problem.at(x[:6], b)
    away = 0.1 * np.random.default_rng(0).normal(size=600)
    # As at the optimum, about as there, as little as nothing, and all wrong.
    for slack in (best.slack, best.slack + away, best.slack - 0.3, -best.slack):
        stepped.clear()
        guess = compiled.Guess(alpha, slack, 0.0)
        x, alpha, steps, reached = compiled._minimised(problem, 1e-6, guess)
        ((counted, read, gap),) = stepped
        b = None if intercept is None else x[-1]
        pair = problem.at(x[:6], b), problem.dual_at(alpha)
        assert reached
        assert gap <= 1e-6
        assert counted == steps
        assert 0 <= pair[0].value - pair[1].value <= 1e-6 * pair[0].value
        few = slack is best.slack
        assert not few or read < 0.1 * (steps + 1) * 600


def test_what_settled_rows_cost_is_part_of_the_gap():
    """Of two rows that are settled one is right, the other a little wrong."""
    c, share = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.5])
    slack, inside = 1.0 - np.array([0.5, 0.25, 1.5]), np.array([False, False, True])
    x, nothing = np.array([2.0]), np.zeros(1)
    lost, primal = nearest_rows._unsettle(
        c, np.ones(1), nothing, 4.0, x, share, slack, inside
    )
    np.testing.assert_array_equal(slack, [0.5, 0.25, 1.5])
    np.testing.assert_array_equal(inside, [False, True, True])
    assert lost == 2 * 0.25
    assert primal == 4.0 + 0.5 * 4.0 + 0.5 + 0.5 + 4.5


def test_rows_as_near_as_the_nearest_are_all_marked():
    slack, inside = np.array([0.1, -0.2, 0.2, 3.0, -5.0]), np.zeros(5, dtype=bool)
    inside[4] = True
    nearest_rows._add_nearest(slack, 2, inside)
    np.testing.assert_array_equal(inside, [True, True, True, False, True])


def test_a_path_takes_its_steps_on_few_rows(stepped):
    X, y = data(n=600)
    options = {"Cs": np.geomspace(0.1, 10, 20), "radii": [0.0, 0.1], "tol": 1e-5}
    found = path(X, y, solver="compiled", **options)
    other = path(X, y, solver="newton", **options)
    assert found.converged.all()
    assert np.allclose(found.objectives, other.objectives, rtol=2e-5)
    steps, read, _ = np.sum(stepped, axis=0)
    assert len(stepped) == 40
    assert read < 0.2 * 600 * (steps + 40)


def test_rows_as_steps_take_them_are_made_anew_for_other_radii():
    problem = make_problem(0, intercept=0.0)
    rows = ExtendedRows.of(problem)
    assert ExtendedRows.of(problem.with_weights(problem.weights), rows) is rows
    other = problem.with_radii(2 * problem.radii)
    assert ExtendedRows.of(other, rows) is not rows


def test_a_start_tells_which_rows_to_step_on(stepped):
    X, y = data(n=600)
    options = {"C": 10.0, "solver": "compiled", "tol": 1e-5}
    found = solve(X, y, **options)
    stepped.clear()
    again = solve(X, y, init=(found.w, found.b, 0.9 * found.alpha), **options)
    ((steps, read, _),) = stepped
    assert again.converged
    assert read < 0.1 * 600 * (steps + 1)


# -- sweeps ----------------------------------------------------------------------------


@pytest.fixture
def swept(monkeypatch):
    """Whether sweeps got to the gap of each problem that they were tried on."""
    found = []

    def watched(*given):
        *spent, met = ascend(*given)
        found.append(met)
        return *spent, met

    monkeypatch.setattr(compiled, "ascend", watched)
    return found


@pytest.mark.parametrize("intercept", [None, 1.0])
@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_small_weights_are_swept_to_the_optimum_of_newton(
    radius, intercept, swept, monkeypatch
):
    X, _ = data(n=200, d=40)
    y = np.where(X[:, 0] > 1.2, 1, -1)  # a rare class, far from balance at first
    monkeypatch.setattr(compiled, "_MOST_PASSES", 1000)
    options = {"radius": radius, "fit_intercept": intercept is not None, "C": 1e-3}
    options |= {"intercept_penalty": intercept or 0.0, "tol": 1e-5}
    found = solve(X, y, solver="compiled", **options)
    other = solve(X, y, solver="newton", **options)
    assert swept == [True]
    assert found.converged
    assert len(found.trace) == 1  # nothing came after
    assert abs(found.primal - other.primal) <= 2e-5 * other.primal
    again = solve(X, y, solver="compiled", init=found, **options)
    assert again.converged
    assert again.n_iter < found.n_iter


def test_sweeps_that_would_take_too_long_are_given_up(swept, monkeypatch):
    X, y = data(n=200, d=40)
    monkeypatch.setattr(compiled, "_sweeps_are_quick", lambda problem: True)
    options = {"C": 10.0, "fit_intercept": False, "tol": 1e-6}
    found = solve(X, y, solver="compiled", **options)
    assert swept == [False]
    assert found.converged
    steps = solve(X, y, solver="newton", **options).n_iter
    assert found.n_iter > steps  # both are counted


def test_sweeps_stop_at_the_limit_of_steps(swept, monkeypatch):
    X, y = data(n=200, d=40)
    monkeypatch.setattr(compiled, "_MOST_PASSES", 10**9)
    problem, control = Problem.from_data(X, y, C=10.0), Control(1e-9, max_iter=100)
    compiled._by_sweeps(problem, control, None, quick=True)
    assert 90 <= control.steps <= 100
    assert swept == [False]


@pytest.mark.parametrize("intercept", [0.0, 1e-9])
def test_sweeps_that_an_intercept_makes_slow_tell_slacks_alone(intercept, swept):
    """About those of the optimum, and nearer to them from a guess."""
    X, y = data(n=300, d=20)
    problem = Problem.from_data(X + 3.0, y, C=1e-3, intercept=intercept)
    best = get_solver("newton").solve(problem, Control(tol=1e-8))
    control, errors = Control(tol=1e-4), []
    for guess in (None, compiled.Guess.of(carry_scaled(problem, best, 1.0))):
        found, told = compiled._by_sweeps(problem, control, guess, quick=True)
        assert found is None
        errors.append(np.abs(told.slack - best.point.slack).mean())
    assert errors[0] < 0.1 * np.abs(best.point.slack).mean()
    assert errors[1] < 0.1 * errors[0]
    assert control.steps < 100


def test_steps_are_taken_on_as_many_rows_as_a_guess_says(stepped):
    X, y = data(n=600)
    problem = Problem.from_data(X, y)
    x, alpha, *_ = compiled._minimised(problem, 1e-6)
    slack = problem.at(x[:6]).slack
    for enough, rows in ((0, 24), (100, 100), (301, 600)):  # half of them is too many
        stepped.clear()
        guess = compiled.Guess(alpha, slack, 0.0, enough)
        compiled._minimised(problem, 1e-6, guess)
        ((steps, read, _),) = stepped
        assert read == (steps + 1) * rows


def test_a_path_learns_how_many_rows_it_needs():
    X, y = data(n=600)
    problem, control = Problem.from_data(X, y), Control(tol=1e-4)
    solver = get_solver("compiled")
    starts, learned = Predictor(problem, solver, control.rng), []
    few = starts.rows
    for C in (0.5, 1.0, 4.0, 4.01):
        there = problem.with_weights(C * problem.weights)
        start = starts.start(there, control, C)
        starts.accept(solver.solve(there, control, start=start), C, start)
        learned.append(starts.rows)
    assert learned[0] == few
    assert learned[2] // 2 <= learned[3] <= learned[2]
    starts.next_radius()
    assert starts.rows == few


def test_sweeps_tell_how_many_rows_they_leave_in_doubt():
    slack, weights = np.linspace(-1, 1, 200), np.full(200, 2.0)
    settled = np.where(slack > 0, weights, 0.0)
    for doubtful in (0, 40, 200):
        alpha = settled.copy()
        alpha[:doubtful] = 1.0
        assert compiled._off_bounds(alpha, weights, slack) == doubtful
    X, y = data(n=300, d=5)
    problem = Problem.from_data(X, y, C=0.1, intercept=0.0)
    found, told = compiled._by_sweeps(problem, Control(tol=1e-4), None, quick=True)
    assert found is None
    left = compiled._off_bounds(told.alpha, problem.weights, told.slack)
    assert 0 < told.enough == compiled._IN_DOUBT * left


# -- what it does not do ---------------------------------------------------------------


@pytest.mark.parametrize("spoiled", ["factor", "gap", "points"])
def test_where_it_fails_the_other_engine_goes_on(spoiled, monkeypatch):
    """Whatever it returns, nothing is taken on trust."""

    def minimise(E, c, penalty, *others):
        x, share = np.full(penalty.size, 0.1), np.full(c.size, 0.5)
        gap = {"factor": np.inf, "gap": np.nan, "points": 0.0}[spoiled]
        return x, share, 3, 0, gap

    monkeypatch.setattr(nearest_rows, "minimise_nearest", minimise)
    monkeypatch.setattr(compiled, "_can_be_swept", lambda problem: False)
    X, y = data()
    found, other = (solve(X, y, solver=name) for name in ("compiled", "newton"))
    assert found.converged
    assert np.array_equal(found.w, other.w)
    assert found.n_iter == other.n_iter + 3


def test_a_limit_of_steps_is_for_the_engine_that_asks_after_each(served):
    X, y = data()
    found = solve(X, y, solver="compiled", max_iter=3, quiet=True)
    other = solve(X, y, solver="newton", max_iter=3, quiet=True)
    assert served == [False]
    assert found.n_iter == 3
    assert found.gap == other.gap
    assert solve_small(make_problem(0), Control(deadline=0.0)) is None


def test_what_is_not_small_is_left_to_newton(served):
    X, y = data(n=3000, d=90)
    assert solve(X, y, solver="compiled", tol=1e-3).converged
    X, y = data()
    assert solve(X, y, solver="compiled", noise="l1", radius=0.1).converged
    assert solve(X, y, solver="compiled", X_err=np.full(X.shape, 0.1)).converged
    found = path(X, y, Cs=3, radii=[0.1], noise="l1", solver="compiled")
    assert found.converged.all()
    assert served == []


def test_a_matrix_without_a_factor_is_noticed():
    """No row has a weight, and nothing else holds the intercept."""
    problem = replace(make_problem(0, intercept=0.0), weights=np.zeros(30))
    assert not compiled._minimised(problem, 1e-6)[-1]


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_its_points_are_those_of_the_engine_in_numpy(steps):
    problem = make_problem(0, n=60, shape="linf", intercept=0.0)
    engine = InteriorPoint(problem)
    rows = engine.block.rows
    steer = (SETTINGS.start_inside, SETTINGS.least_distance, SETTINGS.to_boundary)
    whole = rows.table, np.array(engine.c), rows.penalty, rows.folded, 0.0
    how = np.ones(4), mehrotra.BOX, 5, 0.0, steps, steer
    x, share, taken, gap = mehrotra.minimise(*whole, *how)
    for _ in range(steps):
        assert engine.step()
    assert taken == steps
    # The Gram matrix is of float32, and later rows are left out of it.
    tol = 1e-5 if steps < 2 else 1e-2
    assert np.allclose(x, engine.x, rtol=tol)
    assert np.allclose(share, engine.share, rtol=tol, atol=tol)
    assert gap == pytest.approx(engine.relative_gap, rel=10 * tol)


# -- the choice ------------------------------------------------------------------------


def test_the_choice_follows_from_the_call_alone(served):
    X, y = data()
    assert solve(X, y).solver == "newton"
    few = path(X, y, Cs=MANY_PROBLEMS // 2 - 1, radii=[0.0, 0.1, 0.1])
    assert few.solver == "newton"
    assert served == []
    many = path(X, y, Cs=MANY_PROBLEMS // 2, radii=[0.0, 0.1])
    assert many.solver == "compiled"
    assert many.converged.all()
    assert served
    assert all(served)
    other = path(X, y, Cs=MANY_PROBLEMS // 2, radii=[0.0, 0.1], solver="newton")
    assert np.allclose(many.objectives, other.objectives, rtol=2e-6)
    # Numba is loaded now; that makes no difference.
    assert solve(X, y).solver == "newton"


def test_problems_that_are_not_small_are_never_compiled():
    X, y = data(n=3000, d=90)
    problem = Problem.from_data(X, y)
    assert not is_small(problem)
    assert choose_solver(problem, along_path=True, problems=10**6).name == "newton"
    problem = make_problem(0)
    assert choose_solver(problem, problems=MANY_PROBLEMS).name == "compiled"
    assert choose_solver(problem, "newton", problems=10**6).name == "newton"
    assert choose_solver(problem, problems=MANY_PROBLEMS - 1).name == "newton"


def test_a_search_counts_the_models_of_all_folds_and_classes(served):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5])
    options = {"cv": 3, "random_state": 0, "radii": [0.0, 0.1]}
    one = RobustLinearSVCCV(Cs=[1.0], **options | {"radii": [0.0]}).fit(X, y)
    assert served == []  # 9 models
    one = RobustLinearSVCCV(Cs=6, **options).fit(X, y)
    assert len(served) > 50
    two = RobustLinearSVCCV(Cs=6, n_jobs=2, **options).fit(X, y)
    by_newton = RobustLinearSVCCV(Cs=6, solver="newton", **options).fit(X, y)
    assert one.coef_.tobytes() == two.coef_.tobytes()
    assert np.array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    assert one.best_score_ == pytest.approx(by_newton.best_score_, abs=0.02)


def test_the_same_call_gives_the_same_bits():
    X, y = data()

    def answer(_=None):
        found = solve(X, y, radius=0.1, solver="compiled")
        return found.w.tobytes() + found.alpha.tobytes()

    expected = answer()
    solve(*data(seed=1), noise="linf", radius=0.1, solver="compiled")
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(answer, range(20))) == {expected}


def test_estimators_take_it_by_name():
    X, y = data()
    several = np.digitize(X[:, 0], [-0.5, 0.5])
    for labels in (y, several):
        found = RobustLinearSVC(radius=0.1, solver="compiled").fit(X, labels)
        other = RobustLinearSVC(radius=0.1).fit(X, labels)
        assert found.converged_.all()
        assert np.allclose(found.objective_, other.objective_, rtol=2e-4)
    assert get_solver("compiled").name == "compiled"


# -- what is computed when it is asked for ----------------------------------------------


def test_decisions_are_those_of_the_certificate_whenever_they_are_read():
    X, y = data()
    found = solve(X, y, radius=0.1)
    back = pickle.loads(pickle.dumps(found))
    again = replace(back, notes=())
    for solution in (found, back, again):
        assert solution.removed.any()
        assert not (solution.removed & solution.saturated).any()
        assert np.array_equal(solution.removed, found.removed)
        assert np.array_equal(solution.saturated, found.saturated)
    assert not callable(back.decided)
    assert sum(found.counts) == 120
    assert not solve(X, y, screening=None).removed.any()
