"""Groups of equal rows, held against a dictionary of them."""

import numpy as np
import pytest
import scipy.sparse as sp

from wideberth.kernels.equal_rows import group_rows

FORMS = {
    "rows together": np.ascontiguousarray,
    "columns together": np.asfortranarray,
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "CSR": sp.csr_array,
    "CSR, long": lambda X: long_indices(sp.csr_array(X)),
    "CSR, zeros stored": lambda X: zeros_stored(X),
}


def long_indices(rows):
    rows.indices, rows.indptr = (
        part.astype(np.int64) for part in (rows.indices, rows.indptr)
    )
    return rows


def zeros_stored(X):
    """Every entry is stored; in some rows zeros are not."""
    rows = sp.csr_array(np.where(X == 0, 1.0, X).astype(X.dtype))
    rows.data = X.ravel().copy()
    return sp.vstack([rows[: len(X) // 2], sp.csr_array(X[len(X) // 2 :])], "csr")


def in_a_dictionary(X, signs, before):
    """The group of each row, and the first row of each group, in plain Python."""
    groups, label, first = {}, [], []
    for i, row in enumerate(X):
        key = before[i], *(signs[i] * row.astype(np.float64) + 0.0).tolist()
        if key not in groups:
            groups[key] = len(groups)
            first.append(i)
        label.append(groups[key])
    return label, first


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", FORMS)
def test_groups_are_those_of_a_dictionary(form, dtype, seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 400)), int(rng.integers(1, 6))
    X = rng.choice([-1.5, -0.0, 0.0, 0.0, 1.5, 1e-30], size=(n, d)).astype(dtype)
    signs = rng.choice([-1.0, 1.0], size=n)
    before = rng.integers(3, size=n).astype(np.int32)
    label, first = in_a_dictionary(X, signs, before)
    rows = FORMS[form](X)
    found = group_rows(rows, signs, before, n)
    assert found[0].tolist() == label
    assert found[1].tolist() == first
    assert group_rows(rows, signs, before, len(first)) is not None
    assert group_rows(rows, signs, before, len(first) - 1) is None


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rows_made_to_collide_are_kept_apart(form):
    """A number's hash is the exclusive or of the two halves of its bits."""
    low = np.arange(500, dtype=np.uint64)
    bits = ((0x3FF00000 ^ low) << np.uint64(32)) | low
    values = bits.view(np.float64)
    assert np.unique(values).size == 500
    X = np.concatenate([values, values[::-1]])[:, None]
    found = group_rows(form(X), np.ones(1000), np.zeros(1000, np.int32), 1000)
    assert found[0].tolist() == [*range(500), *range(499, -1, -1)]
    assert found[1].tolist() == list(range(500))


@pytest.mark.parametrize("form", FORMS)
def test_a_row_is_not_the_beginning_of_another_one(form):
    """Entries whose hash is 0, the two halves of their bits being equal."""
    (v,) = np.array([0x3FF000003FF00000], dtype=np.uint64).view(np.float64)
    X = np.array(
        [[1, 0], [1, v], [0, 0], [v, 0], [0, v], [v, v], [1, v], [0, 0], [1, 0]]
    )
    signs, before = np.ones(len(X)), np.zeros(len(X), dtype=np.int32)
    found = group_rows(FORMS[form](X), signs, before, len(X))
    assert found[0].tolist() == in_a_dictionary(X, signs, before)[0]
