"""Data in chunks of few distinct rows: one read, and the answer of all rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth import solve
from wideberth.data import Source
from wideberth.data import batches as distinct
from wideberth.problem import Problem
from wideberth.problem.arrays import concat
from wideberth.problem.merge import merge_chunk
from wideberth.solvers.driver import Driver

#: Sizes of the chunks; the last is too small to be worth merging by itself.
CHUNKS = (6_000, 9_000, 5_000, 700)
N = sum(CHUNKS)


def repeated(seed, few=200, d=4):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(few, d)) * (rng.random((few, d)) < 0.7), 3)
    J = rng.integers(few, size=N)
    y = np.where(X[J, 0] + 0.7 * rng.normal(size=N) > 0, 1.0, -1.0)
    weight = rng.exponential(size=N) * (rng.random(N) < 0.9)
    radius = rng.choice([0.0, 0.2], few)[J]
    bars = 0.2 * rng.exponential(size=(few, d))[J]
    return X[J], y, weight, radius, bars


def split(*columns):
    """Chunks of the columns; None is none."""
    ends = np.cumsum(CHUNKS)
    for start, end in zip(ends - CHUNKS, ends, strict=True):
        yield tuple(None if c is None else c[start:end] for c in columns)


def whole_problem(X, y, weight, radius, bars=None, intercept=0.0):
    options = {"radius": radius, "X_err": bars, "sample_weight": weight, "C": 0.01}
    return Problem.from_data(X, y, **options, intercept=intercept)


@pytest.mark.parametrize("penalty", [None, 0.0, 1.0])
@pytest.mark.parametrize("form", ["dense", "CSR", "errors"])
def test_one_read_answers_for_all_rows(form, penalty):
    X, y, weight, radius, bars = repeated(1)
    options = {"C": 0.01, "tol": 1e-7, "fit_intercept": penalty is not None}
    options["intercept_penalty"] = penalty or 0.0
    rows = sp.csr_array(X) if form == "CSR" else X
    bars = bars if form == "errors" else None
    found = solve(list(split(rows, y, weight, radius, bars)), **options)
    assert found.converged
    assert found.passes == 1
    problem = whole_problem(X, y, weight, radius, bars, penalty)
    point, dual = (
        problem.at(found.w, found.b),
        problem.dual_at(found.alpha, near=found.w),
    )
    assert problem.certificate(point, dual).proves(1e-7)
    assert point.value == pytest.approx(found.primal, rel=1e-10)
    assert np.all((found.alpha >= 0) & (found.alpha <= problem.weights))
    beside = {"sample_weight": weight, "radius": radius, "X_err": bars}
    memory = solve(rows, y, **options, **beside)
    assert not (memory.removed & found.saturated).any()
    assert not (found.removed & memory.saturated).any()
    assert found.removed[weight == 0].all()
    assert sum(found.counts) == N
    assert found.counts[0] < 0.3 * N


def test_the_ramp_is_descended_in_one_read():
    X, y, weight, radius, _ = repeated(2)
    y[::15] *= -1
    options = {"C": 0.01, "ramp": -0.5}
    found = solve(list(split(X, y, weight, radius)), **options)
    memory = solve(X, y, sample_weight=weight, radius=radius, **options)
    assert found.passes == 1
    assert found.primal == pytest.approx(memory.primal, rel=1e-5)
    assert found.descent.left_out.any()
    assert np.array_equal(found.descent.left_out, memory.descent.left_out)


def test_a_table_that_grows_too_large_is_given_up(monkeypatch):
    X, y, weight, radius, _ = repeated(3)
    monkeypatch.setattr(Source, "capacity", lambda *_: 1500)  # the table holds 375
    found = solve(list(split(X, y, weight, radius)), C=0.01)
    problem = whole_problem(X, y, weight, radius)
    assert found.passes > 1
    assert problem.gap(found.w, found.b, found.alpha) <= 1e-6 * found.primal


def test_chunks_that_do_not_repeat_are_handed_over_as_before():
    rng = np.random.default_rng(4)
    X, y, weight, radius, _ = repeated(4)
    X[: CHUNKS[0]] = rng.normal(size=(CHUNKS[0], 4))  # the other chunks do
    found = solve(list(split(X, y, weight, radius)), C=0.01)
    problem = whole_problem(X, y, weight, radius)
    assert found.passes > 1
    assert problem.gap(found.w, found.b, found.alpha) <= 1e-6 * found.primal


def test_rows_of_chunks_are_merged_in_turn():
    X, y, weight, radius, _ = repeated(7)
    table = distinct.DistinctRows(most=900, in_memory=True)
    for number, (rows, labels, c, rho) in enumerate(split(X, y, weight, radius)):
        part = whole_problem(rows, labels, c, rho)
        table.add(number, merge_chunk(part))
        assert not table.given_up
    problem, full = table.problem(), whole_problem(X, y, weight, radius)
    places, weights = (concat(list(part)) for part in zip(*table.rows(), strict=True))
    assert problem.n < 450
    assert np.array_equal(problem.rows.X[places], X)
    assert np.array_equal(problem.y[places], y)
    assert np.array_equal(weights, full.weights)
    sums = np.bincount(places, full.weights)
    assert np.all(np.abs(problem.weights - sums) <= 1e-12 * sums)
    assert problem.chain > 10  # sums of sums


def test_a_norm_penalty_bears_on_distinct_rows_too():
    X, y, weight, radius, _ = repeated(8)
    options = {"C": 0.01, "noise": "linf", "norm_penalty": 30.0}
    found = solve(list(split(X, y, weight, radius)), **options)
    memory = solve(X, y, sample_weight=weight, radius=radius, **options)
    assert found.passes == 1
    assert found.primal == pytest.approx(memory.primal, rel=2e-6)
    assert not found.w.all()


def test_rows_near_the_margin_are_merged_where_not_all_are(monkeypatch):
    X, y, weight, radius, _ = repeated(9)
    X[: CHUNKS[0]] = np.random.default_rng(9).normal(size=(CHUNKS[0], 4))
    sizes, solve_rows = [], Driver._solution

    def listen(self, work, problem, control):
        sizes.append((problem.n, work.chance.size))
        return solve_rows(self, work, problem, control)

    monkeypatch.setattr(Driver, "_solution", listen)
    found = solve(list(split(X, y, weight, radius)), C=0.01)
    assert any(2 * n < handed_over for n, handed_over in sizes)
    problem = whole_problem(X, y, weight, radius)
    assert problem.gap(found.w, found.b, found.alpha) <= 1e-6 * found.primal
