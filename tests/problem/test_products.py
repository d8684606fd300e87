"""Products with rows are those of matrices, however rows are stored and cut into blocks."""

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp

import wideberth.problem.rows as layouts
import wideberth.problem.rows as rows_module
from wideberth.problem import arrays, validation
from wideberth.problem.rows import _csr_block, as_rows, to_csr
from wideberth.problem.statement import Statement

FORMS = {
    "dense": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "CSR": sp.csr_array,
    "CSR float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "library": array_api_strict.asarray,
}


@pytest.fixture(params=[(1, 3), (4, 7), (1000, 1000)])
def blocks(request, monkeypatch):
    """Rows in a block, and entries in a cache: one, a few, and all of them."""
    rows, entries = request.param
    for module in (layouts, rows_module):
        monkeypatch.setattr(module, "BLOCK_ROWS", rows)
        monkeypatch.setattr(module, "CACHED_ENTRIES", entries)
    monkeypatch.setattr(layouts, "DEVICE_ENTRIES", entries)
    return rows, entries


def drawn(form, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(11, 4)).astype(np.float32).astype(np.float64)
    X[rng.random(X.shape) < 0.4] = 0.0
    y = rng.choice([-1.0, 1.0], size=11)
    stored = FORMS[form](X)
    labels = array_api_strict.asarray(y) if form == "library" else y
    return X, y, as_rows(stored, labels), rng


def plain(values):
    return np.asarray(arrays.host(values))


@pytest.mark.parametrize("form", FORMS)
def test_products_are_those_of_matrices(form, blocks):
    X, y, rows, rng = drawn(form)
    Z, w, a = X * y[:, None], rng.normal(size=4), rng.normal(size=11)
    own = (lambda v: array_api_strict.asarray(v)) if form == "library" else np.asarray
    close = np.testing.assert_allclose
    close(plain(rows.margins(w)), Z @ w)  # and norms beside them
    close(plain(rows.margins(w)), Z @ w)
    assert rows.passes.count == 2
    close(plain(rows.norms()), np.linalg.norm(X, axis=1))
    close(plain(rows.margins(np.zeros(4))), 0.0)
    assert rows.passes.count == 2
    close(plain(rows.combine(own(a))), Z.T @ a)
    assert rows.passes.count == 3
    close(plain(rows.magnitudes(w)), np.abs(X) @ np.abs(w))
    close(plain(rows.weighted_squares(w)), (X**2) @ w)
    groups = [rng.normal(size=(5, 2)), rng.normal(size=(5, 3))]
    one = np.column_stack([X, np.ones(11)])
    for found, group in zip(rows.projected_squares(*groups), groups, strict=True):
        close(plain(found), ((one @ group) ** 2).sum(axis=1))
    assert rows.passes.count == 6
    fresh = drawn(form)[2]
    close(plain(fresh.norms()), np.linalg.norm(X, axis=1))
    close(rows.dense(slice(2, 5)), X[2:5])


