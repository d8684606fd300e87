"""Problems that differ in their labels alone, solved together."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from wideberth import RobustLinearSVC
from wideberth.estimators import one_look
from wideberth.problem import Problem
from wideberth.solvers.base import Control
from wideberth.solvers.classes import rounds as stack_rounds
from wideberth.solvers.classes import stack
from wideberth.solvers.classes import start as stack_start
from wideberth.solvers.classes import steps as stack_steps
from wideberth.solvers.classes.rounds import solve_stacked
from wideberth.solvers.classes.stack import Stack, can_be_stacked
from wideberth.solvers.interior import InteriorPoint, Start
from wideberth.solvers.registry import get_solver

NOISES = {"none": ("l2", 0.0), "l2": ("l2", 0.2), "ellipsoid": ("scales", 0.1)}


def classes(n=400, d=6, K=4, spread=2.0, seed=0):
    """Rows of K classes around means of their own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(K, size=n)
    return spread * rng.normal(size=(K, d))[y] + rng.normal(size=(n, d)), y


def against_the_rest(X, y, noise="none", **options):
    """The problem of every class."""
    shape, radius = NOISES[noise]
    if shape == "scales":
        shape = np.linspace(0.0, 2.0, X.shape[1])
    options = {"C": 0.3, "intercept": 1.0, **options}
    labels = [np.where(y == label, 1.0, -1.0) for label in np.unique(y)]
    one = Problem.from_data(X, labels[0], noise=shape, radius=radius, **options)
    return [one.with_labels(signs) for signs in labels]


def alone(problem, tol=1e-8):
    """What Newton's method finds."""
    return get_solver("newton").solve(problem, Control(tol))


# -- one step ------------------------------------------------------------------------


def all_rows(stacked, slack):
    """A working set of all rows."""
    chosen = np.broadcast_to(np.arange(slack.shape[1]), slack.shape)
    return stack_rounds._working(stacked, np.zeros_like(slack), chosen)


