"""Rows that are mostly zeros: what makes them quick must not change what they say."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth import Box, path, solve
from wideberth.problem import Problem
from wideberth.problem.rows import SparseRows, as_rows, to_csr
from wideberth.solvers.registry import choose_solver


def mostly_zero(n, d, share, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[rng.random(size=(n, d)) > share] = 0.0
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def test_hard_one_hot_tables_of_many_rows_go_to_newton_and_easy_ones_to_sweeps():
    rng, n = np.random.default_rng(0), 20_000
    parts = [np.arange(12) == rng.integers(12, size=n)[:, None] for _ in range(12)]
    X, y = (
        sp.csr_array(np.hstack(parts).astype(float)),
        np.where(rng.random(n) < 0.5, 1, -1),
    )
    chosen = {
        C: choose_solver(Problem.from_data(X, y, C=C), along_path=True).name
        for C in (0.01, 10.0)
    }
    assert chosen == {0.01: "coordinate", 10.0: "newton"}
    few = Box(np.arange(144) < 7)  # what noise cannot leave out is not left out
    noises = {"linf": "columns", few: "newton"}
    for noise, name in noises.items():
        assert choose_solver(Problem.from_data(X, y, noise=noise)).name == name


def test_a_block_of_sparse_rows_is_not_a_copy():
    X, y = mostly_zero(1000, 50, 0.1)
    rows = SparseRows(sp.csr_array(X), y)
    block = rows._block(slice(300, 400))
    np.testing.assert_array_equal(block.toarray(), X[300:400])
    assert np.shares_memory(block.data, rows.X.data)
    assert np.shares_memory(block.indices, rows.X.indices)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_a_table_holds_the_labelled_rows_and_tells_their_norms(wrap, dtype):
    X, y = mostly_zero(50, 7, 0.5, dtype=dtype)
    rows, extras = as_rows(wrap(X), y), np.column_stack([y, 2 * y])
    table = rows.table(extras)
    expected = np.column_stack([X.astype(np.float64) * y[:, None], extras])
    np.testing.assert_array_equal(table, expected)
    norms = np.linalg.norm(X.astype(np.float64), axis=1)
    np.testing.assert_allclose(rows.norms(), norms, rtol=1e-14)
    assert rows.passes.count == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_dense_data_of_few_entries_becomes_sparse_without_loss(dtype):
    X, _ = mostly_zero(4000, 300, 0.2, dtype=dtype)
    for layout in (X, np.asfortranarray(X)):
        sparse = to_csr(layout)
        assert isinstance(sparse, sp.csr_array)
        assert sparse.dtype == dtype
        np.testing.assert_array_equal(sparse.toarray(), X)
        assert sparse.has_canonical_format


def test_other_data_is_left_as_it_is():
    full, _ = mostly_zero(4000, 300, 0.9)
    few, _ = mostly_zero(100, 300, 0.1)
    narrow, _ = mostly_zero(20_000, 60, 0.1)
    late = np.zeros((4000, 300))  # zeros where one looks first, entries elsewhere
    late[1::4], late[2::4], late[3::4] = 1.0, 1.0, 1.0
    for X in (full, few, narrow, late, sp.csr_array(full)):
        assert to_csr(X) is X


@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_data_made_sparse_has_the_answer_of_the_dense_one(radius):
    X, y = mostly_zero(4000, 260, 0.2)
    certified = solve(
        X, y, C=0.01, radius=radius, tol=1e-8, random_state=0, fit_intercept=False
    )
    dense = Problem.from_data(X, y, C=0.01, radius=radius)
    point, dual = dense.at(certified.w), dense.dual_at(certified.alpha)
    assert point.value - dual.value <= 1e-8 * point.value


def test_a_path_goes_by_newton_where_a_single_fit_would_sweep():
    X, y = mostly_zero(20_000, 60, 0.9)  # too large for the compiled method
    C = 1000 * 60 / float((X * X).sum())
    problem = Problem.from_data(X, y, C=C)
    assert choose_solver(problem).name == "coordinate"
    assert choose_solver(problem, along_path=True).name == "newton"
    found = path(X, y, Cs=[0.1 * C, C], radii=[0.0], fit_intercept=False)
    assert found.solver == "newton"


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_rows_under_other_labels_share_what_is_known_of_them(wrap):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(30, 4)), rng.normal(size=4)
    rows = as_rows(wrap(X), np.ones(30))
    rows.look_ahead()
    before, y = rows.passes.count, rng.choice([-1.0, 1.0], 30)
    other = rows.with_labels(y)
    assert other.norms() is rows.norms()
    assert other.passes.count == 0
    np.testing.assert_allclose(other.margins(w), y * (X @ w))
    np.testing.assert_allclose(other.combine(y), X.sum(axis=0))
    np.testing.assert_allclose(rows.margins(w), X @ w)
    assert rows.passes.count == before + 1