@pytest.mark.parametrize("form", [form for form in FORMS if form != "library"])
def test_sums_of_few_rows_are_those_of_all(form, blocks):
    X, y, rows, rng = drawn(form)
    a = np.zeros(11)
    assert np.abs(rows.combine(a)).max() == 0.0
    a[7] = 3.0
    before = rows.passes.rows_touched
    np.testing.assert_allclose(rows.combine(a), 3 * y[7] * X[7])
    few = rows._gathers and rows._few * 11 > 1
    assert rows.passes.rows_touched - before == (1 if few else 11)
    np.testing.assert_allclose(rows._combine_few(np.flatnonzero(a), a), 3 * y[7] * X[7])
    J = np.array([1, 4, 9])
    some = rng.normal(size=11)
    expected = (some * y)[J] @ X[J]
    np.testing.assert_allclose(rows._combine_few(J, some), expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("extras", [0, 2, None])
@pytest.mark.parametrize("compiled", [False, True])
def test_curvatures_are_those_of_matrices(form, extras, blocks, compiled, monkeypatch):
    X, y, rows, rng = drawn(form)
    if compiled and form.startswith("CSR"):
        monkeypatch.setattr(type(rows), "_as_dense", False)
    a = rng.exponential(size=11)
    own = (lambda v: array_api_strict.asarray(v)) if form == "library" else np.asarray
    more = None if extras is None else rng.normal(size=(11, extras))
    E = X * y[:, None] if not extras else np.column_stack([X * y[:, None], more])
    found = rows.curvature(own(a), None if more is None else own(more.copy()))
    np.testing.assert_allclose(found, (E.T * a) @ E, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_products_along_margins_take_one_read(form, blocks):
    X, y, rows, rng = drawn(form)
    if form == "library":
        return
    w, c = rng.normal(size=4), rng.exponential(size=11)
    found = rows.combine_along(w, lambda part, margins: c[part] * margins**2)
    Z = X * y[:, None]
    np.testing.assert_allclose(found, (c * (Z @ w) ** 2) @ Z, rtol=1e-6)
    assert rows.passes.count == 1


@pytest.mark.parametrize("form", FORMS)
def test_bounds_on_products_count_their_blocks(form, blocks):
    _, _, rows, _ = drawn(form)
    u = 2.0**-53
    assert rows.margin_rounding == pytest.approx(6 * u, rel=1e-9, abs=0.0)
    sizes = rows._block_rows, rows._batch_rows
    longest = max(min(size, 11) + 11 / size for size in sizes) + 2
    assert rows.combine_rounding == pytest.approx(longest * u, rel=1e-9, abs=0.0)


def test_rows_are_cut_as_memory_asks_for(monkeypatch):
    for module in (layouts, rows_module):
        monkeypatch.setattr(module, "BLOCK_ROWS", 6)
        monkeypatch.setattr(module, "CACHED_ENTRIES", 20)
    monkeypatch.setattr(layouts, "DEVICE_ENTRIES", 12)
    dense, single, sparse, foreign = (
        drawn(form)[2] for form in ("dense", "float32", "CSR", "library")
    )
    assert (dense._block_rows, dense._batch_rows) == (6, 5)
    assert (single._block_rows, single._batch_rows) == (5, 5)
    assert (foreign._block_rows, foreign._batch_rows) == (11, 3)
    entries = int((drawn("dense")[0] != 0).sum())
    assert (sparse._block_rows, sparse._batch_rows) == (6, 11 * 20 // entries)
    assert sparse.entries() == entries
    assert dense.entries() == 44
    J = np.array([2, 3])
    assert dense.entries(J) == 8
    assert sparse.entries(J) == int((drawn("dense")[0][J] != 0).sum())
    assert [rows._gathers for rows in (dense, sparse, foreign)] == [True, True, False]
    assert dense._few == pytest.approx(4 / 308)
    assert not dense.table_fits
    assert [rows.stop - rows.start for rows, _ in dense._pieces(4)] == [4, 4, 3]
    assert [rows.stop - rows.start for rows, _ in single._pieces(4)] == [4, 4, 3]


@pytest.mark.parametrize("form", ["dense", "float32", "CSR", "CSR float32"])
def test_rows_in_a_basis_of_their_span_have_the_same_products(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 9)).astype(np.float32).astype(np.float64)
    rows = as_rows(FORMS[form](X), np.array([1.0, -1.0, 1.0, -1.0]))
    coordinates, basis = rows.rotated
    np.testing.assert_allclose(coordinates @ coordinates.T, X @ X.T, atol=1e-6)
    w = rng.normal(size=coordinates.shape[1])
    np.testing.assert_allclose(X @ (basis @ w), coordinates @ w, atol=1e-6)
    np.testing.assert_allclose(basis.T @ (basis @ w), w, atol=1e-6)
    outside = rng.normal(size=9)
    np.testing.assert_allclose(
        coordinates @ (basis.T @ outside), X @ outside, atol=1e-6
    )
    assert np.linalg.norm(basis @ w) == pytest.approx(
        np.linalg.norm(w), rel=1e-6, abs=0.0
    )
    twice = as_rows(FORMS[form](np.vstack([X, X])), np.ones(8))
    if form.startswith("CSR"):
        assert twice.rotated[0].shape == (8, 4)


def test_rows_that_are_not_aligned_are_copied():
    buffer = np.zeros(8 * 6 + 1, dtype=np.uint8)[1:].view(np.float64)
    crooked = buffer.reshape(3, 2)
    assert not crooked.flags.aligned
    assert as_rows(crooked, np.ones(3)).X.flags.aligned
    sparse = sp.csr_array(np.ones((3, 2)))
    sparse.data = buffer
    assert as_rows(sparse, np.ones(3)).X.data.flags.aligned
    straight = np.zeros((3, 2))
    assert as_rows(straight, np.ones(3)).X is straight


@pytest.mark.parametrize("cached", [60, 1000])
def test_large_arrays_that_are_mostly_zero_become_sparse(cached, monkeypatch):
    monkeypatch.setattr(layouts, "CACHED_ENTRIES", cached)
    monkeypatch.setattr(layouts, "FEW_FEATURES", 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.2)
    found = to_csr(X)
    if cached == 1000:
        assert found is X
        return
    assert sp.issparse(found)
    np.testing.assert_array_equal(found.toarray(), X)
    full = rng.normal(size=(40, 5))
    assert to_csr(full) is full
    late = full.copy()
    late[:: max(late.size // cached, 1)] = 0.0  # where one looks first
    assert to_csr(late) is late
    narrow = X[:, :3].copy()
    assert to_csr(narrow) is narrow
    np.testing.assert_array_equal(_csr_block(X[3:9]).toarray(), X[3:9])


# -- arrays of any library -------------------------------------------------------------


@pytest.mark.parametrize("own", [np.asarray, array_api_strict.asarray])
def test_small_helpers_do_the_same_in_any_library(own):
    values = own(np.array([3.0, -1.0, 2.0, 0.5]))
    assert [float(v) for v in arrays.extremes(values)] == [-1.0, 3.0]
    assert arrays.largest(values) == 3.0
    assert arrays.largest(own(np.zeros(0))) == 0.0
    np.testing.assert_array_equal(plain(arrays.at_least(1.0, values)), [3, 1, 2, 1])
    kept = arrays.masked(values > 0.6, values)
    np.testing.assert_array_equal(plain(kept), [3, 0, 2, 0])
    np.testing.assert_array_equal(plain(arrays.counting(values)), [0, 1, 2, 3])
    for J in (slice(1, 3), own(np.array([1, 2]))):
        np.testing.assert_array_equal(plain(arrays.pick(values, J)), [-1, 2])
    matrix = own(np.arange(6.0).reshape(3, 2))
    np.testing.assert_array_equal(plain(arrays.pick(matrix, slice(1, 2))), [[2, 3]])
    joined = arrays.concat([values, values])
    assert joined.shape == (8,)
    assert arrays.concat([values]) is values
    np.testing.assert_array_equal(
        plain(arrays.fill(values, (2, 2), 0.0)), np.zeros((2, 2))
    )
    np.testing.assert_array_equal(plain(arrays.fill(values, 2, 1.5)), [1.5, 1.5])
    assert arrays.floats(*arrays.extremes(values)) == [-1.0, 3.0]
    assert arrays.quantile(own(np.arange(101.0)), 0.25) == pytest.approx(25.0)
    assert arrays.quantile(own(np.arange(101.0)), 1.0) == 100.0
    arrays.scatter(values, own(np.array([2, 0])), own(np.array([7.0, 8.0])))
    np.testing.assert_array_equal(plain(values), [8.0, -1.0, 7.0, 0.5])
    arrays.scatter(values, own(np.array([1])), 9.0)
    assert float(values[1]) == 9.0


def test_a_quantile_of_numpy_lies_between_entries():
    assert arrays.quantile(np.array([0.0, 1.0]), 0.25) == 0.25


# -- numbers that users give -----------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "how", "accepted"),
    [
        (0, {}, True),
        (0.0, {}, True),
        (2.5, {}, True),
        (-1e-300, {}, False),
        (np.inf, {}, False),
        (np.nan, {}, False),
        (True, {}, False),
        (np.True_, {}, False),
        ("1", {}, False),
        (None, {}, False),
        (np.float64(2), {}, True),
        (np.array(3.0), {}, True),
        (0, {"positive": True}, False),
        (0.0, {"positive": True}, False),
        (1e-300, {"positive": True}, True),
        (1, {"whole": True}, True),
        (np.int64(3), {"whole": True}, True),
        (0, {"whole": True}, False),
        (1.0, {"whole": True}, False),
        (1.5, {"whole": True}, False),
    ],
)
def test_numbers_are_taken_or_refused(value, how, accepted):
    if accepted:
        assert validation.check_number(value, "C", **how) == float(value)
    else:
        with pytest.raises(ValueError, match="C="):
            validation.check_number(value, "C", **how)


def test_intercepts_are_read_from_two_arguments():
    def intercept(fit, penalty):
        return Statement(fit_intercept=fit, intercept_penalty=penalty).intercept

    assert intercept(False, 0.0) is None
    assert intercept(True, 0.0) == 0.0
    assert intercept(1, 2.0) == 2.0
    for bad in ((False, 1.0), ("no", 0.0), (2, 0.0), (True, -1.0)):
        with pytest.raises(ValueError, match=r"must be|needs fit_intercept"):
            intercept(*bad)


@pytest.mark.parametrize("form", ["dense", "columns", "float32", "CSR"])
def test_the_size_of_data_is_its_frobenius_norm(form):
    X = drawn("dense")[0]
    found, size, _ = validation.measured_data(FORMS[form](X))
    assert size == pytest.approx(np.linalg.norm(X), rel=1e-6, abs=0.0)
    assert found.shape == X.shape


def test_the_size_of_odd_data():
    X = drawn("dense")[0]
    assert validation.measured_data(X[::2, ::2])[1] == pytest.approx(
        np.linalg.norm(X[::2, ::2])
    )
    assert validation.measured_data(np.array([[1e200, 1.0]]))[1] == np.inf
    for bad in (np.nan, np.inf):
        Y = X.copy()
        Y[3, 2] = bad
        for form in (np.asarray, np.asfortranarray, sp.csr_array):
            with pytest.raises(ValueError, match="at row 3, column 2"):
                validation.measured_data(form(Y))
    for shape in ((0, 2), (2, 0)):
        with pytest.raises(ValueError, match="at least one row and one column"):
            validation.measured_data(np.zeros(shape))
    with pytest.raises(ValueError, match="two dimensions"):
        validation.measured_data(np.zeros(3))


def test_long_values_are_cut():
    assert validation.short("x" * 78) == repr("x" * 78)
    assert len(validation.short("x" * 79)) == 80
    assert validation.short([1, 2]) == "[1, 2]"


def test_what_is_missing():
    import pandas as pd

    assert all(map(validation.is_missing, [None, float("nan"), pd.NA, pd.NaT]))
    assert not any(map(validation.is_missing, [0.0, "", 1, float("inf")]))
    assert validation.radius_or_default(None, np.ones(2)) == 1.0
    assert validation.radius_or_default(None, "l2") == 0.0
    assert validation.radius_or_default(0.3, np.ones(2)) == 0.3
