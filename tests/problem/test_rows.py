"""Rows that are mostly zeros: what makes them quick must not change what they say."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth import solve
from wideberth.problem import Problem
from wideberth.problem.rows import SparseRows, as_rows


def mostly_zero(n, d, share, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(dtype)
    X[rng.random(size=(n, d)) > share] = 0.0
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


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


@pytest.mark.parametrize("radius", [0.0, 0.1])
def test_data_made_sparse_has_the_answer_of_the_dense_one(radius):
    X, y = mostly_zero(4000, 260, 0.2)
    certified = solve(
        X, y, C=0.01, radius=radius, tol=1e-8, random_state=0, fit_intercept=False
    )
    dense = Problem.from_data(X, y, C=0.01, radius=radius)
    point, dual = dense.at(certified.w), dense.dual_at(certified.alpha)
    assert point.value - dual.value <= 1e-8 * point.value


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
