"""Radii and errors against their definitions, written down plainly."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from wideberth.errors import (
    _read_tables,
    from_imputations,
    from_limits,
    from_quantities,
    from_replicates,
    from_sides,
)
from wideberth.errors import columns as error_columns
from wideberth.measurement.population import Measurements
from wideberth.measurement.radius import radius_from_std
from wideberth.measurement.tables import (
    ClassSample,
    FarCells,
    MemoryTable,
    _EveryNth,
    _overview,
)

NO_COVARIANCES = np.zeros((0, 2, 2))
SHAPES = {"l2": 2, "linf": np.inf, "l1": 1}


# -- radii -----------------------------------------------------------------------------


@pytest.mark.parametrize("noise", SHAPES)
@pytest.mark.parametrize("confidence", [0.3, 0.9])
def test_radii_of_an_instrument_are_those_of_the_table(noise, confidence):
    d, root = 5, np.sqrt(5) if noise == "l1" else 1.0
    margin = max(stats.norm.ppf(confidence), 0.0)
    found = radius_from_std(0.3, d, confidence=confidence, noise=noise)
    assert found == pytest.approx(0.3 * root * margin)
    sample = stats.chi.ppf(confidence, d) * root
    if noise == "linf":
        sample = stats.norm.ppf((1 + confidence ** (1 / d)) / 2)
    options = {"confidence": confidence, "noise": noise, "covers": "sample"}
    assert radius_from_std(0.3, d, **options) == pytest.approx(0.3 * sample)


def test_noise_on_few_features_or_none_has_their_degrees_of_freedom():
    few = radius_from_std(1.0, 3, noise=[1.0, 0.0, 0.0], covers="sample")
    assert few == pytest.approx(stats.chi.ppf(0.95, 1))
    none = radius_from_std(1.0, 3, noise=[0.0, 0.0, 0.0], covers="sample")
    assert none == pytest.approx(stats.chi.ppf(0.95, 1))


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.1, 1.1, "0.9", np.nan, None])
def test_a_confidence_is_a_probability(confidence):
    with pytest.raises(ValueError, match="probability between 0 and 1"):
        radius_from_std(1.0, 3, confidence=confidence)


def test_columns_of_tables_are_matched_by_name():
    one = pd.DataFrame({"a": [1.0], "b": [2.0]})
    other = pd.DataFrame({"b": [4.0], "a": [3.0]})
    read, names = _read_tables([one, other, np.array([[5.0, 6.0]])], "t", "table")
    assert names == ["a", "b"]
    assert np.vstack(read).tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for bad in ([one, pd.DataFrame({"a": [1.0], "c": [2.0]})], [np.ones((1, 2)), one]):
        with pytest.raises(ValueError, match="give the same features"):
            _read_tables(bad, "t", "table")
    with pytest.raises(ValueError, match="not finite"):
        _read_tables([[[np.nan]]], "t", "table")
    read, _ = _read_tables([[[np.nan]]], "t", "table", gaps=True)
    assert np.isnan(read[0][0, 0])
    with pytest.raises(ValueError, match="not finite"):
        _read_tables([[[np.inf]]], "t", "table", gaps=True)
    with pytest.raises(ValueError, match="is empty"):
        _read_tables([], "t", "table")


# -- errors ----------------------------------------------------------------------------


def test_cells_without_a_reading_take_no_part():
    nan = np.nan
    data = [
        [[1.0, nan], [3.0, nan]],
        [[2.0, 4.0], [5.0, 8.0]],
        [[7.0, 1.0], [7.0, 2.0]],
    ]
    X, errors = from_replicates(data, pooling="all")
    assert np.isnan(X[0, 1])
    assert np.isnan(errors[0, 1])
    np.testing.assert_allclose(errors[:, 0] ** 2, (2 + 4.5 + 0) / 3 / 2)
    np.testing.assert_allclose(errors[1:, 1] ** 2, (8 + 0.5) / 2 / 2)


def test_correlations_of_readings_that_never_differ_are_none():
    data = [[[1.0, 5.0, 0.0], [3.0, 5.0, 2.0]], [[2.0, 5.0, 1.0], [4.0, 5.0, 0.0]]]
    _, matrices = from_replicates(data, pooling="all", covariance=True)
    np.testing.assert_array_equal(matrices[:, 1], 0.0)
    off = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 0.5], [1.0, -0.5]])
    scatter = off.T @ off
    expected = scatter[0, 1] / np.sqrt(scatter[0, 0] * scatter[1, 1])
    found = matrices[0, 0, 2] / np.sqrt(matrices[0, 0, 0] * matrices[0, 2, 2])
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_errors_of_imputations_are_those_of_rubin(seed):
    rng = np.random.default_rng(seed)
    m = seed + 2
    tables, errors = rng.normal(size=(m, 4, 3)), rng.exponential(size=(4, 3))
    errors[0, 0] = np.nan
    X, found = from_imputations(tables, errors)
    between = (1 + 1 / m) * tables.var(axis=0, ddof=1)
    np.testing.assert_allclose(X, tables.mean(axis=0))
    own = np.nan_to_num(errors) ** 2
    np.testing.assert_allclose(found**2, between + own)
    _, matrices = from_imputations(tables, errors, covariance=True)
    for i in range(4):
        expected = (1 + 1 / m) * np.cov(tables[:, i].T) + np.diag(own[i])
        np.testing.assert_allclose(matrices[i], expected)


def test_intervals_have_their_own_middles_and_widths():
    X = np.array([[9.0, 9.0], [9.0, 9.0]])
    mask = np.array([[True, False], [True, True]])
    low, high = np.array([[1.0, 0.0], [2.0, 3.0]]), np.array([[2.0, 0.0], [6.0, 3.0]])
    options = {"censored": mask, "low": low, "high": high}
    values, errors = from_limits(X, 0.7, **options)
    np.testing.assert_allclose(values, [[1.5, 9.0], [4.0, 3.0]])
    width = np.array([[1.0, 0.0], [4.0, 0.0]]) / np.sqrt(12)
    width[0, 1] = 0.7
    np.testing.assert_allclose(errors, width)
    _, boxes = from_limits(X, **options, error_shape="box")
    np.testing.assert_allclose(boxes, [[0.5, 0.0], [2.0, 0.0]])
    assert X[0, 0] == 9.0


@pytest.mark.parametrize(
    "mask", [np.zeros((2, 3), bool), np.zeros((2, 2), int), np.zeros(2, bool)]
)
def test_a_mask_has_a_truth_for_every_cell(mask):
    with pytest.raises(ValueError, match="table of True and False"):
        from_limits(np.ones((2, 2)), censored=mask, low=0.0, high=1.0)


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 0.5), (0.0, np.inf), (np.nan, 1.0), (0.0, np.nan)]
)
def test_ends_of_intervals_are_finite_and_in_order(low, high):
    with pytest.raises(ValueError, match="row 0, column 0 lies between"):
        from_limits([[1.0]], censored=[[True]], low=low, high=high)


def test_one_interval_that_cannot_be_is_enough():
    options = {"low": [[0.0, 2.0]], "high": 1.0}
    with pytest.raises(ValueError, match="row 0, column 1 lies between"):
        from_limits([[9.0, 9.0]], censored=[[True, True]], **options)


def test_numbers_that_are_not_there_have_no_error():
    number = SimpleNamespace(nominal_value=2.0, std_dev=0.1)
    cells = np.array([[number, float("nan")]], dtype=object)
    X, errors = from_quantities(cells)
    assert (X[0, 0], errors[0, 0]) == (2.0, 0.1)
    assert np.isnan(X[0, 1])
    assert np.isnan(errors[0, 1])


def test_two_variances_tell_how_variances_scatter():
    data = [[[0.0], [1.0], [2.0]], [[0.0], [50.0], [100.0]], [[3.0]]]
    _, errors = from_replicates(data)
    assert errors[1, 0] > 5 * errors[0, 0]


def test_two_sides_are_read_cell_by_cell():
    rng = np.random.default_rng(0)
    X, down, up = rng.normal(size=(2, 3)), rng.exponential(size=(2, 3)), 0.4
    values, errors = from_sides(X, -down, up)
    np.testing.assert_allclose(values, X + np.sqrt(2 / np.pi) * (up - down))
    variance = (1 - 2 / np.pi) * (up - down) ** 2 + up * down
    np.testing.assert_allclose(errors, np.sqrt(variance))
    assert from_sides([[0.0]], 0.0, 0.0)[1][0, 0] == 0.0


def test_units_are_those_of_the_values():
    class Metres(np.ndarray):
        def to_value(self, unit):
            assert unit == "km"
            return np.asarray(self) / 1000

    metres = np.array([[2000.0]]).view(Metres)
    draws = SimpleNamespace(pdf_mean=lambda: metres, pdf_std=lambda: metres, unit="km")
    assert [part[0, 0] for part in from_quantities(draws)] == [2.0, 2.0]
    draws.unit = None  # numbers as they are
    assert [part[0, 0] for part in from_quantities(draws)] == [2000.0, 2000.0]
    plain = SimpleNamespace(
        pdf_mean=lambda: np.array([[3.0]]), pdf_std=lambda: np.array([[4.0]]), unit="km"
    )
    assert [part[0, 0] for part in from_quantities(plain)] == [3.0, 4.0]


# -- columns ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "pattern", "found"),
    [
        (["a", "a_err", "b"], "auto", {"a": "a_err"}),
        (["A", "a_ERR"], "auto", {"A": "a_ERR"}),
        (["a", "e_a", "a_err"], "auto", {"a": "a_err"}),
        (["m_g", "merr_g", "m_err_g"], "infix:_err", {"m_g": "m_err_g"}),
        (["ab", "aXb"], "infix:x", {"ab": "aXb"}),
        (["ab", "Xab", "abX"], "infix:x", {}),
        (["a", "a_lo", "a_hi"], "suffix:_lo,_hi", {"a": ("a_lo", "a_hi")}),
        (["a", "a_lo"], "suffix:_lo,_hi", {}),
        (["a", "loa", "hia"], "prefix:lo,hi", {"a": ("loa", "hia")}),
        (["a", "a_err", "a_err_err"], "suffix:_err", {"a": "a_err"}),
    ],
)
def test_errors_are_found_by_name(names, pattern, found):
    assert error_columns(names, pattern) == found


@pytest.mark.parametrize(
    "pattern", ["suffix:", "suffix:_a,_a", "suffix:_a,_b,_c", "suffix:_a,", "_err", 3]
)
def test_patterns_say_one_mark_or_two(pattern):
    with pytest.raises(ValueError, match="pattern="):
        error_columns(["a"], pattern)


# -- tables ----------------------------------------------------------------------------


def measured(n, d=2, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d))
    values[rng.random((n, d)) < 0.2] = np.nan
    return Measurements(values, rng.exponential(size=(n, d)), NO_COVARIANCES)


def test_an_overview_tells_ends_counts_and_whether_anything_is_measured():
    part = measured(9)
    found = _overview(3, part, np.array([0, 2, 2, 0, 0, 0, 2, 0, 0]))
    assert found.counts.tolist() == [6, 0, 3]
    np.testing.assert_array_equal(found.low, np.nanmin(part.values, axis=0))
    np.testing.assert_array_equal(found.high, np.nanmax(part.values, axis=0))
    assert found.measured
    exact = Measurements(part.values, np.zeros((9, 2)), NO_COVARIANCES)
    assert not _overview(0, exact, None).measured
    assert _overview(0, exact, None).counts.tolist() == [9]


def test_every_so_many_rows_of_a_class_are_gathered_wherever_they_are():
    labels = np.array([0, 1, 0, 0, 1, 0, 0, 0])
    gather = _EveryNth({1: np.array([5, 2])}, np.array([3, 2]))
    part, own, even = gather(1, measured(8), labels)
    # Ranks go on from 5 rows of class 0 and 2 of class 1: 5 6 7 8 9 10, and 2 3.
    expected = [1, 2, 6]  # class 1 of rank 2; class 0 of ranks 6 and 9
    ranks = np.array([5, 2, 6, 7, 3, 8, 9, 10])
    taken = (ranks % 3 == 0) | (ranks % np.array([3, 2])[labels] == 0)
    np.testing.assert_array_equal(part.values, measured(8).values[taken])
    assert set(expected) <= set(np.flatnonzero(taken))
    np.testing.assert_array_equal(own, labels[taken])
    np.testing.assert_array_equal(even, (ranks % 3 == 0)[taken])


def test_rows_of_a_sample_are_all_or_by_shares():
    labels, even = np.array([0, 0, 1, 1]), np.array([True, False, True, True])
    part, ends = measured(4), np.zeros(2)
    sample = ClassSample(part, labels, even, np.array([2, 2]), ends, ends, True)
    assert sample.whole
    assert not ClassSample(part, labels, even, np.array([2, 3]), ends, ends, True).whole
    np.testing.assert_array_equal(sample.evenly.values, part.values[even])
    sizes = [[len(group) for group in sample.groups(flag)] for flag in (False, True)]
    assert sizes == [[2, 2], [1, 2]]


def test_cells_far_from_the_middle_are_counted_by_column():
    values = np.array([[0.0, 10.0], [5.0, np.nan], [-30.0, 12.0]])
    variances = np.array([[0.0, 0.0], [16.0, 0.0], [0.0, 0.0]])
    cells = FarCells(np.array([1.0, 10.0]), np.array([3.0, 1.0]), 1.5)
    counts, farthest, place, column = cells(
        0, Measurements(values, variances, NO_COVARIANCES), None
    )
    assert counts.tolist() == [1, 1]  # 31/3, and 2/1; 4/5 is near
    assert farthest == pytest.approx(31 / 3)
    assert (place, column) == ("row 2", 0)
    assert (
        cells(4, Measurements(values, variances, NO_COVARIANCES), None)[2]
        == "row 2 of chunk 4"
    )


def test_a_small_table_is_its_own_sample():
    part, labels = measured(6), np.array([0, 1, 0, 1, 1, 1])
    sample = MemoryTable(part, labels).sample()
    assert sample.whole
    assert sample.measured
    assert sample.counts.tolist() == [2, 4]
    assert sample.even.all()
    np.testing.assert_array_equal(sample.low, np.nanmin(part.values, axis=0))
    np.testing.assert_array_equal(sample.high, np.nanmax(part.values, axis=0))
