"""Rows merged into cells: what they prove, and that they hold w back."""

import numpy as np
import pytest

from wideberth import solve
from wideberth.problem import Problem
from wideberth.solvers.tall.batches import InMemory
from wideberth.solvers.tall.cells import Kinds, leave_features_out, merge
from wideberth.solvers.tall.passes import Gather
from wideberth.solvers.tall.subsample import SamplingError
from wideberth.solvers.tall.work import PerRow, Work


def rare_columns(n=12_000, seed=0, radius=0.05):
    """Numbers, and standardised binary columns that few rows have."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    one_hot = rng.random((n, 4)) < [0.3, 0.02, 0.01, 0.004]
    X = np.hstack((X, (one_hot - one_hot.mean(0)) / one_hot.std(0)))
    y = np.where(X[:, 0] + 0.3 * X[:, 8] + rng.normal(size=n) > 0.5, 1, -1)
    weights = rng.uniform(0.5, 2.0, size=n)
    return Problem.from_data(
        X, y, C=0.1, radius=radius, sample_weight=weights, intercept=0.0
    )


def kinds_of(problem, point):
    error = SamplingError(problem, point, 0.9, np.random.default_rng(0))
    band = error(problem, point.slack)
    return Kinds.of(problem.rows.X, np.ones(problem.n), error, band, 1e6), error


def gathered(problem, **how):
    """What a search holds near a point that is not the solution, and the question."""
    w = np.linspace(0.3, -0.1, problem.rows.d)
    point = problem.at(w, 0.1)
    kinds, error = kinds_of(problem, point)
    question = Gather(
        w, 0.1, band=error, kinds=kinds, good=lambda point: False, widening=0.3, **how
    )
    batches = InMemory(problem)
    work = Work(batches, question, PerRow(True))
    before = problem.rows.passes.count
    for answer in batches.map(question):
        work.add(answer)
    return work, point, problem.rows.passes.count - before


def test_all_that_a_gather_needs_comes_of_one_read():
    problem = rare_columns()
    problem.rows.norms()
    work, point, passes = gathered(problem)
    assert passes == 1
    np.testing.assert_allclose(work.point.margins, point.margins, atol=1e-12)
    assert work.point.value == pytest.approx(point.value, rel=1e-12)


@pytest.mark.parametrize("picked", [1.0, 0.3])
def test_a_dual_point_of_cells_is_one_of_all_rows(picked):
    problem = rare_columns()
    work, point, _ = gathered(problem, picked=picked)
    small = work.problem()
    assert 0 < work.merged < small.n < 0.8 * problem.n
    rng = np.random.default_rng(1)
    dual = small.dual_at(small.weights * rng.uniform(size=small.n))
    alpha = work.proof(dual, point).alpha(0, problem)
    assert (alpha >= 0).all()
    assert (alpha <= problem.weights).all()
    whole = problem.dual_at(alpha)
    assert whole.value == pytest.approx(dual.value, rel=1e-9)
    np.testing.assert_allclose(whole.w, dual.w, atol=1e-9 * np.abs(dual.w).max())


def test_the_primal_of_cells_is_at_most_that_of_all_rows_anywhere():
    problem = rare_columns()
    work, point, _ = gathered(problem)
    small = work.problem()
    rng = np.random.default_rng(2)
    for size in (0.0, 0.1, 1.0, 10.0):
        w, b = point.w + size * rng.normal(size=point.w.size), size * rng.normal()
        assert small.at(w, b).value <= problem.at(w, b).value * (1 + 1e-12)
    here = small.at(point.w, point.b)  # no cell has rows on both sides of the margin
    assert here.value == pytest.approx(point.value, rel=1e-10)


def test_rounding_of_cells_is_bounded():
    problem = rare_columns()
    work, point, _ = gathered(problem)
    small = work.problem()
    dual = small.dual_at(0.5 * small.weights)
    whole = problem.dual_at(work.proof(dual, point).alpha(0, problem))
    assert abs(whole.value - dual.value) <= dual.rounding + whole.rounding
    assert small.folded.mass > 0


def test_rows_of_one_cell_agree_in_class_side_and_outstanding_feature():
    problem = rare_columns()
    point = problem.at(np.linspace(0.3, -0.1, problem.rows.d), 0.1)
    kinds, _ = kinds_of(problem, point)
    far = np.abs(point.slack) > 0.1
    cells = merge(problem, kinds, point.slack, far)
    rare = np.abs(problem.rows.X * kinds.scale).argmax(axis=1)
    for kind in cells.kinds[:50]:
        members = far & (cells.labels == kind)
        for known in (problem.y, point.slack > 0, rare):
            assert np.unique(known[members]).size == 1
    assert cells.counts.sum() == far.sum()
    assert cells.totals.sum() == pytest.approx(problem.weights[far].sum())
    assert cells.active == np.count_nonzero(far & (point.slack > 0))


def one_class_columns(n=60_000):
    """Features, labels, and columns that few rows have, all of one class."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)
    rare = (rng.random((n, 3)) < 0.002) & (y > 0)[:, None]
    return X, y, (rare - rare.mean(0)) / rare.std(0)


def test_a_column_of_few_rows_of_one_class_does_not_run_away():
    """Folded rows of such a column pull w off by its whole length."""
    X, y, rare = one_class_columns()
    for seed in range(3):
        options = {"C": 1.0, "solver": "newton", "tol": 1e-4, "random_state": seed}
        found = solve(np.hstack((X, rare)), y, **options)
        assert found.converged
        assert found.passes <= 40


@pytest.mark.parametrize("needed", [False, True])
def test_far_rows_are_merged_where_near_ones_lack_a_feature(monkeypatch, needed):
    merged, problem = [], Work.problem

    def spied(work):
        merged.append(work.merged)
        return problem(work)

    monkeypatch.setattr(Work, "problem", spied)
    X, y, rare = one_class_columns()
    X = np.hstack((X, rare)) if needed else X
    found = solve(X, y, C=1.0, solver="newton", tol=1e-4, random_state=0)
    assert found.converged
    assert (max(merged) > 0) == needed


def test_a_feature_is_left_out_where_near_rows_have_less_than_a_tenth_of_their_part():
    """Rows of a sample count for as many rows as they stand for."""
    X = np.ones((100, 2))
    X[50:, 1] = 0.0
    near, even = np.arange(100) >= 40, np.ones(100)
    assert not leave_features_out(X, even, near)  # 10 of 50 beside 60 of 100
    heavy = np.where(np.arange(100) < 40, 10.0, 1.0)
    assert not leave_features_out(X, heavy, near)  # 10 of 410 beside 60 of 460
    X[45:, 1] = 0.0
    assert leave_features_out(X, heavy, near)  # 5 of 405 beside 60 of 460
    assert not leave_features_out(np.c_[X[:, 0], 0 * even], even, near)  # nobody's
