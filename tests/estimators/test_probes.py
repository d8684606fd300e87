"""The points at which steps have to show that they are affine are where they are said to be."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from wideberth.estimators import affine, probes
from wideberth.estimators.affine import _beyond, _less, _rounding, _special_values
from wideberth.estimators.probes import ProbedRows

X = np.array(
    [
        [1.0, -5.0, 7.0, 0.0],
        [3.0, np.nan, 7.0, 0.0],
        [-2.0, 4.0, 7.0, 0.0],
        [0.0, 1.0, 7.0, 0.0],
    ]
)


def test_ranges_are_those_of_the_data():
    sample = ProbedRows(X)
    assert sample.low.tolist() == [-2.0, -5.0, 7.0, 0.0]
    assert sample.high.tolist() == [3.0, 4.0, 7.0, 0.0]
    assert sample.size.tolist() == [3.0, 5.0, 7.0, 0.0]
    assert sample.width.tolist() == [5.0, 9.0, 7.0, 1.0]  # size, or 1, where all is one
    expected = X.copy()
    expected[1, 1] = -0.5
    np.testing.assert_array_equal(sample.complete, expected)


def test_ranges_of_sparse_rows_count_zeros():
    sample = ProbedRows(sp.csr_array(np.nan_to_num(X)))
    assert sample.low.tolist() == [-2.0, -5.0, 7.0, 0.0]
    assert sample.high.tolist() == [3.0, 4.0, 7.0, 0.0]
    rows = sp.csr_array(X)
    np.testing.assert_array_equal(ProbedRows(rows).complete.toarray(), np.nan_to_num(X))
    assert np.isnan(rows.data).any()  # not in place


def test_a_vector_is_no_table():
    with pytest.raises(ValueError, match="no table"):
        ProbedRows([1.0, 2.0])


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_units_move_one_feature_each_below_a_row_of_zeros(form, monkeypatch):
    monkeypatch.setattr(probes, "_BATCH", 3)
    steps = np.array([1.0, 2.0, 4.0, 8.0])
    batches = list(ProbedRows(form(np.nan_to_num(X))).units(steps))
    dense = [batch.toarray() if sp.issparse(batch) else batch for batch in batches]
    np.testing.assert_array_equal(
        dense[0], np.vstack([np.zeros(4), np.diag(steps)[:3]])
    )
    np.testing.assert_array_equal(
        dense[1], np.vstack([np.zeros(4), np.diag(steps)[3:]])
    )


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("shape", [(40,), (40, 4)])
def test_values_lie_about_beyond_near_zero_and_amid_the_data(sparse, shape):
    data = np.random.default_rng(0).normal(size=(9, 4)) * [1.0, 5.0, 0.1, 100.0]
    sample = ProbedRows(sp.csr_array(data) if sparse else data)
    rng = np.random.default_rng(1)
    columns = rng.integers(4, size=shape)
    found = sample._values(np.random.default_rng(2), columns)
    same = np.random.default_rng(2)
    kind, u = same.integers(4, size=shape), same.random(shape)
    if len(shape) == 2:  # every other row alike
        kind[1::2], u[1::2] = kind[1::2, :1], u[1::2, :1]
    sign = same.choice([-1.0, 1.0], size=shape)
    low, high = data.min(axis=0), data.max(axis=0)
    width, size = high - low, np.abs(data).max(axis=0)
    first = second = None
    if not sparse:
        first, second = same.integers(9, size=(2, *shape))
    for at in np.ndindex(shape):
        j, k, t, s = columns[at], kind[at], u[at], sign[at]
        if k == 0:
            expected = low[j] - width[j] + 3 * t * width[j]
        elif k == 1:
            end = high[j] if s > 0 else low[j]
            expected = end + s * width[j] * 10 ** (-3 + 9 * t)
        elif k == 2:
            expected = s * max(size[j], width[j]) * 10 ** (-6 * t)
        elif sparse:
            expected = low[j] + t * width[j]
        else:
            expected = t * data[first[at], j] + (1 - t) * data[second[at], j]
        assert found[at] == pytest.approx(expected)


def test_lines_pass_through_two_rows_of_the_data():
    data = np.random.default_rng(0).normal(size=(5, 3))
    lines = ProbedRows(data)._lines(np.random.default_rng(3), data, 60)
    rng = np.random.default_rng(3)
    first, second = rng.integers(5, size=(2, 60))
    shares = []
    for point, i, j in zip(lines, first, second, strict=True):
        if i == j:
            np.testing.assert_allclose(point, data[i], rtol=1e-6)
            continue
        along = data[j] - data[i]
        share = (point - data[i]) @ along / (along @ along)
        np.testing.assert_allclose(point, data[i] + share * along, rtol=1e-6, atol=1e-6)
        shares.append(share)
    assert min(shares) < -100
    assert max(shares) > 100
    assert any(0 < share < 1 for share in shares)


def test_single_moves_leave_the_other_features_at_a_row_or_at_zero():
    data = np.random.default_rng(0).normal(size=(5, 3))
    points = ProbedRows(data)._singles(np.random.default_rng(4), data, 50)
    starts = np.vstack([data, np.zeros(3)])
    same = [(np.isclose(starts, point).sum(axis=1) >= 2).any() for point in points]
    assert all(same)
    moved = [not np.isclose(starts, point).all(axis=1).any() for point in points]
    assert sum(moved) >= 45
    at_zero = (np.isclose(points, 0.0).sum(axis=1) >= 2).sum()
    assert 10 < at_zero < 40


def test_missing_cells_come_in_patterns_of_the_data_one_by_one_and_at_random():
    patterns = ProbedRows(X)._patterns(np.random.default_rng(1))
    assert patterns[0].tolist() == [False, True, False, False]
    assert sorted(np.flatnonzero(p)[0] for p in patterns[1:5]) == [0, 1, 2, 3]
    assert (patterns[1:5].sum(axis=1) == 1).all()
    assert len(patterns) == 1 + 4 + probes._FEWEST // 4
    for batch, missing in zip(ProbedRows(X).with_missing(), patterns, strict=False):
        assert len(batch) == probes._PER_PATTERN
        assert np.isnan(batch)[:, missing].all()
    assert len(list(ProbedRows(X).with_missing())) == len(patterns)
    sparse = next(iter(ProbedRows(sp.csr_array(np.nan_to_num(X))).with_missing()))
    assert sp.issparse(sparse)


def test_special_values_stand_in_about_half_of_the_cells():
    data = np.random.default_rng(0).normal(size=(30, 4))
    found = ProbedRows(data)._with_value(np.random.default_rng(0), data, -99.0)
    assert 0.3 < (found == -99.0).mean() < 0.7
    assert ((found == -99.0) | (found == data[: len(found)])).all()
    rows = ProbedRows(sp.csr_array(data))._with_value(
        np.random.default_rng(0), None, -99.0
    )
    assert (rows.data == -99.0).all()


FORMS = {
    "array": np.asarray,
    "objects": lambda data: np.asarray(data).astype(object),
    "CSR": sp.csr_array,
    "pandas": lambda data: pd.DataFrame(data, columns=list("abcd")),
    "polars": lambda data: pl.DataFrame(data, schema=list("abcd")),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("alike", [False, True])
def test_exact_columns_keep_the_values_of_rows(form, alike):
    data = np.arange(12.0).reshape(3, 4) + 1
    exact = np.array([False, True, False, True])
    sample = ProbedRows(FORMS[form](data), exact)
    assert sample.moved.tolist() == [0, 2]
    points = -np.arange(10.0).reshape(5, 2) - 1
    given = sample.given(sp.csr_array(points) if form == "CSR" else points, alike)
    assert type(given) is type(FORMS[form](data))
    dense = given.toarray() if sp.issparse(given) else np.asarray(given, dtype=float)
    rows = np.zeros(5, dtype=int) if alike else np.arange(5) % 3
    np.testing.assert_array_equal(dense[:, [0, 2]], points)
    np.testing.assert_array_equal(dense[:, [1, 3]], data[rows][:, [1, 3]])
    linear = sp.csr_array(np.array([[1.0, 2.0], [3.0, 4.0]]))
    embedded = sample.embedded(linear).toarray()
    np.testing.assert_array_equal(embedded, [[1, 0, 2, 0], [3, 0, 4, 0]])


@pytest.mark.parametrize("form", FORMS)
def test_points_come_in_the_form_of_the_data(form):
    data = np.arange(12.0).reshape(3, 4)
    sample = ProbedRows(FORMS[form](data))
    assert sample.moved.tolist() == [0, 1, 2, 3]
    points = sp.csr_array(data) if form == "CSR" else -data
    given = sample.given(points)
    if form in ("pandas", "polars"):
        assert list(given.columns) == list("abcd")
        np.testing.assert_array_equal(np.asarray(given), points)
    else:
        assert given is points


def test_rows_are_spread_and_hold_the_extremes():
    data = np.zeros((5000, 2))
    data[1234, 0], data[4321, 1], data[7, 0] = 9.0, -9.0, np.nan
    places = probes._some_places(data)
    assert {0, 1234, 4321, 4999} <= set(places.tolist())
    assert len(places) <= probes._BATCH + 4
    assert len(places) >= probes._BATCH
    assert (
        probes._some_places(sp.csr_array(data)).tolist()
        == probes._spread(5000, probes._BATCH).tolist()
    )
    assert probes._spread(3, 10).tolist() == [0, 1, 2]
    assert probes._rows_of_extremes(np.array([["a"], ["b"]])) == []
    assert probes._rows_of_extremes(np.array([[np.nan], [np.nan]])) == []


# -- what is held against them ---------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_beyond_its_rounding_is_found_first(sparse):
    level, rounding = np.array([1.0, 10.0]), np.array([0.1, 0.01])
    terms = np.array([[2.0, 0.0], [0.0, 5.0]])
    off = np.array([[0.29, 0.0], [0.0, 0.149]])  # at most 0.1·(2 + 1) and 0.01·(5 + 10)
    form = sp.csr_array if sparse else np.asarray
    assert _beyond(form(off), form(terms), level, rounding) is None
    for at, value in (((0, 0), 0.31), ((1, 1), 0.151)):
        more = off.copy()
        more[at] = value
        assert _beyond(form(more), form(terms), level, rounding) == at
    if not sparse:
        off[1, 0] = np.nan
        assert _beyond(off, terms, level, rounding) == (1, 0)


def test_columns_of_float32_numbers_are_granted_their_rounding():
    out = np.array([[0.5, 0.1], [0.25, 0.5]])
    coarse, fine = affine._SINGLE_ROUNDING, affine._ROUNDING
    assert _rounding(out).tolist() == [coarse, fine]
    assert _rounding(sp.csr_array(out)).tolist() == [fine, fine]
    assert _rounding(sp.csr_array(out[:, :1])).tolist() == [coarse]


def test_rows_are_taken_off_in_any_form():
    out, row = np.arange(6.0).reshape(2, 3), np.array([1.0, 0.0, 2.0])
    np.testing.assert_array_equal(_less(out, row), out - row)
    np.testing.assert_array_equal(_less(sp.csr_array(out), row).toarray(), out - row)
    each = sp.csr_array(np.vstack([row, 2 * row]))
    found = _less(sp.csr_array(out), each).toarray()
    np.testing.assert_array_equal(found, out - each.toarray())


def test_signs_for_missing_are_numbers_of_the_step_and_of_those_inside():
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    steps = make_pipeline(SimpleImputer(missing_values=-1), SimpleImputer())
    assert _special_values(steps) == [-1.0]
    assert _special_values(object()) == []


def test_text_before_no_step_is_named():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match="Encode text or categories"):
        affine._sample_of(frame, np.array([False, True]), [])


class Shifted:
    """2x − 100 of the first column, less the second."""

    def transform(self, X):
        return 2 * X[:, :1] - 100 - X[:, 1:]


def test_offsets_count_by_their_size_and_the_largest_of_them():
    data = np.array([[1.0, 5.0], [2.0, 50.0], [3.0, 0.0]])
    step = affine._AffineStep(
        "shift", Shifted(), ProbedRows(data, np.array([False, True]))
    )
    assert step._largest_offset().tolist() == [150.0]
    assert step.linear.toarray().tolist() == [[2.0]]
    assert step.level.tolist() == [2 * 3 + 150.0]
    plain = affine._AffineStep("shift", Shifted(), ProbedRows(data))
    assert plain._largest_offset().tolist() == [100.0]
    assert plain.level.tolist() == [2 * 3 + 50 + 100.0]


class Gaps:
    """x − z, a number where x is missing, and none where z is: both break a promise."""

    def transform(self, X):
        return np.where(np.isnan(X[:, 1:]), np.nan, np.nan_to_num(X[:, :1]) - X[:, 1:])


def test_what_is_filled_and_what_is_lost_beside_gaps_is_told():
    data = np.random.default_rng(0).normal(size=(9, 2))
    step = affine._AffineStep("gaps", Gaps(), ProbedRows(data))
    assert step.fills_missing
    assert step.loses_present
    step.fills_missing = step.loses_present = False
    base = np.array([[1.0, np.nan], [-4.0, np.nan]])  # x moves down, z is missing
    step._require_affine_beside_missing(base)
    assert (step.fills_missing, step.loses_present) == (False, True)
    step.loses_present = False
    step._require_affine_beside_missing(np.array([[np.nan, 2.0], [np.nan, 3.0]]))
    assert (step.fills_missing, step.loses_present) == (True, False)
