"""Samples are the one container of rows and what belongs to them."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth.data.samples import Samples


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("rows", [slice(1, 4), np.array([3, 0]), np.arange(5) % 2 == 1])
def test_rows_are_taken_with_all_that_belongs_to_them(kind, rows):
    X, y = np.arange(10.0).reshape(5, 2) - 4, np.arange(5)
    errors = (kind(abs(X)), kind(2 * abs(X)))
    some = Samples(kind(X), y, y + 1.0, y + 2.0, errors).take(rows)
    assert (some.n, some.d) == (len(y[rows]), 2)
    parts = (some.X, *some.errors)
    for part, whole in zip(parts, (X, abs(X), 2 * abs(X)), strict=True):
        dense = part.toarray() if sp.issparse(part) else part
        assert np.array_equal(dense, whole[rows])
    assert np.array_equal(some.y, y[rows])
    assert np.array_equal(some.weight, y[rows] + 1.0)
    assert np.array_equal(some.radius, y[rows] + 2.0)


def test_one_radius_and_covariances_go_with_some_rows():
    covariances = np.array([k * np.eye(2) for k in range(4)])
    some = Samples(np.ones((4, 2)), radius=0.5, errors=(covariances,)).take([2, 3])
    assert some.radius == 0.5
    assert some.y is None
    assert np.array_equal(some.X_err, covariances[2:])
