import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings

from problems import problems
from wideberth import solve
from wideberth.problem import Problem
from wideberth.screening import Reduction
from wideberth.solvers import sweeps
from wideberth.solvers.base import Control, Random
from wideberth.solvers.conic import solve_conic
from wideberth.solvers.sweeps import Coordinate, SweepsFirst
from wideberth_paper.reference import ideal_partition

TOL = 1e-7


def text_problem(seed=0, n=600, d=900, words=12, **options):
    """Sparse rows of very different norm, with near-copies of opposite label."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=words / d, format="csr", random_state=rng)
    X.data = np.ceil(30 * X.data**4)
    X = X.tolil()
    X[1::20] = X[::20]
    X[1, 0] += 1
    X = sp.csr_array(X.tocsr())
    y = np.where(X @ rng.normal(size=d) > 0, 1, -1)
    y[1::20] = -y[::20]
    return Problem.from_data(X, y, **options)


def run(problem, tol=TOL, region="ellipsoid", seed=0, **options):
    """The solver itself, and what it was told."""
    rng = np.random.default_rng(seed)
    control = Control(
        tol, max_iter=5000, screening=region, random=Random(rng), **options
    )
    return Coordinate().solve(problem, control), control


def certified(problem, found, tol=TOL):
    gap = problem.gap(found.point.w, found.point.b, found.dual.alpha)
    return gap <= tol * found.point.value * 1.01


@given(problems(shapes=("l2",), log_C=(-6, 6), max_d=30))
@settings(max_examples=120)
def test_every_problem_is_solved_and_certified(problem):
    found, _ = run(problem)
    assert certified(problem, found)
    assert np.all((found.dual.alpha >= 0) & (found.dual.alpha <= problem.weights))


@given(problems(shapes=("l2",), log_C=(-2, 2), max_n=25, max_d=12))
@settings(max_examples=40)
def test_agrees_with_the_oracle(problem):
    found, _ = run(problem, 1e-9)
    oracle = solve_conic(problem).certificate
    scale = max(oracle.primal, 1e-12)
    assert found.point.value <= oracle.primal + 1e-7 * scale
    assert found.dual.value >= oracle.dual - 1e-7 * scale


def test_storage_does_not_change_the_answer():
    problem = text_problem(n=200, d=300, radius=0.2)
    X, y = problem.rows.X, problem.y
    rng = np.random.default_rng(0)

    def value(X, y=y):
        solution = solve(
            X, y, radius=0.2, solver="coordinate", tol=1e-9, fit_intercept=False
        )
        assert solution.converged
        return solution.primal

    unsorted = sp.csr_array(X)
    for i in range(200):
        row = slice(unsorted.indptr[i], unsorted.indptr[i + 1])
        mixed = rng.permutation(row.stop - row.start)
        unsorted.indices[row] = unsorted.indices[row][mixed]
        unsorted.data[row] = unsorted.data[row][mixed]
    unsorted.has_sorted_indices = unsorted.has_canonical_format = False
    halves = sp.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape
    )
    explicit = X.copy()
    explicit.data[::7] = 0.0
    wide = sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)))
    order = rng.permutation(200)
    expected = value(X)
    same = pytest.approx(expected, rel=3e-9)
    assert value(X.toarray()) == same
    assert value(np.asfortranarray(X.toarray())) == same
    assert value(X.toarray()[:, ::-1]) == same
    assert value(unsorted) == same
    assert value(halves) == same
    assert value(wide) == same
    assert value(X[order], y[order]) == same
    assert value(X.astype(np.float32)) == pytest.approx(expected, rel=1e-6)
    assert value(explicit) == pytest.approx(value(explicit.toarray()), rel=3e-9)


@pytest.mark.parametrize("intercept", [None, 0.0])
def test_screening_fires_and_is_right(intercept, monkeypatch):
    problem = text_problem(n=4000, d=800, C=1.0, radius=0.1, intercept=intercept)
    shrink, left = Reduction.shrink, [problem.n]

    def counted(reduction, partition):
        left.append(partition.counts[0])
        return shrink(reduction, partition)

    monkeypatch.setattr(Reduction, "shrink", counted)
    found, _ = run(problem, 1e-9)
    unscreened, _ = run(problem, 1e-9, region=None)
    assert min(left) < 0.5 * problem.n
    assert found.point.value == pytest.approx(unscreened.point.value, rel=2e-9)
    ideal = ideal_partition(problem, unscreened.point.w, unscreened.point.b, tol=1e-3)
    assert not found.dual.alpha[ideal.removed].any()
    share = found.dual.alpha / problem.weights
    assert np.all(share[ideal.saturated] > 1 - 1e-6)  # balancing may take a little


def test_callbacks_hear_of_every_round_and_can_end_it():
    problem, heard = text_problem(C=100.0), []
    _, control = run(problem, region=None, callback=heard.append)
    assert heard == control.trace
    gaps = [entry["gap"] for entry in heard]
    assert len(gaps) > 2
    assert min(gaps) == gaps[-1] < 1e-3 * gaps[0]
    third = heard[2]["iteration"]
    found, control = run(
        problem, region=None, callback=lambda entry: entry["iteration"] >= third
    )
    assert found.status == "stopped"
    assert control.steps == third
    assert found.dual.value > -np.inf


def test_data_is_not_copied():
    problem = text_problem(n=100)
    for X in (problem.rows.X, problem.rows.X.astype(np.float32)):
        again = Problem.from_data(X, problem.y)
        assert np.shares_memory(again.rows.X.data, X.data)


def test_near_copies_of_opposite_label_do_not_stall_it():
    # Sweeps alone would go on for many thousands; where it ends is rounding's affair.
    problem = text_problem(C=100.0)
    control = Control(1e-6, max_iter=1000, random=Random(0))
    found = Coordinate().solve(problem, control)
    assert certified(problem, found, 1e-6)


def test_auto_changes_over_to_newton_where_sweeps_are_slow():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.5, 1, -1)
    wide = sp.random_array((3000, 4000), density=0.02, format="csr", random_state=rng)
    narrow = sp.random_array((3000, 90), density=0.2, format="csr", random_state=rng)
    dense = rng.normal(size=(3000, 90))

    def solver(X, **options):
        options = {"tol": 1e-3, "fit_intercept": False, "random_state": 0} | options
        found = solve(X, y[: X.shape[0]], **options)
        assert found.converged
        return found.solver

    assert solver(wide) == "coordinate"
    assert solver(narrow, C=0.01) == "coordinate"
    assert solver(narrow, C=100.0) == "newton"
    assert solver(dense, C=1e-3) == "coordinate"
    assert solver(dense, C=10.0) == "newton"
    assert solver(dense, C=10.0, radius=0.1, noise="linf") == "newton"


def test_a_warm_start_is_used():
    problem = text_problem(C=1.0)
    X, y = problem.rows.X, problem.y
    options = {"solver": "coordinate", "random_state": 0, "fit_intercept": False}
    cold = solve(X, y, tol=1e-6, **options)
    at_once = solve(X, y, tol=1e-6, init=cold, **options)
    assert at_once.n_iter == 0
    nearby = solve(X, y, C=1.01, tol=1e-6, init=cold, **options)
    assert nearby.trace[0]["gap"] < 0.1 * cold.trace[0]["gap"]
    from_w = solve(X, y, C=1.01, tol=1e-6, init=(cold.w, cold.b, None), **options)
    assert from_w.converged


def ill_conditioned(n=6000, d=40, **options):
    """Rows whose columns differ much in size: sweeps crawl along the small ones."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.arange(1, d + 1) ** 1.5
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = np.where(X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)
    return Problem.from_data(X, y, **options)


@pytest.mark.parametrize("intercept", [None, 0.0])
@pytest.mark.parametrize("radius", [0.0, 0.01])
def test_newton_on_the_rows_in_doubt_ends_what_sweeps_crawl_along(
    monkeypatch, intercept, radius
):
    known, finish = [], sweeps.solve_small

    def noted(problem, control, slack, rows):
        known.append(rows / problem.n)
        return finish(problem, control, slack, rows)

    monkeypatch.setattr(sweeps, "solve_small", noted)
    for C in (1.0, 1.5, 2.0, 3.0):  # the rows are not known wherever it changes over
        problem = ill_conditioned(C=C, radius=radius, intercept=intercept)
        found = SweepsFirst().solve(problem, Control(1e-9, random=Random(0)))
        assert found.certificate.proves(1e-9)
    assert known
    assert all(0 < 2 * share <= 1 for share in known)


def test_a_tiny_table_that_sweeps_do_not_solve_goes_to_newton():
    X, y = np.array([[-1.643], [-0.257]]), np.array([1.0, -1.0])
    found, control = run(Problem.from_data(X, y, C=1e12))
    assert found.status == "solved"
    assert control.steps < control.max_iter