@pytest.mark.parametrize("intercept", [None, 0.0, 2.0])
def test_a_step_on_many_problems_is_that_of_each(monkeypatch, intercept):
    monkeypatch.setattr(stack_steps, "COARSE", 1.0)  # no Gram matrix in float32
    weights = np.random.default_rng(1).random(400) + 0.1
    problems = against_the_rest(*classes(), intercept=intercept, sample_weight=weights)
    stacked, rng = Stack.of(problems), np.random.default_rng(2)
    x = 0.3 * rng.normal(size=(4, stacked.penalty.size))
    slack = 1 - (x @ stacked.rows.T) * stacked.signs
    steps = stack_steps._Steps(all_rows(stacked, slack), stacked, x, slack)
    for k, problem in enumerate(problems):
        b = 0.0 if intercept is None else float(x[k, -1])
        point = problem.at(x[k, :6], b)
        width = np.abs(point.slack).max()
        share = 0.5 + 0.5 * point.slack / width
        engine = InteriorPoint(problem, Start(point.w, b, point.margins, share))
        mine = stack_steps._Steps(
            all_rows(stacked, slack).take([k]), stacked, x[[k]], slack[[k]]
        )
        for _ in range(5):
            np.testing.assert_allclose(mine.gap[0], engine.relative_gap, rtol=1e-6)
            mine.step()
            assert engine.step()
            np.testing.assert_allclose(mine.x[0], engine.x, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(mine.room[1, 0], engine.share, rtol=1e-6)
        if k == 2:
            for _ in range(5):
                steps.step()
            np.testing.assert_allclose(steps.x[2], engine.x, rtol=1e-6, atol=1e-8)


def noisy_steps(noise):
    problems = against_the_rest(*classes(), noise=noise)
    stacked = Stack.of(problems)
    guess = stack_start.estimate(stacked)
    work = all_rows(stacked, guess.slack)
    return problems, stack_steps._Steps(work, stacked, guess.x, guess.slack)


@pytest.mark.parametrize("noise", ["l2", "ellipsoid"])
def test_the_matrix_of_a_step_is_that_of_theory(monkeypatch, noise):
    monkeypatch.setattr(stack_steps, "COARSE", 1.0)
    problems, steps = noisy_steps(noise)
    theta = np.random.default_rng(0).random(steps.slack.shape)
    factors = steps._factors(theta)
    for k, problem in enumerate(problems):
        r, v, radii = steps.r[k], steps.v[k], problem.radii
        z = np.column_stack([problem.rows.dense(slice(None)), np.ones(problem.n)])
        g = z * problem.y[:, None] - radii[:, None] * v
        s = problem.weights * steps.room[1, k] @ radii
        matrix = np.eye(7) + g.T @ (theta[k][:, None] * g)
        matrix += s / r * (np.diag(steps.squares) - np.outer(v, v))
        lower = np.tril(factors[k])
        np.testing.assert_allclose(lower @ lower.T, matrix, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("noise", ["none", "l2", "ellipsoid"])
def test_the_gap_of_steps_is_never_too_small_and_closes(noise):
    problems, steps = noisy_steps(noise)
    left = set(range(len(problems)))
    for _ in range(30):
        left -= set(np.flatnonzero(steps.gap <= 1e-8).tolist())
        for k in left:
            problem = problems[k]
            alpha = problem.weights * steps.room[1, k]
            x = steps.x[k]
            primal = 0.5 * x @ x + problem.weights @ np.maximum(steps.slack[k], 0)
            point, dual = problem.at(x[:6], x[6]), problem.dual_at(alpha)
            assert primal >= point.value * (1 - 1e-12)
            assert steps.gap[k] * primal >= point.value - dual.value - 1e-9
        steps.step()
    assert not left


# -- the start -----------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["none", "ellipsoid"])
def test_the_start_is_the_method_of_multipliers_on_each_problem(monkeypatch, noise):
    monkeypatch.setattr(stack_start, "COARSE", 1.0)  # all in float64
    X, y = classes()
    weights = np.random.default_rng(1).random(len(y)) + 0.1
    problems = against_the_rest(X, y, noise=noise, sample_weight=weights)
    stacked = Stack.of(problems)
    start = stack_start._Multipliers(stacked)
    slack = [start.look() for _ in range(2)][-1]
    tau, relax = stack_start._METRIC, stack_start._RELAXATION
    for k, problem in enumerate(problems):
        z = stacked.rows * problem.y[:, None]
        c, rho, squares = problem.weights, problem.radii, stacked.squares
        a, s, x = np.zeros(problem.n), np.zeros(problem.n), np.zeros(7)
        for step in range(2 * stack_start._STEPS):
            omega = np.sqrt(x * x @ squares)
            if step % stack_start._STEPS == 0:
                bend = c * a @ rho / omega * squares if omega > 0 else 0 * squares
            matrix = np.eye(7) + np.diag(bend) + tau * z.T @ (c[:, None] * z)
            right = z.T @ (c * (tau * (1 - s + rho * omega) + a))
            x = np.linalg.solve(matrix, right)
            u = 1 - z @ x + rho * np.sqrt(x * x @ squares)
            g = a + tau * (relax * u + (1 - relax) * s)
            a = np.clip(g, 0, 1)
            s = (g - a) / tau
        np.testing.assert_allclose(start.x[k], x, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(slack[k], u, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(start.free()[k], (a > 0) & (a < 1))


def test_rows_that_are_not_near_the_margin_are_where_they_belong():
    problems = against_the_rest(*classes(n=2000))
    guess = stack_start.estimate(Stack.of(problems))
    assert guess.told.all()
    for k, problem in enumerate(problems):
        slack, far = alone(problem).point.slack, ~guess.near[k]
        assert far.sum() > problem.n / 2
        wrong = (guess.slack[k] > 0) != (slack > 0)
        assert wrong[far].sum() <= 0.01 * problem.n


def test_a_class_that_nothing_tells_apart_is_left_to_a_solver_of_its_own():
    X, y = classes(n=2000, K=3)
    y[np.random.default_rng(3).permutation(len(y))[:20]] = 3
    problems = against_the_rest(X, y)
    told = stack_start.estimate(Stack.of(problems)).told
    assert told.tolist() == [True, True, True, False]
    proven = solve_stacked(problems, 1e-6)
    assert [each is not None for each in proven] == told.tolist()


# -- proofs --------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", [None, 0.0, 1.0])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_what_is_proven_is_the_optimum_of_each_problem(noise, intercept, C):
    problems = against_the_rest(*classes(), noise=noise, intercept=intercept, C=C)
    assert can_be_stacked(problems[0], len(problems))
    for problem, proven in zip(problems, solve_stacked(problems, 1e-5), strict=True):
        assert proven is not None
        found, best = proven.found, alone(problem)
        assert found.proves(1e-5)
        assert found.point.value <= best.point.value * (1 + 1e-5)
        again = problem.gap(found.point.w, found.point.b, found.dual.alpha)
        assert again <= 1e-5 * found.point.value


def test_weights_and_rows_of_none():
    X, y = classes()
    weights = np.random.default_rng(0).integers(4, size=len(y)).astype(float)
    assert (weights == 0).sum() > 50
    problems = against_the_rest(X, y, sample_weight=weights)
    for problem, proven in zip(problems, solve_stacked(problems, 1e-6), strict=True):
        assert proven.found.point.value <= alone(problem).point.value * (1 + 1e-6)
        assert not proven.found.dual.alpha[weights == 0].any()


def counted(monkeypatch):
    """Sizes of the working sets that are solved."""
    sizes, minimise = [], stack_rounds.minimise

    def spy(work, *given):
        sizes.append(work.rows.shape[:2])
        return minimise(work, *given)

    monkeypatch.setattr(stack_rounds, "minimise", spy)
    return sizes


def misled(problems, scale):
    """An estimate whose slacks are off, and that holds hardly a row to be near."""
    guess = stack_start.estimate(Stack.of(problems))
    noise = np.random.default_rng(0).normal(size=guess.slack.shape)
    near = np.abs(guess.slack) <= 0.15
    return guess._replace(slack=guess.slack + scale * noise, near=near)


def test_rows_settled_wrongly_come_back(monkeypatch):
    problems = against_the_rest(*classes(n=1000))
    assert all(solve_stacked(problems, 1e-6))
    guess = misled(problems, 0.2)
    monkeypatch.setattr(stack_rounds, "estimate", lambda stacked: guess)
    sizes = counted(monkeypatch)
    proven = solve_stacked(problems, 1e-6)
    assert len(sizes) > 1
    assert sizes[1][1] > sizes[0][1]
    assert all(each is not None and each.found.proves(1e-6) for each in proven)


def test_where_the_start_tells_nothing_no_time_is_lost(monkeypatch):
    problems = against_the_rest(*classes(n=1000, d=3))
    guess = misled(problems, 100.0)
    monkeypatch.setattr(stack_rounds, "estimate", lambda stacked: guess)
    sizes = counted(monkeypatch)
    assert solve_stacked(problems, 1e-6) == [None] * 4
    assert all(rows <= problems[0].n / 2 for _, rows in sizes)


def test_what_is_not_proven_is_not_handed_out(monkeypatch):
    def nothing(work, stacked, x, *given):
        shares = np.full(work.weights.shape, 0.5)
        return 0.0 * x, shares, np.zeros(len(x), dtype=int)

    monkeypatch.setattr(stack_rounds, "minimise", nothing)
    assert solve_stacked(against_the_rest(*classes()), 1e-6) == [None] * 4


def test_steps_that_end_in_no_number_are_taken_back(monkeypatch):
    step = stack_steps._Steps.step

    def spoilt(self):
        step(self)
        if (self.gap < 1e-3).any():
            self.x[:], self.gap[:] = np.nan, np.nan

    monkeypatch.setattr(stack_steps._Steps, "step", spoilt)
    assert solve_stacked(against_the_rest(*classes()), 1e-6) == [None] * 4


@pytest.mark.parametrize("C", [1e-200, 1e18, 1e150])
def test_weights_out_of_all_proportion_prove_nothing_wrong(C):
    for proven in solve_stacked(against_the_rest(*classes(), C=C), 1e-6):
        assert proven is None or proven.found.proves(1e-6)


def test_small_data_goes_on_to_the_square_of_the_tolerance():
    for proven in solve_stacked(against_the_rest(*classes()), 1e-4):
        assert proven.found.proves(1e-7)


def test_problems_are_solved_in_parts_where_memory_is_short(monkeypatch):
    problems = against_the_rest(*classes())
    whole = solve_stacked(problems, 1e-6)
    monkeypatch.setattr(stack_rounds, "_WORKING_ENTRIES", 1)
    sizes = counted(monkeypatch)
    parts = solve_stacked(problems, 1e-6)
    assert {size[0] for size in sizes} == {1}
    for one, other in zip(whole, parts, strict=True):
        value = one.found.point.value
        assert other.found.point.value == pytest.approx(value, rel=1e-6)


# -- which problems ------------------------------------------------------------------


def test_what_is_stacked():
    X, y = classes()
    problem = against_the_rest(X, y)[0]
    assert can_be_stacked(problem, 2)
    assert not can_be_stacked(problem, 1)
    assert can_be_stacked(against_the_rest(sp.csr_array(X), y)[0], 4)
    assert not can_be_stacked(against_the_rest(X, y, norm_penalty=0.1)[0], 4)
    box = Problem.from_data(X, y == 0, noise="linf", radius=0.1)
    assert not can_be_stacked(box, 4)
    assert can_be_stacked(box.with_radii(0.0), 4)
    bars = Problem.from_data(X, y == 0, X_err=0.1 + 0.0 * X)
    assert not can_be_stacked(bars, 4)
    assert not can_be_stacked(against_the_rest(X[:6], y[:6] % 2)[0], 4)


def test_large_tables_are_not_stacked(monkeypatch):
    problem = against_the_rest(*classes())[0]
    monkeypatch.setattr(stack, "_MOST_ENTRIES", problem.n * problem.rows.d - 1)
    assert not can_be_stacked(problem, 4)


# -- estimators ----------------------------------------------------------------------


@pytest.fixture
def stacks(monkeypatch):
    """How many problems were stacked by each call."""
    calls, solve = [], one_look.solve_stacked

    def spy(problems, tol):
        proven = solve(problems, tol)
        calls.append(sum(each is not None for each in proven))
        return proven

    monkeypatch.setattr(one_look, "solve_stacked", spy)
    return calls


@pytest.mark.parametrize(
    "options", [{}, {"radius": 0.05}, {"class_weight": "balanced"}]
)
def test_classes_are_solved_together(stacks, options):
    data = load_digits()
    X, y = data.data / 16, data.target
    model = RobustLinearSVC(C=0.05, **options).fit(X, y)
    assert stacks == [10]
    single = RobustLinearSVC(C=0.05, solver="newton", **options).fit(X, y)
    assert stacks == [10]
    assert model.converged_.all()
    np.testing.assert_allclose(model.objective_, single.objective_, rtol=1e-7)
    np.testing.assert_allclose(model.coef_, single.coef_, atol=1e-3)
    assert (model.n_iter_ > 0).all()
    assert all(len(each["trace"]) == 1 for each in model.screening_)


def test_the_number_of_jobs_changes_no_bit(stacks):
    X, y = classes()
    one = RobustLinearSVC(radius=0.1).fit(X, y)
    two = RobustLinearSVC(radius=0.1, n_jobs=2).fit(X, y)
    assert stacks == [4, 4]
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_a_class_that_is_not_proven_has_a_solver_of_its_own(monkeypatch):
    X, y = classes()
    expected = RobustLinearSVC(solver="newton").fit(X, y)

    def all_but_one(problems, tol):
        return [None, *solve_stacked(problems, tol)[1:]]

    monkeypatch.setattr(one_look, "solve_stacked", all_but_one)
    model = RobustLinearSVC().fit(X, y)
    assert model.converged_.all()
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"solver": "newton"},
        {"ramp": -1.0},
        {"max_seconds": 100.0},
        {"max_iter": 50},
        {"noise": "linf", "radius": 0.1},
        {"norm_penalty": 0.1},
    ],
)
def test_what_is_not_solved_together(stacks, options):
    X, y = classes()
    assert RobustLinearSVC(**options).fit(X, y).converged_.all()
    assert stacks == []


def test_a_warm_start_is_not_solved_together(stacks):
    X, y = classes()
    model = RobustLinearSVC(warm_start=True, tol=1e-6).fit(X, y)
    assert stacks == [4]
    model.fit(X, y)
    assert stacks == [4]
    assert model.n_iter_.sum() == 0


def test_printing_tells_of_every_class(stacks, capsys):
    X, y = classes()
    RobustLinearSVC(verbose=True).fit(X, y)
    assert stacks == [4]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == ["0:", "1:", "2:", "3:"]
