"""Loops over CSR rows, held against the same in NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth.kernels.sparse import add_gram, combine, less_values, row_norms


def stored(dtype, indices, seed=0):
    """A random matrix with an empty row and an empty column, and the same dense."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(23, 7)) * (rng.random((23, 7)) < 0.4)
    X[5], X[:, 3] = 0.0, 0.0
    rows = sp.csr_array(X.astype(dtype))
    rows.indices, rows.indptr = (
        rows.indices.astype(indices),
        rows.indptr.astype(indices),
    )
    return rows, rows.toarray().astype(np.float64)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_norms_are_those_of_dense_rows(dtype, indices):
    rows, X = stored(dtype, indices)
    norms = row_norms(rows.data, rows.indptr)
    np.testing.assert_allclose(norms, np.linalg.norm(X, axis=1), rtol=1e-14)
    assert norms[5] == 0.0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
@pytest.mark.parametrize("block_rows", [1, 10, 23, 100])
def test_combined_rows_are_those_of_dense_rows(dtype, indices, block_rows):
    rows, X = stored(dtype, indices)
    a = np.random.default_rng(1).choice([0.0, 0.5, -2.0], size=23)
    np.testing.assert_allclose(combine(rows, a, block_rows), X.T @ a, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_gram_matrices_are_those_of_dense_rows(dtype, indices):
    rows, X = stored(dtype, indices)
    a = np.random.default_rng(1).choice([0.0, 0.5, -2.0], size=23)
    gram = np.eye(7)
    add_gram(rows, a, gram)
    np.testing.assert_allclose(gram, np.eye(7) + X.T @ (a[:, None] * X), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [np.int32, np.int64])
def test_values_are_subtracted_from_every_row(dtype, indices):
    rows, X = stored(dtype, indices)
    values = np.array([0.0, 0.5, 0.0, -1.0, 0.0, 0.0, 2.0])
    values[1] = X[X[:, 1] != 0, 1][0]  # which leaves a zero, that is not stored
    less = less_values(rows, values)
    np.testing.assert_array_equal(less.toarray(), X - values)
    assert less.nnz == np.count_nonzero(X - values)
    assert less.indices.dtype == indices
    assert less.has_canonical_format
